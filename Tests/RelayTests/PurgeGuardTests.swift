import XCTest

@testable import Relay

final class PurgeGuardTests: XCTestCase {
  private let now: Int64 = 1_800_000_000_000

  private func guarding(_ change: (inout AppConfiguration.Guard) -> Void = { _ in }) -> PurgeGuard {
    var rules = AppConfiguration.Guard()
    change(&rules)
    return PurgeGuard(rules)
  }

  private func count(_ guarding: inout PurgeGuard, good: Int = 0, bad: Int = 0) {
    for _ in 0..<good { guarding.count(isBad: false, isAccepted: true) }
    for _ in 0..<bad { guarding.count(isBad: true, isAccepted: false) }
  }

  func testNothingCountsBeforeTheFirst200() {
    var one = guarding { $0.least = 1 }
    count(&one, bad: 3)
    XCTAssertEqual(one.hold(at: now), .neverAccepted(bad: 3))
    XCTAssertNotNil(one.hold(at: now)?.alarm(app: "shop"))
    count(&one, good: 50)
    XCTAssertNil(one.hold(at: now))
  }

  func testFewAnswersSayNothingAndAreNoAlarm() {
    var one = guarding()
    count(&one, good: 98, bad: 1)
    XCTAssertEqual(one.hold(at: now), .tooFew(answers: 99))
    XCTAssertNil(one.hold(at: now)?.alarm(app: "shop"))
    count(&one, good: 1)
    XCTAssertNil(one.hold(at: now))
  }

  func testMoreThanItsShareIsAnAlarm() {
    var one = guarding()
    count(&one, good: 90, bad: 10)
    XCTAssertNil(one.hold(at: now))
    count(&one, bad: 1)
    XCTAssertEqual(one.hold(at: now), .tooMany(bad: 11, of: 101))
    let words = one.hold(at: now)?.alarm(app: "shop") ?? ""
    XCTAssertTrue(words.contains("11 of the last 101"), words)
    XCTAssertTrue(words.contains("guard --let-go shop"), words)
  }

  func testSoManyBadOnesAreTooManyOfFewAnswersToo() {
    var one = guarding()
    count(&one, good: 1, bad: 11)
    XCTAssertEqual(one.hold(at: now), .tooMany(bad: 11, of: 12))
  }

  func testOnlyTheLastAnswersAreLookedAt() {
    var one = guarding {
      $0.answers = 100
      $0.least = 100
    }
    count(&one, good: 100)
    count(&one, bad: 50)
    XCTAssertEqual(one.hold(at: now), .tooMany(bad: 50, of: 100))
    count(&one, good: 50)
    XCTAssertEqual(one.bad, 50)
    count(&one, good: 39)
    XCTAssertNotNil(one.hold(at: now))
    count(&one, good: 1)
    XCTAssertNil(one.hold(at: now))
    XCTAssertEqual(one.count, 100)
  }

  func testOneWhoKnowsLetsThemCountForATime() {
    var one = guarding()
    count(&one, good: 1, bad: 400)
    one.letGoUntil = now + 1
    XCTAssertNil(one.hold(at: now))
    XCTAssertNotNil(one.hold(at: now + 1))
  }
}
