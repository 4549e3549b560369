import NIOCore

/// Ends a connection so that what was sent last arrives: a pause, close_notify, and
/// then what the peer still sends is read, for a socket closed on unread bytes
/// answers with RST, and that destroys what is under way.
enum GentleClose {
  /// Some clients see the end first where it comes in one segment with the last bytes.
  static let pause = TimeAmount.milliseconds(50)
  /// How long the peer may take to close its side.
  static let patience = TimeAmount.seconds(2)

  static func begin(_ channel: any Channel, after pause: TimeAmount) {
    channel.eventLoop.scheduleTask(in: pause) {
      channel.close(mode: .output, promise: nil)
      channel.eventLoop.scheduleTask(in: patience) { channel.close(promise: nil) }
    }
  }
}
