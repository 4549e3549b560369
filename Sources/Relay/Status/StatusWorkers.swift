import Foundation

/// Separate threads that prepare responses, because all shared threads of the process may be
/// blocked by the queue.
final class StatusWorkers: @unchecked Sendable {
  private let change = NSCondition()
  /// Guarded by `change`.
  private var waiting: [@Sendable () -> Void] = []

  init(_ count: Int) {
    for _ in 0..<count {
      let thread = Thread { [self] in
        while true { next()() }
      }
      thread.name = "status"
      thread.stackSize = 1 << 19
      thread.start()
    }
  }

  func add(_ work: @escaping @Sendable () -> Void) {
    change.lock()
    waiting.append(work)
    change.signal()
    change.unlock()
  }

  private func next() -> @Sendable () -> Void {
    change.lock()
    defer { change.unlock() }
    while waiting.isEmpty { change.wait() }
    return waiting.removeFirst()
  }
}
