import CSendPayload

/// The device token's size in Apple's listings.
private let tokenSize = 32
/// The largest payload in Apple's listings.
private let listingLimit = 256

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
  let notification = WireNotification(
    token: UnsafeRawBufferPointer(start: token, count: tokenSize),
    payload: UnsafeRawBufferPointer(start: payload, count: length), identifier: identifier,
    expiry: expiry)
  guard let size = FrameEncoder.size(of: notification, as: command) else { return false }
  return withUnsafeTemporaryAllocation(byteCount: size, alignment: 1) { frame in
    guard let base = frame.baseAddress else { return false }
    FrameEncoder.encode(notification, as: command, size: size, into: base)
    return HostConnection(ssl).write(UnsafeRawBufferPointer(frame))
  }
}
