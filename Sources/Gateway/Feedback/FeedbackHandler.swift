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

  /// How long a client may take to read the list.
  private static let patience = TimeAmount.seconds(30)

  private let list: FeedbackList
  private let faults: ConnectionFaults
  private let ledger: Ledger
  private let logger: Logger

  init(list: FeedbackList, faults: ConnectionFaults, ledger: Ledger, logger: Logger) {
    self.list = list
    self.faults = faults
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
    // What there is to tell is told all the same.
    if !ConnectionEnd.isHalf(error) { context.close(promise: nil) }
  }

  private func answer(_ context: ChannelHandlerContext) {
    let entries = list.takeAll()
    ledger.answerFeedback(entries.count)
    logger.info("tuples sent: \(entries.count)")
    var records = records(of: entries, context.channel.allocator)
    let isCut = cut(&records)
    // TLS demands nothing: whoever never reads is let go all the same.
    let written = context.eventLoop.makePromise(of: Void.self)
    for record in records { context.write(wrapOutboundOut(record), promise: nil) }
    context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
    let ending = isCut ? faults.faults.cutEnding : .closeNotify
    let channel = context.channel
    let patience = context.eventLoop.scheduleTask(in: Self.patience) {
      channel.close(promise: nil)
    }
    written.futureResult.whenComplete { _ in
      patience.cancel()
      GentleClose.begin(channel, after: GentleClose.pause, ending: ending)
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

  /// Leaves no more than the faults allow; true where something was taken away.
  private func cut(_ records: inout [ByteBuffer]) -> Bool {
    guard var left = faults.faults.feedbackCut else { return false }
    var isCut = false
    for index in records.indices {
      let size = records[index].readableBytes
      if size > left { isCut = true }
      records[index] = records[index].readSlice(length: min(size, left)) ?? ByteBuffer()
      left -= min(size, left)
    }
    records.removeAll { $0.readableBytes == 0 }
    if isCut { logger.info("the feedback is cut off") }
    return isCut
  }
}
