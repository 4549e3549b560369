import Synchronization

/// Limits a warning with the same text to one a minute.
final class ThrottledWarning: Sendable {
  private static let pauseMS: Int64 = 60_000
  private let last = Mutex<(text: String, at: Int64, isOpen: Bool)?>(nil)

  /// True: log it now.
  func isDue(_ text: String) -> Bool {
    let now = RelayClock.steady
    return last.withLock { last in
      if let said = last, said.text == text, now - said.at < Self.pauseMS { return false }
      last = (text, now, true)
      return true
    }
  }

  /// Call this when all works again. True: somebody was warned, so log that too.
  func isOver() -> Bool {
    last.withLock { last in
      defer { last?.isOpen = false }
      return last?.isOpen ?? false
    }
  }
}
