import Dispatch
import NIOCore

/// Responses that are not ready yet. They need their event loop, so it must outlive them.
final class PendingResponses: Sendable {
  private let group = DispatchGroup()

  func add(_ response: EventLoopFuture<ControlService.Response>) {
    group.enter()
    response.whenComplete { _ in self.group.leave() }
  }

  /// Returns when all are written.
  func end() async {
    await withCheckedContinuation { continuation in
      group.notify(queue: .global()) { continuation.resume() }
    }
  }
}
