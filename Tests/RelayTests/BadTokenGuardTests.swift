import Testing

@testable import Relay

@Suite struct BadTokenGuardTests {
  private let now: Int64 = 1_800_000_000_000

  private func guarding(_ change: (inout AppConfiguration.Guard) -> Void = { _ in })
    -> BadTokenGuard
  {
    var rules = AppConfiguration.Guard()
    change(&rules)
    return BadTokenGuard(rules)
  }

  private func count(_ guarding: inout BadTokenGuard, good: Int = 0, bad: Int = 0) {
    for _ in 0..<good { guarding.count(isBad: false, isAccepted: true) }
    for _ in 0..<bad { guarding.count(isBad: true, isAccepted: false) }
  }

  @Test func nothingCountsBeforeTheFirst200() {
    var one = guarding { $0.minResponses = 1 }
    count(&one, bad: 3)
    #expect(one.withholding(at: now) == .neverAccepted(bad: 3))
    #expect(one.withholding(at: now)?.alarm(app: "shop") != nil)
    count(&one, good: 50)
    #expect(one.withholding(at: now) == nil)
  }

  @Test func fewAnswersSayNothingAndAreNoAlarm() {
    var one = guarding()
    count(&one, good: 98, bad: 1)
    #expect(one.withholding(at: now) == .tooFew(responses: 99))
    #expect(one.withholding(at: now)?.alarm(app: "shop") == nil)
    count(&one, good: 1)
    #expect(one.withholding(at: now) == nil)
  }

  @Test func moreThanItsShareIsAnAlarm() {
    var one = guarding()
    count(&one, good: 90, bad: 10)
    #expect(one.withholding(at: now) == nil)
    count(&one, bad: 1)
    #expect(one.withholding(at: now) == .tooMany(bad: 11, of: 101))
    let words = one.withholding(at: now)?.alarm(app: "shop") ?? ""
    #expect(words.contains("11 of the last 101"), "\(words)")
    #expect(words.contains("guard --override shop"), "\(words)")
  }

  @Test func soManyBadOnesAreTooManyOfFewAnswersToo() {
    var one = guarding()
    count(&one, good: 1, bad: 11)
    #expect(one.withholding(at: now) == .tooMany(bad: 11, of: 12))
  }

  @Test func onlyTheLastAnswersAreLookedAt() {
    var one = guarding {
      $0.responses = 100
      $0.minResponses = 100
    }
    count(&one, good: 100)
    count(&one, bad: 50)
    #expect(one.withholding(at: now) == .tooMany(bad: 50, of: 100))
    count(&one, good: 50)
    #expect(one.bad == 50)
    count(&one, good: 39)
    #expect(one.withholding(at: now) != nil)
    count(&one, good: 1)
    #expect(one.withholding(at: now) == nil)
    #expect(one.count == 100)
  }

  @Test func oneWhoKnowsLetsThemCountForATime() {
    var one = guarding()
    count(&one, good: 1, bad: 400)
    one.overriddenUntil = now + 1
    #expect(one.withholding(at: now) == nil)
    #expect(one.withholding(at: now + 1) != nil)
  }
}
