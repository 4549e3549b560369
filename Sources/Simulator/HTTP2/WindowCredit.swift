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

/// What HTTP/2 here took of the connection's window without passing it on, as it does with the
/// data of streams that were reset: credit for it has to be given all the same.
struct WindowUse {
  /// Of the window, by HTTP/2's own account.
  var left = PushSettings.window
  private var granted = PushSettings.window
  private var used = 0

  /// HTTP/2 tells the window again once something is taken of it, not when credit is given.
  mutating func grant(_ count: Int) {
    granted += count
    left += count
  }

  mutating func count(_ size: Int) { used += size }

  /// How much that was since this was asked last.
  mutating func takeIgnored() -> Int {
    let ignored = granted - left - used
    used += ignored
    return ignored
  }
}
