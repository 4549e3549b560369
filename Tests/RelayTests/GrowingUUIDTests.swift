import XCTest

@testable import Relay

final class GrowingUUIDTests: XCTestCase {
  func testTheyAreUUIDsOfVersion7AndGrow() {
    var (one, other) = (GrowingUUID(), GrowingUUID())
    var all: [String] = []
    for time in Int64(1_800_000_000_000)...1_800_000_000_020 {
      for _ in 0..<500 { all += [one.next(at: time), other.next(at: time)] }
    }
    XCTAssertEqual(Set(all).count, all.count)
    XCTAssertTrue(all.allSatisfy(ServiceSession.isUUID))
    XCTAssertTrue(all.allSatisfy { $0 == $0.lowercased() })
    let bytes = all.map { Array($0.utf8) }
    XCTAssertTrue(bytes.allSatisfy { $0[14] == UInt8(ascii: "7") })
    XCTAssertTrue(bytes.allSatisfy { [0x38, 0x39, 0x61, 0x62].contains($0[19]) })
    // By the time, which is what they are sorted by.
    let times = all.map { String($0.prefix(13)) }
    XCTAssertEqual(times, times.sorted())
  }
}
