import Foundation
import Synchronization

/// What other threads request of a worker, and what they see of it.
final class WorkerControl: Sendable {
  struct Requests {
    var credentials: RelayCredentials?
    /// When to abandon what is in flight (monotonic); nil while the worker is not stopping.
    var drainUntil: Int64?
    /// Entries were just added to the queue.
    var isNews = false
  }

  struct Shown {
    var hasEnded = false
    /// The number of outcomes that were not recorded before it ended.
    var lostOutcomes = 0
    var figures = WorkerFigures()
  }

  let shown = Mutex(Shown())
  private let requests = Mutex(Requests())
  private let ended = DispatchSemaphore(value: 0)

  func request(_ change: (inout Requests) -> Void) { requests.withLock { change(&$0) } }
  func wait() { ended.wait() }

  /// False if the worker has not heard the last news yet.
  func addNews() -> Bool {
    requests.withLock { requests in
      defer { requests.isNews = true }
      return !requests.isNews
    }
  }

  // MARK: Calls from the worker's thread

  /// The requests since the last call.
  func take() -> Requests {
    requests.withLock { requests in
      defer { (requests.credentials, requests.isNews) = (nil, false) }
      return requests
    }
  }

  /// Whether there are requests after those that told it to drain until this time.
  func hasMore(than drainUntil: Int64?) -> Bool {
    requests.withLock { $0.isNews || $0.credentials != nil || $0.drainUntil != drainUntil }
  }

  var isDraining: Bool { requests.withLock { $0.drainUntil != nil } }

  func end() {
    shown.withLock { $0.hasEnded = true }
    ended.signal()
  }
}
