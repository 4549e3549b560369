import XCTest

@testable import Relay

final class PushIDTests: XCTestCase {
  private static let uuid = "123E4567-E89B-12D3-A456-426614174000"

  /// As an event of the library has it.
  private func id(of bytes: [UInt8]) -> PushID { bytes.withUnsafeBytes { PushID($0) } }

  func testItIsAsTheServiceWroteIt() {
    for text in ["", "a", "the-id", Self.uuid, Self.uuid.lowercased()] {
      XCTAssertEqual(PushID(text).text, text)
      XCTAssertEqual(PushID(text).isEmpty, text.isEmpty)
      let field = Array(text.utf8) + [UInt8](repeating: 0, count: 40 - text.utf8.count)
      XCTAssertEqual(id(of: field), PushID(text))
    }
    XCTAssertEqual(PushID(), "")
    XCTAssertNotEqual(PushID(Self.uuid), PushID(Self.uuid.lowercased()))
  }

  func testItEndsAtANULAndAtItsRoom() {
    XCTAssertEqual(id(of: [0x61, 0x62, 0, 0x63]), "ab")
    XCTAssertEqual(id(of: []), "")
    for count in [39, 40, 41, 1000] {
      XCTAssertEqual(
        id(of: [UInt8](repeating: 0x61, count: count)).text, String(repeating: "a", count: 39))
    }
  }

  /// It goes into JSON as it is.
  func testWhatIsNotASCIIIsNone() {
    for bytes in [
      [0xFF], [0x61, 0x80], Array("é".utf8), [UInt8](repeating: 0x61, count: 38) + [0x80],
    ] {
      XCTAssertEqual(id(of: bytes), PushID())
      XCTAssertEqual(id(of: bytes).text, "")
    }
  }

  func testATokenIsItsText() {
    let list = Array("[\"0aF1\"]".utf8)
    XCTAssertEqual(WrittenToken(2..<6, of: list), "0aF1")
    XCTAssertEqual(WrittenToken(2..<6, of: list).text, "0aF1")
    XCTAssertNotEqual(WrittenToken(2..<6, of: list), "0af1")
    XCTAssertNotEqual(WrittenToken(2..<5, of: list), "0aF1")
    XCTAssertEqual(WrittenToken(2..<2, of: list), "")
    XCTAssertTrue(WrittenToken(2..<2, of: list).isEmpty)
    XCTAssertTrue(WrittenToken("").isEmpty)
  }
}
