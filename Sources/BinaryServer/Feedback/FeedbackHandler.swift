import APNS
import Logging
import NIOCore
import NIOTLS

/// A server's decisions about a connection to its feedback service.
package protocol FeedbackDelegate: AnyObject {
  /// The list for this client. If the future fails, the connection is closed without a list.
  func takeEntries(_ context: ChannelHandlerContext) -> EventLoopFuture<[FeedbackEntry]>
  /// May change the data, which has one buffer for each TLS record.
  func willSend(_ records: inout [ByteBuffer])
  /// The whole list is in the socket buffer, or the connection has ended.
  func close(_ channel: any Channel)
  func handshakeFailed()
}

extension FeedbackDelegate {
  package func willSend(_ records: inout [ByteBuffer]) {}

  package func close(_ channel: any Channel) {
    GracefulClose.begin(channel, after: GracefulClose.pause)
  }
}

/// Sends a provider the list of gone devices, then closes.
package final class FeedbackHandler: ChannelInboundHandler {
  package typealias InboundIn = ByteBuffer
  package typealias OutboundOut = ByteBuffer

  /// The maximum size of a TLS record. Legacy clients cannot parse a tuple that spans two records.
  private static let recordSize = 16384

  /// How long a client may take to read the list.
  private static let timeout = TimeAmount.seconds(30)

  private let delegate: any FeedbackDelegate
  private let logger: Logger

  package init(delegate: any FeedbackDelegate, logger: Logger) {
    self.delegate = delegate
    self.logger = logger
  }

  package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted = event as? TLSUserEvent {
      delegate.takeEntries(context).assumeIsolated().whenComplete { [self] taken in
        switch taken {
        case .success(let entries): answer(entries, context)
        case .failure: GracefulClose.begin(context.channel, after: .zero)
        }
      }
    }
    context.fireUserInboundEventTriggered(event)
  }

  /// Discards input, which the protocol does not have.
  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

  package func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if ConnectionErrors.log(error, to: logger) { delegate.handshakeFailed() }
    // A client that half-closed may still read the list.
    if !ConnectionErrors.isHalfClose(error) { context.close(promise: nil) }
  }

  private func answer(_ entries: [FeedbackEntry], _ context: ChannelHandlerContext) {
    logger.info("tuples sent: \(entries.count)")
    var records = records(of: entries, context.channel.allocator)
    delegate.willSend(&records)
    let written = context.eventLoop.makePromise(of: Void.self)
    for record in records { context.write(wrapOutboundOut(record), promise: nil) }
    context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
    let (channel, delegate) = (context.channel, delegate)
    // Closes a client that never reads.
    let deadline = context.eventLoop.scheduleTask(in: Self.timeout) {
      channel.close(promise: nil)
    }
    written.futureResult.assumeIsolated().whenComplete { _ in
      deadline.cancel()
      delegate.close(channel)
    }
  }

  private func records(
    of entries: [FeedbackEntry], _ allocator: ByteBufferAllocator
  ) -> [ByteBuffer] {
    var records = [allocator.buffer(capacity: Self.recordSize)]
    for entry in entries {
      entry.token.withUnsafeBytes { token in
        let tuple = FeedbackTuple(timestamp: entry.timestamp, token: token)
        guard let size = tuple.size else { return }
        if records[records.count - 1].readableBytes + size > Self.recordSize {
          records.append(allocator.buffer(capacity: Self.recordSize))
        }
        records[records.count - 1].writeWithUnsafeMutableBytes(minimumWritableBytes: size) {
          guard let base = $0.baseAddress else { return 0 }
          tuple.encode(into: base)
          return size
        }
      }
    }
    return records
  }
}
