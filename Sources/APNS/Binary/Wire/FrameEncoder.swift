/// Encodes notifications as frames. If a command cannot leave a field out and the
/// notification lacks it, the field is written as 0.
package enum FrameEncoder {
  /// The frame's size in bytes; nil if a length does not fit its field.
  @inline(__always)
  package static func size(of notification: WireNotification, as command: Command) -> Int? {
    size(of: notification, payloadCount: notification.payload.count, as: command)
  }

  /// The same for a payload with a known length and unknown bytes.
  @inline(__always)
  static func size(
    of notification: WireNotification, payloadCount payload: Int, as command: Command
  ) -> Int? {
    let token = notification.token.count
    guard token <= 0xFFFF, payload <= 0xFFFF else { return nil }
    switch command {
    case .simple: return 5 &+ token &+ payload
    case .enhanced: return 13 &+ token &+ payload
    case .framed:
      var size = 11 &+ token &+ payload
      if notification.identifier != nil { size &+= 7 }
      if notification.expiry != nil { size &+= 7 }
      if notification.priority != nil { size &+= 4 }
      return size
    }
  }

  /// The offset of the payload in the frame.
  @inline(__always)
  static func payloadOffset(tokenCount: Int, as command: Command) -> Int {
    switch command {
    case .simple: 5 &+ tokenCount
    case .enhanced: 13 &+ tokenCount
    case .framed: 11 &+ tokenCount
    }
  }

  /// The token in a frame that was encoded here; empty if the frame is not whole.
  static func token(
    of frame: UnsafeRawBufferPointer, as command: Command
  ) -> UnsafeRawBufferPointer {
    let start = payloadOffset(tokenCount: 0, as: command) &- (command == .framed ? 3 : 2)
    guard frame.count >= start else { return UnsafeRawBufferPointer(rebasing: frame[0..<0]) }
    let count = Int(frame[start &- 2]) << 8 | Int(frame[start &- 1])
    return UnsafeRawBufferPointer(rebasing: frame[start..<min(frame.count, start &+ count)])
  }

  /// Writes the frame; `target` has the room that `size(of:as:)` returned. A payload that
  /// is already in its place is left there.
  @inline(always)
  package static func encode(
    _ notification: WireNotification, as command: Command, size: Int,
    into target: UnsafeMutableRawPointer
  ) {
    var writer = ByteWriter(target)
    let tokenLength = UInt16(truncatingIfNeeded: notification.token.count)
    let payloadLength = UInt16(truncatingIfNeeded: notification.payload.count)
    writer.write(command.rawValue)
    switch command {
    case .simple, .enhanced:
      if command == .enhanced {
        writer.write(notification.identifier ?? 0)
        writer.write(notification.expiry ?? 0)
      }
      writer.write(tokenLength)
      writer.write(token: notification.token)
      writer.write(payloadLength)
      writer.write(payload: notification.payload)
    case .framed:
      writer.write(UInt32(truncatingIfNeeded: size &- 5))
      writer.write(FrameItem.token.rawValue)
      writer.write(tokenLength)
      writer.write(token: notification.token)
      writer.write(FrameItem.payload.rawValue)
      writer.write(payloadLength)
      writer.write(payload: notification.payload)
      if let identifier = notification.identifier {
        writer.write(FrameItem.identifier.rawValue)
        writer.write(4 as UInt16)
        writer.write(identifier)
      }
      if let expiry = notification.expiry {
        writer.write(FrameItem.expiry.rawValue)
        writer.write(4 as UInt16)
        writer.write(expiry)
      }
      if let priority = notification.priority {
        writer.write(FrameItem.priority.rawValue)
        writer.write(1 as UInt16)
        writer.write(priority)
      }
    }
  }
}
