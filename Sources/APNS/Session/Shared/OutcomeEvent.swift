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
    if let answer = outcome.answer { return reportResponse(answer, in: &event) }
    if outcome.outcome == .unknown || outcome.outcome == .expired {
      let end = lastEnd
      withUnsafeMutableBytes(of: &event.reason_text) { end.copy(to: $0) }
    }
  }
}

extension ProviderSession where Self: ~Copyable {
  /// Gives outcomes to the option `on_outcome`; false if there are none.
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
