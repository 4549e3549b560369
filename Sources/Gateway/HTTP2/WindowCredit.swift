/// How much of a window was used since credit for it was given.
struct WindowCredit {
  private var used = 0

  /// What is to be given back now, 0 where it is not yet time: once that share of the window
  /// is used.
  mutating func use(_ count: Int, of window: Int, share: Double) -> Int {
    used += count
    guard used > 0, used >= Int(Double(window) * share) else { return 0 }
    defer { used = 0 }
    return used
  }

  /// A window smaller than the one the protocol begins with: so much less is given back.
  mutating func withhold(_ count: Int) { used -= count }
}
