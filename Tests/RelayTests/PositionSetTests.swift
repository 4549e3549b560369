import Testing

@testable import Relay

@Suite struct PositionSetTests {
  @Test func itHasWhatWasPutIn() {
    var chance = SystemRandomNumberGenerator()
    for count in [0, 1, 3, 64, 65, 500, 1000] {
      let wanted = Set((0..<count).map { _ in Int.random(in: 0..<1000, using: &chance) })
      var positions = PositionSet()
      for position in wanted.shuffled() { positions.insert(position) }
      #expect(positions.isEmpty == wanted.isEmpty)
      #expect((-1...1001).filter { positions.contains($0) } == wanted.sorted())
      for end in [-1, 0, 1, 63, 64, 65, 128, 999, 1000, 5000] {
        #expect(positions.count(below: end) == wanted.count { $0 < end })
      }
      #expect(PositionSet(text: positions.text) == positions)
      var other = PositionSet(text: positions.text)
      for position in 0..<1000 where !wanted.contains(position) {
        other.insert(position)
        #expect(other != positions)
        #expect(other.text != positions.text)
        break
      }
    }
  }

  @Test func whatIsNoPlaceIsLeftOut() {
    var positions: PositionSet = [7]
    for place in [-1, 1000, .min, .max] { positions.insert(place) }
    #expect(positions == [7])
    #expect(PositionSet(text: "x") == [])
    #expect(PositionSet(text: ",1,2,") == [])
  }
}
