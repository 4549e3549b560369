import APNS

package struct Rejection {
  /// The command byte of the frame, perhaps an unknown one.
  package var command: UInt8
  package var status: UInt8
  /// The frame's identifier, if any.
  package var carried: UInt32?
  /// nil if the bytes are not a frame. Points into the parsed bytes.
  package var frame: Frame?
  /// The reason, for people.
  package var reason: String
  /// Its token is missing or empty. A client sends such a sentinel to get an error packet that
  /// proves everything before it.
  package var isSentinel = false

  init(command: UInt8, fault: WireError) {
    self.command = command
    status = fault.reject
    carried = fault.identifier
    reason = "\(fault.reason), at byte \(fault.offset) of the frame"
    isSentinel = fault.reason == .missingToken
  }

  package init(_ frame: Frame, status: UInt8, reason: String) {
    command = frame.command.rawValue
    self.status = status
    carried = frame.notification.identifier
    self.frame = frame
    self.reason = reason
  }

  /// The frame's identifier; 0 without one.
  package var identifier: UInt32 { carried ?? 0 }

  /// nil for command 0, which has no error packet: the connection just ends.
  var packet: ErrorPacket? {
    command == Command.simple.rawValue
      ? nil : ErrorPacket(status: status, identifier: identifier)
  }

  /// The number of available bytes that belong to it.
  package func extent(in bytes: UnsafeRawBufferPointer, atMost limit: Int) -> Int {
    if let frame { return frame.length }
    if case .bytes(let length) = FrameExtent.measure(bytes) { return length }
    return min(bytes.count, limit)
  }
}
