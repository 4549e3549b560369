import CAPNS

/// A static C string.
private func text(_ literal: StaticString) -> UnsafePointer<CChar> {
  UnsafeRawPointer(literal.utf8Start).assumingMemoryBound(to: CChar.self)
}

@_cdecl("apns_version") @implementation
public func apns_version() -> UnsafePointer<CChar>? { text("0.2.0") }

@_cdecl("apns_features") @implementation
public func apns_features() -> UInt32 {
  var features: UInt32 = 0
  #if APNS_HTTP2
    features |= APNS_FEATURE_HTTP2
  #endif
  #if APNS_CARES
    features |= APNS_FEATURE_CARES
  #endif
  #if APNS_BINARY
    features |= APNS_FEATURE_BINARY
  #endif
  return features
}

@_cdecl("apns_status_name") @implementation
public func apns_status_name(_ status: apns_status_t) -> UnsafePointer<CChar>? {
  switch status {
  case APNS_OK: text("APNS_OK")
  case APNS_DONE: text("APNS_DONE")
  case APNS_ERR_ARGUMENT: text("APNS_ERR_ARGUMENT")
  case APNS_ERR_BUFFER_SMALL: text("APNS_ERR_BUFFER_SMALL")
  case APNS_ERR_MEMORY: text("APNS_ERR_MEMORY")
  case APNS_ERR_TIMEOUT: text("APNS_ERR_TIMEOUT")
  case APNS_ERR_NETWORK: text("APNS_ERR_NETWORK")
  case APNS_ERR_TLS: text("APNS_ERR_TLS")
  case APNS_ERR_CREDENTIALS: text("APNS_ERR_CREDENTIALS")
  case APNS_ERR_PROTOCOL: text("APNS_ERR_PROTOCOL")
  case APNS_ERR_FULL: text("APNS_ERR_FULL")
  case APNS_ERR_CLOSED: text("APNS_ERR_CLOSED")
  case APNS_ERR_FORKED: text("APNS_ERR_FORKED")
  case APNS_ERR_AGAIN: text("APNS_ERR_AGAIN")
  case APNS_ERR_REJECTED: text("APNS_ERR_REJECTED")
  case APNS_ERR_IN_DOUBT: text("APNS_ERR_IN_DOUBT")
  default: text("unknown status")
  }
}

@_cdecl("apns_status_is_retryable") @implementation
public func apns_status_is_retryable(_ status: apns_status_t) -> CInt {
  status.isRetryable ? 1 : 0
}

@_cdecl("apns_reject_text") @implementation
public func apns_reject_text(_ reject: apns_reject_t) -> UnsafePointer<CChar>? {
  switch reject {
  case APNS_REJECT_NONE: text("no errors encountered")
  case APNS_REJECT_PROCESSING_ERROR: text("processing error")
  case APNS_REJECT_MISSING_TOKEN: text("missing device token")
  case APNS_REJECT_MISSING_TOPIC: text("missing topic")
  case APNS_REJECT_MISSING_PAYLOAD: text("missing payload")
  case APNS_REJECT_INVALID_TOKEN_SIZE: text("invalid token size")
  case APNS_REJECT_INVALID_TOPIC_SIZE: text("invalid topic size")
  case APNS_REJECT_INVALID_PAYLOAD_SIZE: text("invalid payload size")
  case APNS_REJECT_INVALID_TOKEN: text("invalid token")
  case APNS_REJECT_SHUTDOWN: text("shutdown")
  case APNS_REJECT_PROTOCOL_ERROR: text("protocol error")
  case APNS_REJECT_UNKNOWN: text("unknown")
  default: text("unlisted status")
  }
}
