import APNS
import NIOCore

/// A server's decisions about a binary connection, and that connection's events. `BinaryHandler`
/// parses, validates and sends error packets; the delegate handles accepted notifications. All
/// calls are made on the connection's event loop.
package protocol BinaryConnectionDelegate: AnyObject {
  /// The TLS handshake is done.
  func connected(_ context: ChannelHandlerContext)
  /// Reports the number of bytes that arrived.
  func received(_ count: Int)
  /// Notifications are about to be validated.
  func beginBatch()
  /// Everything from one read is validated, or an error packet is about to be sent. Notifications
  /// that the client may consider accepted must be safe when this returns.
  func endBatch()
  /// Rejects a valid notification; nil accepts it.
  func rejection(of frame: Frame) -> Rejection?
  /// `bytes` begin with the frame.
  func accepted(_ frame: Frame, _ bytes: UnsafeRawBufferPointer, _ context: ChannelHandlerContext)
    -> AfterAcceptance
  /// May change the rejection. `bytes` begin with the rejected frame.
  func rejected(_ rejection: inout Rejection, _ bytes: UnsafeRawBufferPointer) -> AfterRejection
  /// A frame after a rejection, on a connection that is closing.
  func discarded(_ frame: UnsafeRawBufferPointer)
  /// Sends the packet, if any, and closes.
  func close(with packet: ErrorPacket?, _ context: ChannelHandlerContext)
  func handshakeFailed()
  func closed()
}

extension BinaryConnectionDelegate {
  package func close(with packet: ErrorPacket?, _ context: ChannelHandlerContext) {
    if let packet { BinaryHandler.write(packet, context) }
    GracefulClose.begin(context.channel, after: packet == nil ? .zero : GracefulClose.pause)
  }
}

package enum AfterAcceptance {
  case readOn
  /// Further input stays in the buffer until `ReadingResumed` arrives through the pipeline.
  case pause
  /// Status 10 names this notification as the last accepted one, and the connection closes.
  case shutDown
  /// The connection closes without an error packet.
  case close(ConnectionEnding)
}

package enum AfterRejection {
  /// Sends the packet, closes, and discards further input.
  case answer
  /// Skips the notification as if it had not arrived.
  case ignore
}

/// An event for the handler: the server ends the connection between two frames. The handler sends
/// the packet, if any, closes, and discards further input.
package struct ConnectionDismissed: Sendable {
  package var packet: ErrorPacket?

  package init(with packet: ErrorPacket?) { self.packet = packet }
}

/// An event for a paused handler, which then continues to read.
package struct ReadingResumed {
  package init() {}
}
