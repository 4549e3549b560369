import CAPNS

extension ProviderSession where Self: ~Copyable {
  /// Fills a zeroed event with an outcome.
  func report(_ outcome: WaitingOutcome, in event: inout apns_event_t) {
    event.identifier = outcome.identifier
    event.user_data = outcome.userData
    switch outcome.outcome {
    case .accepted: event.kind = Int32(bitPattern: APNS_EVENT_ACCEPTED.rawValue)
    case .rejected(let reject):
      event.kind = Int32(bitPattern: APNS_EVENT_REJECTED.rawValue)
      event.reject = Int32(reject)
    case .unknown: event.kind = Int32(bitPattern: APNS_EVENT_UNKNOWN.rawValue)
    case .cancelled: event.kind = Int32(bitPattern: APNS_EVENT_CANCELLED.rawValue)
    case .expired: event.kind = Int32(bitPattern: APNS_EVENT_EXPIRED.rawValue)
    }
    if let response = outcome.response { return reportResponse(response, in: &event) }
    if outcome.outcome == .unknown || outcome.outcome == .expired {
      let end = lastEnd
      withUnsafeMutableBytes(of: &event.reason_text) { end.copy(to: $0) }
    }
  }
}

extension ProviderSession where Self: ~Copyable {
  var hasOutcome: Bool { waitingOutcomes > 0 || standing.hasDelivered }

  /// The next outcome; nil if none came by the deadline. With `milliseconds` 0 no connection is made
  /// and no notification is sent.
  mutating func nextOutcome(milliseconds: Int32) throws(Failure) -> WaitingOutcome? {
    standing.hasDelivered = false
    if !hasOutcome, !isClosed, !options.neverWaits { try awaitOutcome(milliseconds: milliseconds) }
    // With the option on_outcome, the last outcomes go there.
    guard options.onOutcome == nil, let outcome = takeOutcome() else { return nil }
    standing.tookOutcome()
    // Another one may have room now.
    if options.neverWaits, nextDeadline == .min { wake() }
    return outcome
  }

  private mutating func awaitOutcome(milliseconds: Int32) throws(Failure) {
    if milliseconds == 0 {
      try readNow()
      if let failure = lastFailure.failure { throw failure }
      return
    }
    let deadline = deadline(milliseconds: milliseconds)
    do throws(Failure) {
      try run(until: .outcome, by: deadline)
    } catch {
      // A missing outcome is not a failure, but being unable to write anything is.
      if error.status != APNS_ERR_TIMEOUT || waitsToWrite { throw error }
    }
  }

  /// The outcome of the notification queued last is for a push.
  mutating func push() {
    pushIdentifier = nextIdentifier == 1 ? .max : nextIdentifier &- 1
    keepPush()
  }

  /// Gives outcomes to the option `on_outcome`; false without outcomes.
  @inline(__always)
  @discardableResult
  mutating func deliver() -> Bool { options.onOutcome != nil && deliverAll() }

  @inline(never)
  private mutating func deliverAll() -> Bool {
    var isAny = false
    while let outcome = takeOutcome() {
      (isAny, standing.hasDelivered) = (true, true)
      var event = apns_event_t()
      event.size = MemoryLayout<apns_event_t>.size
      report(outcome, in: &event)
      options.onOutcome?(&event, options.outcomeContext)
    }
    // Another one may have room now.
    if options.neverWaits, nextDeadline == .min { wake() }
    return isAny
  }
}
