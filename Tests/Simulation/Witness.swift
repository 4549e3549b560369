import CAPNS

/// A world that knows what has to come of the calls, and judges by it.
protocol Witness: Stage {
  /// How many of them a run makes before its last ones.
  var actions: Int { get }
  /// Notifications that the session has taken, and whether there is room for no other.
  var taken: Int { get }
  var isFull: Bool { get }
  /// Of how many the caller was told the end; whether it was of this one's.
  var told: Int { get }
  func isTold(_ number: Int) -> Bool
  /// The peer has accepted it; and nothing the session has read says otherwise.
  func wasAccepted(_ number: Int) -> Bool
  func checkAccepted(_ number: Int)
  /// What it knows of the session's counts beyond what holds for any.
  func checkOwn(_ stats: apns_session_stats_t)
}

extension Witness {
  var reportsAccepted: Bool { given.report_accepted != 0 }

  func check(_ stats: apns_session_stats_t) {
    equal(stats.taken, taken, "taken")
    equal(
      stats.accepted + stats.rejected + stats.unknown + stats.unresolved, taken,
      "accepted, rejected, unknown and unresolved together")
    equal(stats.connects, counts.connects, "connects")
    equal(stats.bytes, counts.bytes, "bytes")
    equal(stats.records, counts.records, "records")
    let reported = reportsAccepted ? stats.accepted : 0
    equal(stats.events, Int(reported + stats.rejected + stats.unknown) - told, "events")
    checkOwn(stats)
  }

  @inline(__always)
  func equal(_ told: UInt64, _ known: Int, _ what: StaticString) {
    if told != UInt64(known) { violate("stats: \(what) is \(told), not \(known)") }
  }

  /// All is over and told: each has exactly one end.
  func checkEnds(accepted: Int) {
    var silent = 0
    for number in 0..<taken where !isTold(number) {
      silent += 1
      if reportsAccepted { violate("\(number) has no end") }
      if !wasAccepted(number) { violate("\(number) is lost") }
      checkAccepted(number)
    }
    if !reportsAccepted, silent != accepted {
      violate("\(accepted) are counted as accepted, and \(silent) have no other end")
    }
  }
}
