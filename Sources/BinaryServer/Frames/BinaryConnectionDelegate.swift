import APNS
import NIOCore

/// What a server decides about one connection of the binary protocol, and what it is told of it.
/// `BinaryHandler` reads, judges and answers; the delegate says what an accepted notification
/// means. All calls come on the connection's event loop.
package protocol BinaryConnectionDelegate: AnyObject {
  /// The TLS handshake is done.
  func connected(_ context: ChannelHandlerContext)
  /// So many bytes came.
  func received(_ count: Int)
  /// Some notifications are about to be judged.
  func beginBatch()
  /// All that one read brought is judged, or an answer is about to leave. What the client may
  /// take for accepted has to be safe when this returns.
  func endBatch()
  /// Why a valid notification is rejected all the same; nil accepts it.
  func rejection(of frame: Frame) -> Rejection?
  /// `bytes` begin with the frame.
  func accepted(_ frame: Frame, _ bytes: UnsafeRawBufferPointer, _ context: ChannelHandlerContext)
    -> AfterAcceptance
  /// May change how it is answered. `bytes` begin with what is rejected.
  func rejected(_ rejection: inout Rejection, _ bytes: UnsafeRawBufferPointer) -> AfterRejection
  /// One frame that came behind a rejection, on a connection that is closing.
  func discarded(_ frame: UnsafeRawBufferPointer)
  /// Answers with a packet, if there is one, and closes.
  func close(with packet: ErrorPacket?, _ context: ChannelHandlerContext)
  /// The TLS handshake failed.
  func handshakeFailed()
  func closed()
}

extension BinaryConnectionDelegate {
  package func close(with packet: ErrorPacket?, _ context: ChannelHandlerContext) {
    if let packet { BinaryHandler.write(packet, context) }
    GentleClose.begin(context.channel, after: packet == nil ? .zero : GentleClose.pause)
  }
}

package enum AfterAcceptance {
  case readOn
  /// What comes next stays where it is until `ReadingResumed` comes down the pipeline.
  case pause
  /// Status 10 names this notification as the last one accepted, and the connection closes.
  case shutDown
  /// The connection closes without an answer.
  case close(ConnectionEnding)
}

package enum AfterRejection {
  /// Answers, closes, and discards what follows.
  case answer
  /// Passes over the notification as if it had not come.
  case ignore
}

/// An event for the handler: the server ends the connection by itself, between two frames. It answers
/// with the packet, if there is one, closes, and discards what comes.
package struct ConnectionDismissed: Sendable {
  package var packet: ErrorPacket?

  package init(with packet: ErrorPacket?) { self.packet = packet }
}

/// An event for the handler of a connection that is paused: it reads on.
package struct ReadingResumed {
  package init() {}
}
