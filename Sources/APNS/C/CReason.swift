import CAPNS

// A library built without HTTP/2 never gets a reason, so it has no list of them.

@_cdecl("apns_reason_text") @implementation
public func apns_reason_text(_ reason: apns_reason_t) -> UnsafePointer<CChar>? {
  #if APNS_HTTP2
    if let text = Reason(reason.rawValue).text {
      return text.baseAddress?.assumingMemoryBound(to: CChar.self)
    }
  #endif
  let words: StaticString = "none\0other\0"
  return UnsafeRawPointer(words.utf8Start + (reason == APNS_REASON_NONE ? 0 : 5))
    .assumingMemoryBound(to: CChar.self)
}

@_cdecl("apns_reason_from_text") @implementation
public func apns_reason_from_text(
  _ text: UnsafePointer<CChar>?, _ length: Int
) -> apns_reason_t {
  #if APNS_HTTP2
    if let text, length > 0 {
      let bytes = UnsafeRawBufferPointer(start: text, count: length)
      return apns_reason_t(rawValue: UInt32(Reason(text: bytes).number))
    }
  #endif
  return APNS_REASON_OTHER
}

@_cdecl("apns_reason_http_status") @implementation
public func apns_reason_http_status(_ reason: apns_reason_t) -> CInt {
  #if APNS_HTTP2
    CInt(truncatingIfNeeded: Reason(reason.rawValue).status)
  #else
    0
  #endif
}

@_cdecl("apns_reason_reject") @implementation
public func apns_reason_reject(_ reason: apns_reason_t) -> apns_reject_t {
  #if APNS_HTTP2
    apns_reject_t(rawValue: UInt32(Reason(reason.rawValue).reject))
  #else
    reason == APNS_REASON_NONE ? APNS_REJECT_NONE : APNS_REJECT_UNKNOWN
  #endif
}
