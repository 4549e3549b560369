import CAPNS

/// Fills a zeroed event with an outcome.
@inline(__always)
func tell(_ outcome: WaitingOutcome, in event: inout apns_event_t) {
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
  #if APNS_HTTP2
    if let answer = outcome.answer { tellAnswer(answer, in: &event) }
  #endif
}
