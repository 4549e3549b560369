import NIOCore
import NIOHTTP2

/// Whose answers `AnswerScheduler` keeps.
protocol AnswerSender: AnyObject {
  /// Answers may still leave.
  var isAnswering: Bool { get }
  func send(_ answers: [(HTTP2StreamID, PushAnswer)], _ context: ChannelHandlerContext)
  /// Answers left outside of a read.
  func sentLate(_ context: ChannelHandlerContext)
}

/// Decides when the answers of one connection leave: at once, late, together with those to the
/// same read, or in batches.
final class AnswerScheduler {
  private let faults: ConnectionFaults
  private unowned let sender: any AnswerSender
  private var due: [(HTTP2StreamID, PushAnswer)] = []
  /// How many wait for their delay to pass.
  private var delayed = 0
  private var isBatchTimed = false
  /// The answers to one read leave when it ends.
  var isReading = false

  init(faults: ConnectionFaults, sender: any AnswerSender) {
    self.faults = faults
    self.sender = sender
  }

  var isEmpty: Bool { due.isEmpty && delayed == 0 }

  func forget() {
    due = []
    delayed = 0
  }

  func add(_ answer: PushAnswer, on id: HTTP2StreamID, _ context: ChannelHandlerContext) {
    let delay = faults.answerDelay()
    if delay == .zero {
      due.append((id, answer))
      if !isReading || faults.faults.answers == .batch { schedule(context) }
      return
    }
    delayed += 1
    // Also keeps the sender.
    let bound = NIOLoopBound((self, sender, context), eventLoop: context.eventLoop)
    context.eventLoop.scheduleTask(in: delay) {
      let (me, sender, context) = bound.value
      guard sender.isAnswering else { return }
      me.delayed -= 1
      me.due.append((id, answer))
      me.schedule(context)
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
        sender.sentLate(context)
      }
    } else if !isBatchTimed {
      isBatchTimed = true
      let time = Int64(faults.faults.answerBatchTime ?? 20)
      let bound = NIOLoopBound((self, sender, context), eventLoop: context.eventLoop)
      context.eventLoop.scheduleTask(in: .milliseconds(time)) {
        let (me, sender, context) = bound.value
        me.isBatchTimed = false
        guard sender.isAnswering else { return }
        me.sendAll(context)
        sender.sentLate(context)
      }
    }
  }

  /// Sends in stream order, in which HTTP/2 finds streams fastest. A client that opens many streams
  /// together may end them in any order.
  func sendAll(_ context: ChannelHandlerContext) {
    if due.isEmpty { return }
    var answers = due
    due.removeAll()
    answers.sort { $0.0 < $1.0 }
    sender.send(answers, context)
  }
}
