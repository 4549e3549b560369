import Testing

@testable import APNS

/// Limits the unsolicited frames of a peer.
@Suite struct FloodBudgetTests {
  private let windowUpdates = 2 * 13

  @Test func aPeerThatOnlySendsWindowUpdatesIsDropped() {
    var budget = FloodBudget(at: 0)
    var taken = 0
    while taken < 1 << 20, budget.take(windowUpdates, responses: 0, parts: 0, at: 0) { taken += 1 }
    #expect(taken == Int(FloodBudget.maximum) / windowUpdates)
  }

  @Test func windowUpdatesForPayloadsAreNotAFlood() {
    var budget = FloodBudget(at: 0)
    var isSound = true
    for _ in 0..<1 << 18 where isSound {
      isSound = budget.take(windowUpdates, responses: 0, parts: 1, at: 0)
    }
    #expect(isSound)
  }

  @Test func responsesRefillTheBudgetOnlyToItsMaximum() {
    var budget = FloodBudget(at: 0)
    let isRefilled = budget.take(0, responses: .max, parts: .max, at: .max)
    let isAllThere = budget.take(Int(FloodBudget.maximum), responses: 0, parts: 0, at: .max)
    let isMoreThere = budget.take(1, responses: 0, parts: 0, at: .max)
    #expect(isRefilled && isAllThere && !isMoreThere)
  }
}
