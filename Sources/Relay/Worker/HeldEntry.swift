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
  var lane: Lane { entry.content.lane }
  /// The bucket that limits only some of the app's entries, this one too; "" without one.
  var bucket = ""
  /// The next position to send; earlier positions are sent, or have their outcome.
  var cursor = 0
  var inFlight = 0
  // This and `resolved` change with each response. Swift's exclusivity checks would cost more than the
  // change, and only the worker's thread has access.
  /// Outcomes that are not recorded yet.
  @exclusivity(unchecked) var fresh: [PushOutcome] = []
  /// The seconds until the retry, the longest that a response requested; nil without one.
  var retryS: Int?
  /// A response asked for the retry; otherwise one rejected the provider.
  var isRequested = false
  /// APNs gave no time: it returned server errors.
  var isGuess = true
  /// The reason for the redelivery, from a response or from the library.
  var retryReason = ""
  /// The rest is not sent: the relay stops, or others have the entry.
  var isCut = false
  /// The rest waits until its campaign is resumed.
  var isPaused = false
  /// When the unsent rest is due; nil: immediately.
  var returnsAt: Int64?
  /// An operator's order ended the rest.
  private(set) var isCancelled = false
  /// Some notification of this delivery got no response.
  var isInDoubt = false
  /// The disposition; nil while notifications are pending.
  var disposition: EntryUpdate.Disposition?
  /// Whether the entry is in the worker's list of entries to record.
  var isChanged = false
  @exclusivity(unchecked) private var resolved: PositionSet
  /// The number of notifications without an outcome.
  private(set) var unresolved: Int

  /// An unreadable entry has one outcome, and is finished.
  init(_ entry: consuming Entry) {
    // First, because each use of the parameter would copy it.
    self.entry = consume entry
    pushType = self.entry.content.pushType.map { PushLimits.pushTypes[$0] } ?? 0
    let fault: String
    do throws(RelayFault) {
      if let fault = self.entry.fault { throw RelayFault(fault) }
      let targets = try EntryTargets(self.entry.content)
      self.targets = targets
      count = targets.count
      hasUUID = !targets.isList && PushLimits.isUUID(self.entry.content.id)
      resolved = self.entry.resolved
      unresolved = count - resolved.count(below: count)
      return
    } catch {
      fault = error.description
    }
    targets = nil
    count = 0
    hasUUID = false
    resolved = []
    unresolved = 0
    fresh = [
      PushOutcome(
        position: 0, token: WrittenToken(self.entry.content.token ?? ""), kind: .refused,
        reason: fault)
    ]
    disposition = .finished
  }

  func isUnresolved(_ position: Int) -> Bool { !resolved.contains(position) }

  /// The token as it is written; "" without one.
  func token(at position: Int) -> WrittenToken { targets?.token(at: position) ?? "" }

  private static let mostExpected = 256

  /// `outcome` is evaluated in place.
  func end(at position: Int, _ outcome: @autoclosure () -> PushOutcome) {
    guard !resolved.contains(position) else { return }
    resolved.insert(position)
    unresolved -= 1
    // Reserves space for the outcomes to expect, and avoids repeated growth.
    if fresh.isEmpty { fresh.reserveCapacity(min(1 + inFlight, Self.mostExpected)) }
    fresh.append(outcome())
  }

  /// Gives this outcome to all notifications without one, from this position on.
  func endRest(
    _ kind: PushOutcome.Kind, from first: Int = 0, because reason: String, isByOrder: Bool = false
  ) {
    for position in first..<max(first, count) where !resolved.contains(position) {
      self.end(
        at: position,
        PushOutcome(
          position: position, token: token(at: position), kind: kind, reason: reason,
          isByOrder: isByOrder))
    }
  }

  /// Ends what is not sent by this worker. An earlier one may have sent it.
  func cancel() {
    isCancelled = true
    let mayBeSent = entry.deliveries - entry.deferrals > 1
    endRest(
      mayBeSent ? .unknown : .cancelled, from: cursor,
      because: mayBeSent ? "it may have been sent before it was cancelled" : "", isByOrder: true)
    cursor = count
  }

  private var unansweredLine: String {
    "delivery \(entry.deliveries) without a response: \(retryReason)"
  }

  /// Decides the disposition once no notification is in flight.
  func settle(_ rules: DeliveryRules, now: @autoclosure () -> Int64) {
    guard disposition == nil, inFlight == 0, cursor >= count || isCut else { return }
    if unresolved == 0 {
      disposition = .finished
    } else if let retryS {
      if isRequested, entry.deferrals + 1 > rules.tries {
        endRest(.dead, because: retryReason)
        let times = entry.deferrals == 0 ? "once" : "\(entry.deferrals + 1) times"
        disposition = .dead(line: "\(retryReason), deferred \(times)")
        return
      }
      // An entry that expires before then is not kept any longer.
      var due = ParkedTime.of(
        now() + Int64(retryS) * 1000, isGuess: isRequested && isGuess)
      if let last = entry.lastSecond, last < due / 1000 { due = (last + 1) * 1000 }
      if isRequested {
        // Without a response to all of it, the delivery counts.
        disposition = .deferred(
          at: due, isRequested: !isInDoubt, line: "\(retryReason), retry in \(retryS) s")
      } else if retryReason.isEmpty {
        disposition = .released(at: due)
      } else {
        disposition = .deferred(at: due, isRequested: false, line: unansweredLine)
      }
    } else if !retryReason.isEmpty {
      disposition = .deferred(
        at: now() + rules.redeliveryMS, isRequested: false, line: unansweredLine)
    } else {
      disposition = .released(at: isPaused ? PausedTime.due : returnsAt)
    }
  }
}

