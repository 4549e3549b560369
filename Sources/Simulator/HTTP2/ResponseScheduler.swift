import NIOCore
import NIOHTTP2

/// Decides when a connection's responses are sent: immediately, late, together for one read, or in
/// batches.
final class ResponseScheduler {
  private let faults: ConnectionFaults
  private unowned let sender: PushHandler
  private var due: [(HTTP2StreamID, PushResponse)] = []
  private var delayed = 0
  private var isBatchTimed = false
  /// The responses to a read are sent at its end.
  var isReading = false

  init(faults: ConnectionFaults, sender: PushHandler) {
    self.faults = faults
    self.sender = sender
  }

  var isEmpty: Bool { due.isEmpty && delayed == 0 }

  func forget() {
    due = []
    delayed = 0
  }

  /// `delay` is nil if the faults determine it.
  func add(
    _ response: PushResponse, on id: HTTP2StreamID, after delay: TimeAmount?,
    _ context: ChannelHandlerContext
  ) {
    let delay = delay ?? faults.answerDelay()
    if delay == .zero {
      due.append((id, response))
      if !isReading || faults.faults.answers == .batch { schedule(context) }
      return
    }
    delayed += 1
    // Also retains the sender.
    context.eventLoop.assumeIsolated().scheduleTask(in: delay) { [self, sender] in
      guard sender.canRespond else { return }
      delayed -= 1
      due.append((id, response))
      schedule(context)
    }
  }

  func endRead(_ context: ChannelHandlerContext) {
    isReading = false
    if faults.faults.answers != .batch { sendAll(context) }
  }

  private func schedule(_ context: ChannelHandlerContext) {
    if faults.faults.answers != .batch {
      if !isReading {
        sendAll(context)
        sender.closeIfDone(context)
      }
    } else if !isBatchTimed {
      isBatchTimed = true
      let time = Int64(faults.faults.answerBatchTime ?? 20)
      context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(time)) { [self, sender] in
        isBatchTimed = false
        guard sender.canRespond else { return }
        sendAll(context)
        sender.closeIfDone(context)
      }
    }
  }

  /// Sends in stream order, in which NIO finds streams fastest. A client that opens many streams
  /// together may end them in any order.
  func sendAll(_ context: ChannelHandlerContext) {
    if due.isEmpty { return }
    var responses = due
    due.removeAll()
    responses.sort { $0.0 < $1.0 }
    sender.send(responses, context)
  }
}
