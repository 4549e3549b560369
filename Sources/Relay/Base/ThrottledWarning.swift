import Synchronization

/// Limits a warning with the same text to one a minute.
final class ThrottledWarning: Sendable {
  private static let pauseMS: Int64 = 60_000
  private let last = Mutex<(text: String, at: Int64, isOpen: Bool)?>(nil)

  /// True if the warning is due now.
  func isDue(_ text: String) -> Bool {
    let now = RelayClock.monotonic
    return last.withLock { last in
      if let said = last, said.text == text, now - said.at < Self.pauseMS { return false }
      last = (text, now, true)
      return true
    }
  }

  /// Call it once everything works again. True if a warning was logged, so that its end can be
  /// logged too.
  func isOver() -> Bool {
    last.withLock { last in
      defer { last?.isOpen = false }
      return last?.isOpen ?? false
    }
  }
}
