import Foundation
import Testing

@testable import APNS

/// Compares with Swift's own descriptions, which are the shortest possible.
@Suite struct NumberTextTests {
  private func text(_ value: Double) -> String {
    withUnsafeTemporaryAllocation(byteCount: NumberText.maxLength, alignment: 1) { memory in
      let start = memory.baseAddress!
      let end = NumberText.write(value, to: start)
      #expect(end - start <= NumberText.maxLength)
      return String(decoding: memory[..<(end - start)], as: UTF8.self)
    }
  }

  private func digits(_ text: String) -> String {
    let mantissa = text.split(separator: "e")[0].filter { $0 >= "0" && $0 <= "9" }
    let trimmed = mantissa.drop { $0 == "0" }
    return String(trimmed.reversed().drop { $0 == "0" }.reversed())
  }

  private func check(_ value: Double) {
    let ours = text(value)
    #expect(Double(ours) == value, "\(ours)")
    #expect(digits(ours).count <= digits("\(value)").count, "\(ours) of \(value)")
  }

  @Test func everyPowerOfTwo() {
    for exponent in -1074...1023 {
      let power = scalbn(1.0, exponent)
      for value in [power, power.nextUp, power.nextDown, -power] where value.isFinite {
        check(value)
      }
    }
  }

  @Test func randomNumbers() {
    var random = SplitMix64(seed: Mutation.seed)
    for _ in 0..<20_000 {
      let value = Double(bitPattern: random.next())
      if value.isFinite { check(value) }
      check(Double(random.below(1_000_000)) / 1000)
    }
  }

  @Test func integers() {
    for value in [0, 1, -1, 9, 10, 99, 100, Int64.max, Int64.min, Int64.min + 1] {
      withUnsafeTemporaryAllocation(byteCount: NumberText.maxLength, alignment: 1) { memory in
        let start = memory.baseAddress!
        let end = NumberText.write(value, to: start)
        #expect(String(decoding: memory[..<(end - start)], as: UTF8.self) == "\(value)")
      }
    }
  }
}
