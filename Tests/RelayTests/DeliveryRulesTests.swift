import Testing

@testable import Relay

@Suite struct DeliveryRulesTests {
  private let now: Int64 = 1_800_000_000_000
  private let rules = DeliveryRules(deliveries: 5, tries: 3, delivery: .atLeastOnce)

  private func held(
    _ tokens: Int = 1, deliveries: Int = 1, deferrals: Int = 0, crashes: Int = 0,
    _ change: (inout NewEntry) -> Void = { _ in }
  ) throws -> HeldEntry {
    var content = NewEntry(app: "a", id: "i", payload: "{}")
    content.tokens = "[\((0..<tokens).map { _ in "\"00\"" }.joined(separator: ","))]"
    change(&content)
    return HeldEntry(
      Entry(
        number: 1, content: content, deliveries: deliveries, deferrals: deferrals, crashes: crashes,
        resolved: []))
  }

  /// As if everything had been sent and had got these responses.
  private func answered(_ held: HeldEntry, by rules: DeliveryRules? = nil, _ answers: [PushResult])
  {
    held.cursor = held.count
    held.inFlight = held.count
    let rules = rules ?? self.rules
    for answer in answers { rules.take(answer) }
    held.settle(rules, now: now)
  }

  private func answer(
    _ held: HeldEntry, at position: Int = 0, _ kind: PushResult.Kind, _ status: Int = 0,
    after: Int = 0,
    _ reason: String = ""
  ) -> PushResult {
    var answer = PushResult(held, position, kind)
    answer.httpStatus = status
    answer.retryAfterS = after
    answer.reason = reason
    return answer
  }

  /// When it comes back, and whether a response asked for that.
  private func deferral(of entry: HeldEntry) throws -> (due: Int64, isRequested: Bool) {
    guard case .deferred(let due, let isRequested, _) = entry.disposition else {
      throw RelayFault("\(entry.disposition as Any)")
    }
    return (due, isRequested)
  }

  @Test func whatTheServiceAnswersIsFinal() throws {
    let entry = try held(2)
    answered(
      entry,
      [
        answer(entry, at: 0, .accepted, 200),
        answer(entry, at: 1, .rejected, 400, "BadDeviceToken"),
      ])
    #expect(entry.fresh.map(\.kind) == [.accepted, .rejected])
    #expect(entry.disposition == .finished)
  }

  @Test func anEntryIsHeldUntilAllItsAnswersAreThere() throws {
    let entry = try held(2)
    answered(entry, [answer(entry, at: 0, .accepted, 200)])
    #expect(entry.disposition == nil)
    #expect(entry.fresh.count == 1)
  }

  @Test func laterIsTheLongestOfWhatWasAsked() throws {
    let entry = try held(3)
    answered(
      entry,
      [
        answer(entry, at: 0, .rejected, 429, after: 60, "TooManyRequests"),
        answer(entry, at: 1, .accepted, 200),
        answer(entry, at: 2, .unknown, 503, after: 900, "ServiceUnavailable"),
      ])
    #expect(try deferral(of: entry) == (now + 900_000, true))
    #expect(entry.fresh.map(\.kind) == [.accepted])
  }

  @Test func laterEndsWithItsTime() throws {
    let entry = try held { $0.expiry = 1_800_000_007 }
    answered(entry, [answer(entry, .rejected, 429, after: 60)])
    #expect(try deferral(of: entry) == (1_800_000_008_000, true))
  }

  @Test func soOftenLaterIsDead() throws {
    let entry = try held(deliveries: 4, deferrals: 3)
    answered(entry, [answer(entry, .rejected, 503, after: 1, "ServiceUnavailable")])
    #expect(entry.fresh.map(\.kind) == [.dead])
    guard case .dead(let line) = entry.disposition else {
      Issue.record("\(entry.disposition as Any)")
      return
    }
    #expect(line.contains("ServiceUnavailable"))
  }

  @Test func aRefusedProviderIsNotTheNotificationsFault() throws {
    // However often.
    let entry = try held(deliveries: 4, deferrals: 3)
    answered(entry, [answer(entry, .rejected, 403, "InvalidProviderToken")])
    #expect(entry.disposition == .released(at: now + 60_000))
    #expect(entry.fresh == [])
    // The retry time of another response counts, and a delivery without a response.
    let list = try held(2)
    answered(list, [answer(list, .rejected, 403), answer(list, at: 1, .rejected, 429, after: 9)])
    #expect(
      list.disposition == .deferred(at: now + 60_000, isRequested: true, line: ", retry in 60 s"))
    let other = try held(2)
    answered(other, [answer(other, .rejected, 403), answer(other, at: 1, .unknown, 0, "it ended")])
    #expect(
      other.disposition
        == .deferred(
          at: now + 60_000, isRequested: false, line: "delivery 1 without a response: it ended"))
  }

  @Test func unknownIsDeliveredAgainOrRecorded() throws {
    let entry = try held()
    answered(entry, [answer(entry, .unknown, 0, "the connection ended")])
    #expect(try !deferral(of: entry).isRequested)
    let other = try held()
    answered(
      other, by: DeliveryRules(deliveries: 5, tries: 3, delivery: .atMostOnce),
      [answer(other, .unknown)]
    )
    #expect(other.fresh.map(\.kind) == [.unknown])
    #expect(other.disposition == .finished)
  }

  /// A list waits for its turn, and what it has sent meanwhile gets its response.
  @Test func theRestOfAListExpires() throws {
    let entry = try held(3) { $0.expiry = 1_800_000_000 }
    (entry.cursor, entry.inFlight) = (1, 1)
    #expect(!rules.expires(entry, now: now))
    #expect(rules.expires(entry, now: now + 1000))
    #expect(
      entry.fresh.map(\.position) == [1, 2] && entry.fresh.allSatisfy { $0.kind == .expired })
    entry.settle(rules, now: now)
    #expect(entry.disposition == nil && entry.cursor == 3)
    rules.take(answer(entry, .accepted, 200))
    entry.settle(rules, now: now)
    #expect(entry.fresh.map(\.kind) == [.expired, .expired, .accepted])
    #expect(entry.disposition == .finished)
  }

  @Test func moreThanFiveDeliveriesAreDead() throws {
    #expect(!rules.refuses(try held(deliveries: 5), now: now))
    // Deliveries that got a response do not count.
    #expect(!rules.refuses(try held(deliveries: 9, deferrals: 4), now: now))
    // Nor those that ended in a crash beside others.
    #expect(!rules.refuses(try held(deliveries: 9, crashes: 4), now: now))
    let entry = try held(2, deliveries: 6)
    #expect(rules.refuses(entry, now: now))
    #expect(entry.fresh.map(\.kind) == [.dead, .dead])
  }

  @Test func whatIsTooLateEndsAsExpired() throws {
    let late: [(inout NewEntry) -> Void] = [
      { $0.deadline = 1_799_999_999 }, { $0.expiry = 1_799_999_999 },
      { ($0.expiry, $0.deadline) = (1_900_000_000, 1_799_999_999) },
    ]
    for change in late {
      let entry = try held(1, change)
      #expect(rules.refuses(entry, now: now))
      #expect(entry.fresh.map(\.kind) == [.expired])
      #expect(entry.disposition == .finished)
    }
    #expect(!rules.refuses(try held { $0.expiry = 0 }, now: now))
    #expect(!rules.refuses(try held { $0.deadline = 1_800_000_000 }, now: now))
  }

  @Test func noTimeIsTooFarAway() throws {
    for time in [Int64.max, Int64.max / 1000, 1_900_000_000] {
      let entry = try held { ($0.expiry, $0.deadline) = (time, time) }
      #expect(!rules.refuses(entry, now: now))
      answered(entry, [answer(entry, .rejected, 429, after: 60)])
      #expect(
        entry.disposition == .deferred(at: now + 60_000, isRequested: true, line: ", retry in 60 s")
      )
    }
    #expect(rules.refuses(try held { $0.deadline = .min }, now: now))
  }

  @Test func whatIsCancelledEndsSoUnlessItMayBeSent() throws {
    let entry = try held(3)
    entry.cancel()
    entry.settle(rules, now: now)
    #expect(entry.fresh.map(\.kind) == [.cancelled, .cancelled, .cancelled])
    #expect(entry.fresh.map(\.position) == [0, 1, 2])
    #expect(entry.disposition == .finished)
    // Each delivery ended with a response that asked for a retry.
    let deferred = try held(deliveries: 3, deferrals: 2)
    deferred.cancel()
    #expect(deferred.fresh.map(\.kind) == [.cancelled])
    let reclaimed = try held(2, deliveries: 3, deferrals: 1)
    reclaimed.cancel()
    reclaimed.settle(rules, now: now)
    #expect(reclaimed.fresh.map(\.kind) == [.unknown, .unknown])
    #expect(reclaimed.fresh.map(\.reason).first == "it may have been sent before it was cancelled")
    #expect(reclaimed.disposition == .finished)
  }

  @Test func whatIsInFlightGetsItsOwnOutcome() throws {
    let entry = try held(4)
    (entry.cursor, entry.inFlight) = (2, 2)
    entry.cancel()
    entry.settle(rules, now: now)
    #expect(entry.disposition == nil)
    rules.take(answer(entry, at: 1, .accepted, 200))
    rules.take(answer(entry, at: 0, .unknown, 0, "it ended"))
    entry.settle(rules, now: now)
    #expect(entry.fresh.map(\.position) == [2, 3, 1])
    #expect(entry.fresh.map(\.kind) == [.cancelled, .cancelled, .accepted])
    #expect(try !deferral(of: entry).isRequested)
  }

  /// Otherwise nobody would know later that it may have been sent.
  @Test func aRetryHidesNoDeliveryWithoutAResponse() throws {
    let entry = try held(2)
    answered(
      entry,
      [
        answer(entry, at: 0, .unknown, 0, "the connection ended"),
        answer(entry, at: 1, .rejected, 429, after: 60, "TooManyRequests"),
      ])
    #expect(try !deferral(of: entry).isRequested)
  }

  @Test func whatIsPausedGoesBackUntilItIsResumed() throws {
    let entry = try held(2)
    (entry.isCut, entry.isPaused) = (true, true)
    entry.settle(rules, now: now)
    #expect(entry.disposition == .released(at: PausedTime.due))
  }

  @Test func whatHasToWaitGoesBackUntilThen() throws {
    let entry = try held(2)
    (entry.isCut, entry.returnsAt) = (true, 5000)
    entry.settle(rules, now: now)
    #expect(entry.disposition == .released(at: 5000))
  }

  @Test func whatWasNotSentGoesBackUntouched() throws {
    let entry = try held(2)
    entry.isCut = true
    entry.settle(rules, now: now)
    #expect(entry.disposition == .released(at: nil))
  }
}
