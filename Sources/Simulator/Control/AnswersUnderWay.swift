import Dispatch
import NIOCore

/// Answers that are not ready yet. They come back to an event loop, which has to be there.
final class AnswersUnderWay: Sendable {
  private let group = DispatchGroup()

  func add(_ answer: EventLoopFuture<ControlService.Answer>) {
    group.enter()
    answer.whenComplete { _ in self.group.leave() }
  }

  /// Comes back when there are none.
  func end() async {
    await withCheckedContinuation { continuation in
      group.notify(queue: .global()) { continuation.resume() }
    }
  }
}
