/// How many bytes a peer may send that are not part of a response.
///
/// APNs sends a few of those: SETTINGS, PINGs, window updates, the header fields of its responses.
/// A peer that sends nothing else would make the session read forever. So there is a budget,
/// refilled by time, responses and writes; a peer that exceeds it is abandoned.
struct FloodBudget {
  static let maximum: Int64 = 1 << 20
  private static let perSecond: Int64 = 64 << 10
  /// A response of APNs takes a few hundred bytes.
  private static let perResponse: Int64 = 4 << 10
  /// The peer may send window updates for the connection and the stream after each part of a
  /// payload, in frames of 13 bytes.
  private static let perPart: Int64 = 32

  private var left = Self.maximum
  private var since: Nanoseconds

  init(at now: Nanoseconds) { since = now }

  /// `bytes` bytes came with `responses` responses, after `parts` parts of payloads were written;
  /// false if that is too much.
  mutating func take(_ bytes: Int, responses: UInt64, parts: UInt64, at now: Nanoseconds) -> Bool {
    // The budget is never more than full, however long the silence was.
    let span = min(max(now &- since, 0), 60_000_000_000)
    since = now
    let earned =
      span &* Self.perSecond / 1_000_000_000
      &+ Int64(truncatingIfNeeded: min(responses, 1 << 20)) &* Self.perResponse
      &+ Int64(truncatingIfNeeded: min(parts, 1 << 20)) &* Self.perPart
    left = min(left &+ earned, Self.maximum) &- Int64(bytes)
    return left >= 0
  }
}
