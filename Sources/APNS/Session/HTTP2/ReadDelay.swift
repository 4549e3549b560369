/// Lets answers gather that come one by one: to wait and to read for each by itself costs
/// more than all the rest of a notification.
struct ReadDelay {
  private var since: Nanoseconds = 0
  private var answered: UInt64 = 0

  /// How many ns to leave the answers alone before the wait that begins now: at the pace
  /// of late, until 32 are there, or a 32nd of what is in flight, which leaves the service
  /// enough to do. 0 where that is not worth a call.
  mutating func pause(inFlight: Int, answers total: UInt64, at now: Nanoseconds) -> Nanoseconds {
    let (span, answers) = (now &- since, total &- answered)
    (since, answered) = (now, total)
    // Those that come many at a time are no work as they are.
    guard let answers = Int64(exactly: answers), answers > 0, answers <= inFlight / 8 else {
      return 0
    }
    let gap = span / answers
    guard gap > 0, gap <= Self.longest / 4 else { return 0 }
    let pause = min(gap &* Int64(min(inFlight / 32, 32)), Self.longest)
    return pause >= max(4 &* gap, 50_000) ? pause : 0
  }

  /// Longer ones would cost throughput where streams are what limits it.
  private static var longest: Nanoseconds { 300_000 }
}
