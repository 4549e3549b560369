import Synchronization

/// The workers of a process share their looks for workers that are gone: a look serves all apps, and
/// costs as much as there are workers. After one, none begins for many times as long as it took.
final class ReclaimPace: Sendable {
  private static let share: Int64 = 20
  private static let longestUS: Int64 = 2_000_000

  /// When the next one may begin (monotonic).
  private let next = Mutex<Int64>(0)

  /// Returns the number of entries that were reclaimed; 0 while the workers rest.
  func run(_ reclaim: () throws -> Int) rethrows -> Int {
    let began = RelayClock.monotonicMicroseconds
    let isDue = next.withLock { next in
      guard began >= next else { return false }
      next = .max
      return true
    }
    guard isDue else { return 0 }
    defer {
      let end = RelayClock.monotonicMicroseconds
      next.withLock { $0 = end + min(Self.share * (end - began), Self.longestUS) }
    }
    return try reclaim()
  }
}
