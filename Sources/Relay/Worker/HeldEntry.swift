/// An entry held by a worker: what was sent, the responses, and the disposition.
final class HeldEntry {
  let entry: Entry
  /// nil if the entry is unreadable.
  let targets: EntryTargets?
  let count: Int
  /// 0 if the entry has no push type; nil if it is unknown.
  let pushType: UInt8?
  /// The ID is a UUID, and serves as apns-id of the only notification.
  let hasUUID: Bool
  /// The next position to send; earlier positions are sent, or have their outcome.
  var cursor = 0
  var inFlight = 0
  // This and `done` change with each response. Swift's exclusivity checks would cost more than the
  // change, and only the worker's thread has access.
  /// Outcomes that are not recorded yet.
  @exclusivity(unchecked) var fresh: [PushOutcome] = []
  /// The seconds until the retry, the longest that a response asked for; nil without one.
  var laterS: Int?
  /// APNs asked for no time: it returned server errors.
  var isGuess = true
  /// The reason for the redelivery, from a response or from the library.
  var againBecause = ""
  /// The rest is not sent: the relay stops, or others have the entry.
  var isCut = false
  /// The disposition; nil while notifications are pending.
  var next: Verdict.Next?
  /// Whether the entry is in the worker's list of entries to record.
  var isChanged = false
  @exclusivity(unchecked) private var done: PositionSet
  /// The number of notifications without an outcome.
  private(set) var open: Int

  /// An unreadable entry has one outcome, and is finished.
  init(_ entry: consuming Entry) {
    pushType = entry.content.pushType.map { ServiceSession.pushTypes[$0] } ?? 0
    let fault: String
    do throws(EntryTargets.Fault) {
      if let fault = entry.fault { throw EntryTargets.Fault(description: fault) }
      let targets = try EntryTargets(entry.content)
      self.targets = targets
      count = targets.count
      hasUUID = !targets.isList && ServiceSession.isUUID(entry.content.id)
      done = entry.answered
      open = count - done.count(below: count)
      self.entry = entry
      return
    } catch {
      fault = error.description
    }
    targets = nil
    count = 0
    hasUUID = false
    done = []
    open = 0
    fresh = [
      PushOutcome(
        position: 0, token: WrittenToken(entry.content.token ?? ""), end: .refused, reason: fault)
    ]
    next = .finished
    self.entry = entry
  }

  func isOpen(_ position: Int) -> Bool { !done.contains(position) }

  /// The token as it is written; "" without one.
  func token(at position: Int) -> WrittenToken { targets?.token(at: position) ?? "" }

  private static let mostExpected = 256

  /// `outcome` is evaluated in place.
  func end(at position: Int, _ outcome: @autoclosure () -> PushOutcome) {
    guard !done.contains(position) else { return }
    done.insert(position)
    open -= 1
    // Reserves space for the outcomes to expect, and avoids repeated growth.
    if fresh.isEmpty { fresh.reserveCapacity(min(1 + inFlight, Self.mostExpected)) }
    fresh.append(outcome())
  }

  /// Gives this outcome to all notifications without one.
  func endRest(_ end: PushOutcome.End, because reason: String) {
    for position in 0..<count where !done.contains(position) {
      self.end(
        at: position,
        PushOutcome(position: position, token: token(at: position), end: end, reason: reason))
    }
  }

  /// Decides the disposition once no notification is in flight.
  func settle(_ rules: DeliveryRules, now: @autoclosure () -> Int64) {
    guard next == nil, inFlight == 0, cursor >= count || isCut else { return }
    if open == 0 {
      next = .finished
    } else if let laterS {
      let story = "\(againBecause), again in \(laterS) s"
      if entry.answers + 1 > rules.tries {
        endRest(.dead, because: againBecause)
        next = .dead(story: "\(againBecause), for the \(entry.answers + 1)th time")
      } else {
        // An entry that expires before then is not kept any longer.
        var due = ParkedTime.of(now() + Int64(laterS) * 1000, isGuess: isGuess)
        if let last = entry.lastSecond, last < due / 1000 { due = (last + 1) * 1000 }
        next = .later(at: due, isAnswered: true, story: story)
      }
    } else if !againBecause.isEmpty {
      next = .later(
        at: now() + rules.againMS, isAnswered: false,
        story: "delivery \(entry.deliveries) without an answer: \(againBecause)")
    } else {
      next = .untouched
    }
  }
}

