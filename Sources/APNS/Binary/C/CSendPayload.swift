import CAPNS
import CSendPayload
import CSystem

/// The device token's size in Apple's listings.
private let tokenSize = 32
/// The largest payload in Apple's listings.
private let listingLimit = 256
/// A frame up to this size is made on the stack.
private let usualFrame = 1024

@_cdecl("sendPayload") @implementation
public func sendPayload(
  _ ssl: OpaquePointer?, _ token: UnsafeMutablePointer<CChar>?,
  _ payload: UnsafeMutablePointer<CChar>?, _ length: Int
) -> Bool {
  send(.simple, ssl, token, payload, length, limit: listingLimit)
}

@_cdecl("sendPayloadLimited") @implementation
public func sendPayloadLimited(
  _ ssl: OpaquePointer?, _ token: UnsafeMutablePointer<CChar>?,
  _ payload: UnsafeMutablePointer<CChar>?, _ length: Int, _ limit: Int
) -> Bool {
  send(.simple, ssl, token, payload, length, limit: limit)
}

@_cdecl("sendPayloadEnhanced") @implementation
public func sendPayloadEnhanced(
  _ ssl: OpaquePointer?, _ token: UnsafeMutablePointer<CChar>?,
  _ payload: UnsafeMutablePointer<CChar>?, _ length: Int, _ identifier: UInt32, _ expiry: UInt32
) -> Bool {
  send(.enhanced, ssl, token, payload, length, identifier, expiry, limit: listingLimit)
}

@_cdecl("sendPayloadEnhancedLimited") @implementation
public func sendPayloadEnhancedLimited(
  _ ssl: OpaquePointer?, _ token: UnsafeMutablePointer<CChar>?,
  _ payload: UnsafeMutablePointer<CChar>?, _ length: Int, _ identifier: UInt32, _ expiry: UInt32,
  _ limit: Int
) -> Bool {
  send(.enhanced, ssl, token, payload, length, identifier, expiry, limit: limit)
}

private func send(
  _ command: Command, _ ssl: OpaquePointer?, _ token: UnsafeMutablePointer<CChar>?,
  _ payload: UnsafeMutablePointer<CChar>?, _ length: Int, _ identifier: UInt32 = 0,
  _ expiry: UInt32 = 0, limit: Int
) -> Bool {
  guard let ssl, let token, let payload, length > 0, length <= limit, limit <= 0xFFFF else {
    return false
  }
  if let session = SessionSSL.session(of: ssl) {
    return send(
      command, on: session, token, payload, length, identifier, expiry)
  }
  let notification = WireNotification(
    token: UnsafeRawBufferPointer(start: token, count: tokenSize),
    payload: UnsafeRawBufferPointer(start: payload, count: length), identifier: identifier,
    expiry: expiry)
  guard let size = FrameEncoder.size(of: notification, as: command) else { return false }
  // Swift would put anything larger on the heap, and end the program if there is no memory.
  if size <= usualFrame {
    return withUnsafeTemporaryAllocation(byteCount: usualFrame, alignment: 1) { frame in
      guard let base = frame.baseAddress else { return false }
      FrameEncoder.encode(notification, as: command, size: size, into: base)
      return HostConnection(ssl).write(UnsafeRawBufferPointer(start: base, count: size))
    }
  }
  guard let frame = malloc(size) else { return false }
  defer { free(frame) }
  FrameEncoder.encode(notification, as: command, size: size, into: frame)
  return HostConnection(ssl).write(UnsafeRawBufferPointer(start: frame, count: size))
}

/// Sends through the SSL's session; the session decides the format.
private func send(
  _ command: Command, on session: OpaquePointer, _ token: UnsafePointer<CChar>,
  _ payload: UnsafePointer<CChar>, _ length: Int, _ identifier: UInt32, _ expiry: UInt32
) -> Bool {
  var push = apns_notification_t()
  push.size = MemoryLayout<apns_notification_t>.size
  push.token = UnsafeRawPointer(token)
  push.token_length = tokenSize
  push.payload = UnsafeRawPointer(payload)
  push.payload_length = length
  if command == .enhanced {
    push.user_data = UnsafeMutableRawPointer(bitPattern: UInt(identifier))
    push.expiry = expiry == 0 ? Int64(APNS_EXPIRY_ONCE) : Int64(expiry)
  }
  while true {
    // Apple's sample checks nothing.
    let status = withUnsafePointer(to: push) {
      send(
        SendOne(notification: $0, flags: 0, identifier: nil, isChecked: false), by: session, nil)
    }
    if status != APNS_ERR_FULL { return status == APNS_OK }
    // A caller that only has the SSL never takes outcomes, so the oldest one is dropped.
    var event = apns_event_t()
    event.size = MemoryLayout<apns_event_t>.size
    guard apns_session_next_event(session, &event, 0, nil) == APNS_OK else { return false }
  }
}
