/// The used part of a flow-control window for which no credit was given yet.
struct WindowCredit {
  private var used = 0

  /// The credit to give now: everything used, if that is at least `share` of the window; otherwise
  /// 0.
  mutating func use(_ count: Int, of window: Int, share: Double) -> Int {
    used += count
    guard used > 0, used >= Int(Double(window) * share) else { return 0 }
    defer { used = 0 }
    return used
  }

  /// Reduces the credit by this much, for a window smaller than the protocol's initial one.
  mutating func withhold(_ count: Int) { used -= count }
}

/// Finds the bytes that NIO took from the connection's window without passing them on, such as data
/// of streams that were reset. They need credit too.
struct WindowUse {
  /// The rest of the window according to NIO.
  var left = PushSettings.window
  private var granted = PushSettings.window
  private var used = 0

  /// NIO reports the window when it shrinks, not when credit is given.
  mutating func grant(_ count: Int) {
    granted += count
    left += count
  }

  mutating func count(_ size: Int) { used += size }

  /// The bytes found since the last call.
  mutating func takeIgnored() -> Int {
    let ignored = granted - left - used
    used += ignored
    return ignored
  }
}