extension Verdict {
  /// The entry's update with its unrecorded outcomes. The entry itself is not copied, because that
  /// would retain all of its strings.
  init(_ held: HeldEntry) {
    self.init(
      number: held.entry.number, app: held.entry.content.app, id: held.entry.content.id,
      deliveries: held.entry.deliveries, outcomes: held.fresh, next: held.next ?? .held)
  }
}

/// The rules for redelivery and retry.
struct DeliveryRules {
  /// The most deliveries without a response; after more the entry becomes a dead letter.
  var deliveries: Int
  /// The most retries that APNs may ask for.
  var tries: Int
  /// The pause before an entry in doubt is redelivered.
  var againMS: Int64 = 1000
  var delivery: AppConfiguration.Delivery

  /// Applies a response to its entry.
  func take(_ answer: Answer) {
    let held = answer.held
    held.inFlight -= 1
    switch answer.kind {
    case .accepted: held.end(at: answer.position, answer.outcome(.accepted))
    case .rejected where answer.httpStatus == 403:
      // APNs rejects the provider, not this notification.
      putOff(held, Self.pauseOfRefusedProviderS, answer.reason)
    case .rejected where answer.retryAfterS > 0, .unknown where answer.retryAfterS > 0,
      .cancelled where answer.retryAfterS > 0:
      if !answer.isAsked, answer.isTaken, answer.retryAfterS <= 900 {
        // The session would have retried within seconds; only provider tokens take longer.
        putOff(held, Self.pausesInTrouble[0], answer.reason)
      } else if !answer.isAsked, answer.httpStatus >= 500 {
        let pauses = Self.pausesInTrouble
        putOff(
          held, pauses[min(held.entry.answers, pauses.count - 1)], answer.reason, isGuess: true)
      } else {
        putOff(held, answer.retryAfterS, answer.reason)
      }
      if answer.kind == .cancelled { held.isCut = true }
    case .rejected: held.end(at: answer.position, answer.outcome(.rejected))
    case .cancelled: held.isCut = true
    case .unknown where delivery == .atMostOnce:
      held.end(at: answer.position, answer.outcome(.unknown))
    case .unknown: held.againBecause = answer.reason
    }
  }

  static let pauseOfRefusedProviderS = 60

  /// The retry times after consecutive server errors: short at first, and in the end as long as
  /// Apple recommends.
  static let pausesInTrouble = [5, 15, 60, 300, 900]

  private func putOff(
    _ held: HeldEntry, _ seconds: Int, _ reason: String, isGuess: Bool = false
  ) {
    held.laterS = max(held.laterS ?? 0, seconds)
    held.isGuess = held.isGuess && isGuess
    held.againBecause = reason
  }

  /// Whether a claimed entry must not be sent any more: it has expired, or was delivered too often.
  func refuses(_ held: HeldEntry, now: @autoclosure () -> Int64) -> Bool {
    guard held.next == nil else { return true }
    if let last = held.entry.lastSecond, last < now() / 1000 {
      held.endRest(.expired, because: "its time was over")
      held.next = .finished
      return true
    }
    let unanswered = held.entry.deliveries - held.entry.answers - held.entry.crashes
    if unanswered > deliveries {
      let reason = "delivered \(unanswered - 1) times without an answer"
      held.endRest(.dead, because: reason)
      held.next = .dead(story: reason)
      return true
    }
    return false
  }
}
