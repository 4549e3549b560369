import XCTest

@testable import Relay

final class PositionSetTests: XCTestCase {
  func testItHasWhatWasPutIn() {
    var chance = SystemRandomNumberGenerator()
    for count in [0, 1, 3, 64, 65, 500, 1000] {
      let wanted = Set((0..<count).map { _ in Int.random(in: 0..<1000, using: &chance) })
      var positions = PositionSet()
      for position in wanted.shuffled() { positions.insert(position) }
      XCTAssertEqual(positions.isEmpty, wanted.isEmpty)
      XCTAssertEqual((-1...1001).filter { positions.contains($0) }, wanted.sorted())
      for end in [-1, 0, 1, 63, 64, 65, 128, 999, 1000, 5000] {
        XCTAssertEqual(positions.count(below: end), wanted.count { $0 < end })
      }
      XCTAssertEqual(PositionSet(text: positions.text), positions)
      var other = PositionSet(text: positions.text)
      for position in 0..<1000 where !wanted.contains(position) {
        other.insert(position)
        XCTAssertNotEqual(other, positions)
        XCTAssertNotEqual(other.text, positions.text)
        break
      }
    }
  }

  func testWhatIsNoPlaceIsLeftOut() {
    var positions: PositionSet = [7]
    for place in [-1, 1000, .min, .max] { positions.insert(place) }
    XCTAssertEqual(positions, [7])
    XCTAssertEqual(PositionSet(text: "x"), [])
    XCTAssertEqual(PositionSet(text: ",1,2,"), [])
  }
}
