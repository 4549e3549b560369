import Foundation
import Testing

@testable import APNS

@Suite struct JSONTests {
  private let memory = GuardedMemory()

  /// The compact JSON of these bytes; nil if they are not JSON. Input and output lie against an
  /// inaccessible page.
  private func compact(_ json: [UInt8], _ side: GuardedMemory.Side) -> [UInt8]? {
    let target = GuardedMemory()
    let room = target.room(json.count, at: side)
    guard
      let end = try? CompactJSON.write(
        memory.copy(json, at: side), within: 1, to: room.baseAddress!)
    else { return nil }
    return Array(room[..<(end - room.baseAddress!)])
  }

  @Test(arguments: GuardedMemory.Side.allCases)
  func readsAndWritesWithinItsBytes(_ side: GuardedMemory.Side) throws {
    for vector in try Vectors.json() {
      #expect(compact(vector.hex, side) == vector.compact?.wrappedValue, "\(vector.name)")
    }
  }

  /// Any damaged JSON that it accepts is also JSON for Foundation, and compacting the result again
  /// changes nothing.
  @Test func spoiltJSON() throws {
    var mutation = Mutation(of: try Vectors.json().map(\.hex))
    for _ in 0..<(Mutation.rounds / 20) {
      let json = mutation.next()
      guard let written = compact(json, .last) else { continue }
      #expect(written.count <= json.count)
      #expect(compact(written, .first) == written)
      // Foundation refuses numbers that are too large for a double or very long.
      if json.count < 40, !json.contains(where: { $0 | 0x20 == 0x65 }) {
        #expect(throws: Never.self, "\(String(decoding: json, as: UTF8.self))") {
          try JSONSerialization.jsonObject(with: Data(json), options: .fragmentsAllowed)
        }
      }
    }
  }

  @Test func utf8IsThatOfSwift() {
    var random = SplitMix64(seed: Mutation.seed)
    let interesting: [UInt8] = [
      0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1,
      0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
    ]
    for _ in 0..<200_000 {
      let bytes = (0..<(1 + random.below(12))).map { _ in
        interesting[random.below(interesting.count)]
      }
      let isValid = String(validating: bytes, as: UTF8.self) != nil
      let measured = try? JSONText.measure(memory.copy(bytes, at: .last))
      #expect((measured != nil) == isValid, "\(bytes)")
    }
  }

  @Test func everyCharacterSurvivesEscaping() {
    let room = memory.room(4, at: .last)
    for value in 0...0x10FFFF as ClosedRange<UInt32> {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let length = UTF8Text.encode(value, into: room.baseAddress!)
      let decoded = UTF8Text.decode(UnsafeRawBufferPointer(room), at: 0)
      if length != UTF8.width(scalar) || decoded?.scalar != value || decoded?.length != length {
        Issue.record("\(value)")
      }
    }
  }
}