extension EntryUpdate {
  /// The entry's update with its unrecorded outcomes. The entry itself is not copied, because that
  /// would retain all of its strings.
  init(_ held: HeldEntry) {
    self.init(
      number: held.entry.number, app: held.entry.content.app, id: held.entry.content.id,
      campaign: held.entry.content.campaign, traceparent: held.entry.content.traceparent,
      deliveries: held.entry.deliveries, outcomes: held.fresh,
      disposition: held.disposition ?? .held, isByOrder: held.isCancelled)
  }
}

/// The rules for redelivery and retry.
struct DeliveryRules {
  /// The most deliveries without a response; after more the entry becomes a dead letter.
  var deliveries: Int
  /// The most retries that APNs may request.
  var tries: Int
  /// The pause before an entry in doubt is redelivered.
  var redeliveryMS: Int64 = 1000
  var delivery: AppConfiguration.Delivery

  /// Applies a response to its entry.
  func take(_ result: PushResult) {
    let held = result.held
    held.inFlight -= 1
    switch result.kind {
    case .accepted: held.end(at: result.position, result.outcome(.accepted))
    case .rejected where result.httpStatus == 403:
      // APNs rejects the provider, not this notification, so the retry does not count.
      held.retryS = max(held.retryS ?? 0, Self.pauseOfRefusedProviderS)
    case .rejected where result.retryAfterS > 0, .unknown where result.retryAfterS > 0,
      .cancelled where result.retryAfterS > 0:
      if !result.isAsked, result.isTaken, result.retryAfterS <= 900 {
        // The session would have retried within seconds; only provider tokens take longer.
        deferEntry(held, Self.pausesAfterServerErrors[0], result.reason)
      } else if !result.isAsked, result.httpStatus >= 500 {
        let pauses = Self.pausesAfterServerErrors
        deferEntry(
          held, pauses[min(held.entry.deferrals, pauses.count - 1)], result.reason, isGuess: true)
      } else {
        deferEntry(held, result.retryAfterS, result.reason)
      }
      if result.kind == .cancelled { held.isCut = true }
    case .rejected: held.end(at: result.position, result.outcome(.rejected))
    case .cancelled: held.isCut = true
    case .unknown where delivery == .atMostOnce:
      held.end(at: result.position, result.outcome(.unknown))
    case .unknown:
      held.retryReason = result.reason
      held.isInDoubt = true
    }
  }

  static let pauseOfRefusedProviderS = 60

  /// The retry times after consecutive server errors: short at first, and in the end as long as
  /// Apple recommends.
  static let pausesAfterServerErrors = [5, 15, 60, 300, 900]

  private func deferEntry(
    _ held: HeldEntry, _ seconds: Int, _ reason: String, isGuess: Bool = false
  ) {
    held.retryS = max(held.retryS ?? 0, seconds)
    held.isRequested = true
    held.isGuess = held.isGuess && isGuess
    held.retryReason = reason
  }

  /// Whether a claimed entry must not be sent any more: it has expired, or was delivered too often.
  func refuses(_ held: HeldEntry, now: @autoclosure () -> Int64) -> Bool {
    guard held.disposition == nil else { return true }
    if expires(held, now: now()) {
      held.disposition = .finished
      return true
    }
    let unanswered = held.entry.deliveries - held.entry.deferrals - held.entry.crashes
    if unanswered > deliveries {
      let reason = "delivered \(unanswered - 1) times without a response"
      held.endRest(.dead, because: reason)
      held.disposition = .dead(line: reason)
      return true
    }
    return false
  }

  /// Whether the time of its notifications that are not sent yet is over. They end then.
  func expires(_ held: HeldEntry, now: @autoclosure () -> Int64) -> Bool {
    guard let last = held.entry.lastSecond, last < now() / 1000 else { return false }
    held.endRest(.expired, from: held.cursor, because: "its expiry or deadline had passed")
    held.cursor = held.count
    return true
  }
}
