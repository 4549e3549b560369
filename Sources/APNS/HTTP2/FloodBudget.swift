/// How many bytes a peer may send that answer nothing.
///
/// A service sends a few of those: SETTINGS, PINGs, windows, the header fields of its answers. A
/// peer that sends nothing else would make the session read forever. So there is a budget, which
/// time, answers and what is written refill; a peer that exceeds it is given up.
struct FloodBudget {
  static let most: Int64 = 1 << 20
  private static let perSecond: Int64 = 64 << 10
  /// An answer of APNs takes a few hundred bytes.
  private static let perAnswer: Int64 = 4 << 10
  /// The windows of connection and stream may both be opened anew for each part of a payload, in
  /// frames of 13 bytes.
  private static let perPart: Int64 = 32

  private var left = Self.most
  private var since: Nanoseconds

  init(at now: Nanoseconds) { since = now }

  /// So many bytes came, and so many answers with them, after so many parts of payloads were
  /// written; false when that is too much.
  mutating func take(_ bytes: Int, answers: UInt64, parts: UInt64, at now: Nanoseconds) -> Bool {
    // The budget is never more than full, however long the silence was.
    let span = min(max(now &- since, 0), 60_000_000_000)
    since = now
    let earned =
      span &* Self.perSecond / 1_000_000_000
      &+ Int64(truncatingIfNeeded: min(answers, 1 << 20)) &* Self.perAnswer
      &+ Int64(truncatingIfNeeded: min(parts, 1 << 20)) &* Self.perPart
    left = min(left &+ earned, Self.most) &- Int64(bytes)
    return left >= 0
  }
}
