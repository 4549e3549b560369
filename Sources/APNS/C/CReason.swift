import CAPNS

@_cdecl("apns_reason_text") @implementation
public func apns_reason_text(_ reason: apns_reason_t) -> UnsafePointer<CChar>? {
  let words: StaticString = "none\0other\0"
  let reason = Reason(reason.rawValue)
  return
    (reason.text?.baseAddress
    ?? UnsafeRawPointer(words.utf8Start + (reason == .none ? 0 : 5)))
    .assumingMemoryBound(to: CChar.self)
}

@_cdecl("apns_reason_from_text") @implementation
public func apns_reason_from_text(
  _ text: UnsafePointer<CChar>?, _ length: Int
) -> apns_reason_t {
  guard let text, length > 0 else { return APNS_REASON_OTHER }
  return apns_reason_t(
    rawValue: UInt32(Reason(text: UnsafeRawBufferPointer(start: text, count: length)).number))
}

@_cdecl("apns_reason_http_status") @implementation
public func apns_reason_http_status(_ reason: apns_reason_t) -> CInt {
  CInt(truncatingIfNeeded: Reason(reason.rawValue).status)
}

@_cdecl("apns_reason_reject") @implementation
public func apns_reason_reject(_ reason: apns_reason_t) -> apns_reject_t {
  apns_reject_t(rawValue: UInt32(Reason(reason.rawValue).reject))
}
