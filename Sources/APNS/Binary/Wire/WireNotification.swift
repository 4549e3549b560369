/// Apple's commands, which decide how a notification is framed (Binary Provider API).
package enum Command: UInt8 {
  case simple = 0
  case enhanced = 1
  case framed = 2
}

/// A notification as the wire carries it. Its bytes belong to the caller.
package struct WireNotification {
  package var token: UnsafeRawBufferPointer
  package var payload: UnsafeRawBufferPointer
  package var identifier: UInt32?
  package var expiry: UInt32?
  package var priority: UInt8?

  /// The length in bytes that tokens had for years. No gateway rejects it.
  package static let usualToken = 32

  package init(
    token: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, identifier: UInt32? = nil,
    expiry: UInt32? = nil, priority: UInt8? = nil
  ) {
    self.token = token
    self.payload = payload
    self.identifier = identifier
    self.expiry = expiry
    self.priority = priority
  }
}

/// The items of command 2 (Binary Provider API, table of frame items).
package enum FrameItem: UInt8 {
  case token = 1
  case payload = 2
  case identifier = 3
  case expiry = 4
  case priority = 5
}
