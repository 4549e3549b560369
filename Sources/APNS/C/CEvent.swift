import CAPNS

@_cdecl("apns_event_kind_text") @implementation
public func apns_event_kind_text(_ kind: apns_event_kind_t) -> UnsafePointer<CChar>? {
  let text: StaticString =
    switch kind {
    case APNS_EVENT_ACCEPTED: "accepted"
    case APNS_EVENT_REJECTED: "rejected"
    case APNS_EVENT_UNKNOWN: "unknown"
    case APNS_EVENT_CANCELLED: "cancelled"
    case APNS_EVENT_EXPIRED: "expired"
    default: "unlisted kind"
    }
  return UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}

@_cdecl("apns_event_has_invalid_token") @implementation
public func apns_event_has_invalid_token(_ event: UnsafePointer<apns_event_t>?) -> CInt {
  guard let event, hasPossibleSize(event),
    event.pointee.kind == Int32(bitPattern: APNS_EVENT_REJECTED.rawValue)
  else { return 0 }
  if event.pointee.http_status == 410 { return 1 }
  let reason = apns_reason_t(rawValue: UInt32(bitPattern: event.pointee.reason))
  let reject =
    reason == APNS_REASON_NONE
    ? apns_reject_t(rawValue: UInt32(bitPattern: event.pointee.reject)) : apns_reason_reject(reason)
  return reject == APNS_REJECT_INVALID_TOKEN || reject == APNS_REJECT_INVALID_TOKEN_SIZE ? 1 : 0
}
