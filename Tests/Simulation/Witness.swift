import CAPNS

/// A world that knows the right result of every call and checks it.
protocol Witness: Stage {
  /// How many actions a run makes before its final ones.
  var actions: Int { get }
  /// Notifications that the session has taken, and whether there is no room for another.
  var taken: Int { get }
  var isFull: Bool { get }
  /// How many outcomes the caller was told, and whether this notification's was among them.
  var told: Int { get }
  func isTold(_ number: Int) -> Bool
  /// Whether the peer accepted it; and a check that nothing the session has read
  /// contradicts that.
  func wasAccepted(_ number: Int) -> Bool
  func checkAccepted(_ number: Int)
  /// Checks the session's counts beyond what holds for every protocol.
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

  /// Everything is over and told: checks that each notification has exactly one outcome.
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
