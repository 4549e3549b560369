/// Lets answers that come one by one pile up: a wait and a read for each costs more than everything
/// else about a notification.
struct ReadDelay {
  private var since: Nanoseconds = 0
  private var responded: UInt64 = 0

  /// How long to leave responses unread before the next wait: at the recent pace, until there are
  /// 32, or a 32nd of those in flight, which leaves the server enough to do. 0 if that is not worth
  /// a system call.
  mutating func pause(inFlight: Int, responses total: UInt64, at now: Nanoseconds) -> Nanoseconds {
    let (span, responses) = (now &- since, total &- responded)
    (since, responded) = (now, total)
    // Answers that already come many at a time need no delay.
    guard let responses = Int64(exactly: responses), responses > 0, responses <= inFlight / 8 else {
      return 0
    }
    let gap = span / responses
    guard gap > 0, gap <= Self.maximum / 4 else { return 0 }
    let pause = min(gap &* Int64(min(inFlight / 32, 32)), Self.maximum)
    return pause >= max(4 &* gap, 50_000) ? pause : 0
  }

  /// A longer delay would cost throughput when the number of streams is the limit.
  private static var maximum: Nanoseconds { 300_000 }
}
