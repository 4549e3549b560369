import Synchronization

/// A warning that would come again and again is said once a minute.
final class ThrottledWarning: Sendable {
  private static let pauseMS: Int64 = 60_000
  private let last = Mutex<(text: String, at: Int64, isOpen: Bool)?>(nil)

  /// Whether it is to be said now.
  func isDue(_ text: String) -> Bool {
    let now = RelayClock.steady
    return last.withLock { last in
      if let said = last, said.text == text, now - said.at < Self.pauseMS { return false }
      last = (text, now, true)
      return true
    }
  }

  /// What it warned of is over: whether that is to be said.
  func isOver() -> Bool {
    last.withLock { last in
      defer { last?.isOpen = false }
      return last?.isOpen ?? false
    }
  }
}
