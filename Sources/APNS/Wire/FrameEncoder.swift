/// Puts notifications into frames. What is missing in a command that has no way
/// to leave it out is written as 0.
package enum FrameEncoder {
  /// The frame's size in bytes; nil where a length does not fit its field.
  @inline(__always)
  package static func size(of notification: WireNotification, as command: Command) -> Int? {
    let token = notification.token.count
    let payload = notification.payload.count
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

  /// Writes the frame; `target` has the room that `size(of:as:)` asked for.
  @inline(__always)
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
      writer.write(notification.payload)
    case .framed:
      writer.write(UInt32(truncatingIfNeeded: size &- 5))
      writer.write(FrameItem.token.rawValue)
      writer.write(tokenLength)
      writer.write(token: notification.token)
      writer.write(FrameItem.payload.rawValue)
      writer.write(payloadLength)
      writer.write(notification.payload)
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
