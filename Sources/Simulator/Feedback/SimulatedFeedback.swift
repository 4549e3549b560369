import BinaryServer
import Logging
import NIOCore

/// One connection to the simulator's feedback service, with its faults.
final class SimulatedFeedback: FeedbackDelegate {
  private let list: FeedbackList
  private let faults: ConnectionFaults
  private let ledger: Ledger
  private let logger: Logger
  private var isCut = false

  init(list: FeedbackList, faults: ConnectionFaults, ledger: Ledger, logger: Logger) {
    self.list = list
    self.faults = faults
    self.ledger = ledger
    self.logger = logger
  }

  func takeEntries(_ context: ChannelHandlerContext) -> EventLoopFuture<[FeedbackEntry]> {
    let entries = list.takeAll()
    ledger.answerFeedback(entries.count)
    return context.eventLoop.makeSucceededFuture(entries)
  }

  /// Truncates the list to the bytes that the faults allow.
  func willSend(_ records: inout [ByteBuffer]) {
    guard var left = faults.faults.feedbackCut else { return }
    for index in records.indices {
      let size = records[index].readableBytes
      if size > left { isCut = true }
      records[index] = records[index].readSlice(length: min(size, left)) ?? ByteBuffer()
      left -= min(size, left)
    }
    records.removeAll { $0.readableBytes == 0 }
    if isCut { logger.info("the feedback was truncated") }
  }

  func close(_ channel: any Channel) {
    GracefulClose.begin(
      channel, after: GracefulClose.pause, fault: isCut ? faults.faults.cutEnding : .closeNotify)
  }

  func handshakeFailed() { ledger.refuse() }
}
