import Testing

@testable import APNS

struct UUIDTextTests {
  private func bytes(_ text: [UInt8]) -> [UInt8]? {
    text.withUnsafeBytes { UUIDText.bytes($0) }.map { bytes in (0..<16).map { bytes[$0] } }
  }

  private func text(_ bytes: [UInt8]) -> String {
    var all = InlineArray<16, UInt8>(repeating: 0)
    for index in 0..<16 { all[index] = bytes[index] }
    return String(unsafeUninitializedCapacity: UUIDText.count) { text in
      text.baseAddress.map { UUIDText.write(all, to: $0) }
      return UUIDText.count
    }
  }

  @Test func bytesAndTextAreTheSame() {
    var random = SplitMix64(seed: 1)
    for _ in 0..<1000 {
      let given = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
      let written = text(given)
      let plain = given.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      #expect(written.filter { $0 != "-" } == plain)
      #expect(written.split(separator: "-").map(\.count) == [8, 4, 4, 4, 12])
      #expect(bytes(Array(written.utf8)) == given)
      #expect(bytes(Array(written.uppercased().utf8)) == given)
    }
  }

  /// A wrong byte anywhere makes it invalid.
  @Test func everyPlaceIsChecked() {
    let whole = Array("123e4567-e89b-12d3-a456-426655440000".utf8)
    #expect(bytes(whole) != nil)
    for place in whole.indices {
      for byte in UInt8.min...UInt8.max {
        var text = whole
        text[place] = byte
        let isRight =
          whole[place] == UInt8(ascii: "-") ? byte == UInt8(ascii: "-") : isHexDigit(byte)
        #expect((bytes(text) != nil) == isRight, "\(byte) at \(place)")
      }
      #expect(bytes(Array(whole[..<place])) == nil)
    }
    #expect(bytes(whole + [0x30]) == nil)
  }

  private func isHexDigit(_ byte: UInt8) -> Bool {
    Character(UnicodeScalar(byte)).isHexDigit && byte < 0x80
  }
}
