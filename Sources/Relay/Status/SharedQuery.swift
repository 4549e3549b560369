import Foundation

/// Runs one query of the queue at a time and shares its result among all callers. The wait is
/// limited, and a blocked queue occupies only one thread.
final class SharedQuery<Value>: @unchecked Sendable {
  private static var patience: TimeInterval { 4 }

  private let query: @Sendable () -> Value
  private let worker = StatusWorkers(1)
  private let change = NSCondition()
  // Guarded by `change`.
  private var began: Int64?
  private var count = 0
  private var last: Value?

  init(_ query: @escaping @Sendable () -> Value) { self.query = query }

  /// The result, or the milliseconds for which the query has been running.
  func get() -> (result: Value?, silentMS: Int64) {
    let limit = Date(timeIntervalSinceNow: Self.patience)
    change.lock()
    defer { change.unlock() }
    if began == nil {
      began = RelayClock.monotonic
      worker.add { [self] in
        let result = query()
        change.lock()
        last = result
        count += 1
        began = nil
        change.broadcast()
        change.unlock()
      }
    }
    let before = count
    while count == before {
      guard change.wait(until: limit) else { break }
    }
    if count > before { return (last, 0) }
    return (nil, began.map { RelayClock.monotonic - $0 } ?? 0)
  }
}
