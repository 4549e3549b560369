import Dispatch
import NIOCore

/// Answers that are not ready yet. They need their event loop, so it must not end before them.
final class AnswersUnderWay: Sendable {
  private let group = DispatchGroup()

  func add(_ answer: EventLoopFuture<ControlService.Answer>) {
    group.enter()
    answer.whenComplete { _ in self.group.leave() }
  }

  /// Returns when all are written.
  func end() async {
    await withCheckedContinuation { continuation in
      group.notify(queue: .global()) { continuation.resume() }
    }
  }
}
