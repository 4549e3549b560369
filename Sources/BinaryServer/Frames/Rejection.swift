import APNS

/// A notification that is rejected, and why.
package struct Rejection {
  /// As the frame has it; it may be none of Apple's.
  package var command: UInt8
  package var status: UInt8
  /// The identifier that the frame carries, if any.
  package var carried: UInt32?
  /// nil if the bytes are no frame. Points into the bytes that were judged.
  package var frame: Frame?
  /// Why, for people.
  package var reason: String
  /// Its token is missing or empty: clients send such a notification on purpose, to get an
  /// answer that proves all before it accepted.
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

  /// 0 if the frame carries none.
  package var identifier: UInt32 { carried ?? 0 }

  /// nil for command 0, which has no answers: the connection just ends.
  var packet: ErrorPacket? {
    command == Command.simple.rawValue
      ? nil : ErrorPacket(status: status, identifier: identifier)
  }

  /// How much of `bytes` belongs to it, as far as it has come.
  package func extent(in bytes: UnsafeRawBufferPointer, atMost limit: Int) -> Int {
    if let frame { return frame.length }
    if case .bytes(let length) = FrameExtent.measure(bytes) { return length }
    return min(bytes.count, limit)
  }
}
