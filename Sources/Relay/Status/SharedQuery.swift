import Foundation
import NIOPosix

/// Runs one query of the queue at a time and shares its result among all callers. The wait is
/// limited, and a blocked queue occupies only one thread. A query that rests is repeated only after
/// a time, so that it takes at most a small share of any thread, however long it is.
final class SharedQuery<Value>: @unchecked Sendable {
  private static var patience: TimeInterval { 4 }

  private let restMS: Int64
  private let share: Int64
  private let query: @Sendable () -> Value
  /// Separate, because all shared threads of the process may be blocked by the queue.
  private let worker = NIOThreadPool(numberOfThreads: 1)
  private let change = NSCondition()
  // Guarded by `change`.
  private var began: Int64?
  private var count = 0
  private var last: Value?
  private var nextAt: Int64 = 0

  /// The result is used again for `restMS`, and for `share` times as long as the query took.
  init(restMS: Int64 = 0, share: Int64 = 0, _ query: @escaping @Sendable () -> Value) {
    (self.restMS, self.share, self.query) = (restMS, share, query)
    worker.start()
  }

  deinit { worker.shutdownGracefully { _ in } }

  /// The last result, without a wait; nil before the first one. Begins a query if it is time.
  func latest() -> Value? {
    change.withLock {
      begin()
      return last
    }
  }

  /// The queue has changed: a call in half a second may begin a query, though the last one rests.
  func hasten() {
    change.withLock { nextAt = min(nextAt, RelayClock.monotonic + 500) }
  }

  /// Begins a query if none runs and the last one has rested. Requires `change`.
  private func begin() {
    let now = RelayClock.monotonic
    guard began == nil, now >= nextAt else { return }
    began = now
    worker.submit { [self] _ in
      let result = query()
      let end = RelayClock.monotonic
      change.withLock {
        last = result
        count += 1
        nextAt = end + (share > 0 ? max(restMS, share * (end - now)) : restMS)
        began = nil
        change.broadcast()
      }
    }
  }

  /// The result, or the milliseconds for which the query has been running.
  func get() -> (result: Value?, silentMS: Int64) {
    let limit = Date(timeIntervalSinceNow: Self.patience)
    change.lock()
    defer { change.unlock() }
    begin()
    guard began != nil else { return (last, 0) }
    let before = count
    while count == before {
      guard change.wait(until: limit) else { break }
    }
    if count > before { return (last, 0) }
    return (nil, began.map { RelayClock.monotonic - $0 } ?? 0)
  }
}
