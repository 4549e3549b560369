import APNS
import Logging
import NIOCore
import NIOSSL
import NIOTLS

/// Tells a provider which devices are gone, then closes.
final class FeedbackHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// What a TLS record carries at most. A record that ends inside a tuple is one
  /// that clients of old cannot put together.
  private static let recordSize = 16384

  private let list: FeedbackList
  private let ledger: Ledger
  private let logger: Logger

  init(list: FeedbackList, ledger: Ledger, logger: Logger) {
    self.list = list
    self.ledger = ledger
    self.logger = logger
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted = event as? TLSUserEvent { answer(context) }
    context.fireUserInboundEventTriggered(event)
  }

  /// Nobody has anything to say to this service.
  func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if ConnectionEnd.log(error, to: logger) { ledger.refuse() }
    context.close(promise: nil)
  }

  private func answer(_ context: ChannelHandlerContext) {
    let entries = list.takeAll()
    ledger.answerFeedback(entries.count)
    logger.info("tuples sent: \(entries.count)")
    var record = context.channel.allocator.buffer(capacity: Self.recordSize)
    for entry in entries {
      entry.token.withUnsafeBytes { token in
        let tuple = FeedbackTuple(timestamp: entry.timestamp, token: token)
        guard let size = tuple.size else { return }
        if record.readableBytes > 0, record.readableBytes + size > Self.recordSize {
          context.write(wrapOutboundOut(record), promise: nil)
          record = context.channel.allocator.buffer(capacity: Self.recordSize)
        }
        record.writeWithUnsafeMutableBytes(minimumWritableBytes: size) { room in
          guard let base = room.baseAddress else { return 0 }
          tuple.encode(into: base)
          return size
        }
      }
    }
    if record.readableBytes > 0 { context.write(wrapOutboundOut(record), promise: nil) }
    context.flush()
    GentleClose.begin(context.channel, after: GentleClose.pause)
  }
}
