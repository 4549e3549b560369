import Testing

@testable import Relay

@Suite struct PushIDTests {
  private static let uuid = "123E4567-E89B-12D3-A456-426614174000"

  /// The ID's form in an event of the library.
  private func id(of bytes: [UInt8]) -> PushID { bytes.withUnsafeBytes { PushID($0) } }

  @Test func itIsAsTheServiceWroteIt() {
    for text in ["", "a", "the-id", Self.uuid, Self.uuid.lowercased()] {
      #expect(PushID(text).text == text)
      #expect(PushID(text).isEmpty == text.isEmpty)
      let field = Array(text.utf8) + [UInt8](repeating: 0, count: 40 - text.utf8.count)
      #expect(id(of: field) == PushID(text))
    }
    #expect(PushID() == "")
    #expect(PushID(Self.uuid) != PushID(Self.uuid.lowercased()))
  }

  @Test func itEndsAtANULAndAtItsRoom() {
    #expect(id(of: [0x61, 0x62, 0, 0x63]) == "ab")
    #expect(id(of: []) == "")
    for count in [39, 40, 41, 1000] {
      #expect(
        id(of: [UInt8](repeating: 0x61, count: count)).text == String(repeating: "a", count: 39))
    }
  }

  /// IDs are written into JSON unescaped.
  @Test func whatIsNotASCIIIsNone() {
    for bytes in [
      [0xFF], [0x61, 0x80], Array("é".utf8), [UInt8](repeating: 0x61, count: 38) + [0x80],
    ] {
      #expect(id(of: bytes) == PushID())
      #expect(id(of: bytes).text == "")
    }
  }

  @Test func aTokenIsItsText() {
    let list = Array("[\"0aF1\"]".utf8)
    #expect(WrittenToken(2..<6, of: list) == "0aF1")
    #expect(WrittenToken(2..<6, of: list).text == "0aF1")
    #expect(WrittenToken(2..<6, of: list) != "0af1")
    #expect(WrittenToken(2..<5, of: list) != "0aF1")
    #expect(WrittenToken(2..<2, of: list) == "")
    #expect(WrittenToken(2..<2, of: list).isEmpty)
    #expect(WrittenToken("").isEmpty)
  }
}
