import CAPNS

/// A world that knows the right result of every call and checks it.
protocol Witness: Stage {
  /// How many actions a run makes before its final ones.
  var actions: Int { get }
  /// Notifications that the session has taken, and whether there is no room for another.
  var taken: Int { get }
  var isFull: Bool { get }
  /// How many outcomes the session reported, and whether this notification's was among them.
  var told: Int { get }
  func isTold(_ number: Int) -> Bool
  var toldAccepted: Int { get }
  /// Whether the peer accepted it; and a check that nothing the session has read
  /// contradicts that.
  func wasAccepted(_ number: Int) -> Bool
  func checkAccepted(_ number: Int)
  /// Whether the session, once it has an outcome, may count it as accepted, or can only do so.
  func mayBeAccepted(_ number: Int) -> Bool
  func hasToBeAccepted(_ number: Int) -> Bool
  /// The outcome of an accepted one has given way.
  func noteForgotten(_ number: Int)
  /// The session is being given other credentials.
  func noteRenewal()
  /// The notification is being cancelled.
  func noteCancelling(_ number: Int)
  func identifier(_ number: Int) -> UInt32
  /// The maximum number of notifications that were given to TLS and not written in full.
  var offered: Int { get }
  /// The connection that is open, if no other is; nil: none or several.
  var onlyLine: Int? { get }
  /// A call is over in which something ended as unknown, and that was the connection.
  func checkHeard(_ line: Int?)
  /// The program's event loop waits.
  func waitForDescriptor(until time: Int64) -> Bool
  var hasSomethingToDo: Bool { get }
  var isAnyReady: Bool { get }
  /// The resource the session waits for may be available already, and only the session asks.
  var mayAskAgain: Bool { get }
  /// Checks the session's counts beyond what holds for every protocol.
  func checkOwn(_ stats: apns_session_stats_t)
  /// Responses that the session may have read in full; nil: the protocol lacks them.
  var answersRead: Int? { get }
}

extension Witness {
  var mayAskAgain: Bool { false }
  var reportsAccepted: Bool { outcomes != APNS_OUTCOMES_FAILURES }
  func noteForgotten(_ number: Int) {}

  /// `open` are the notifications that a push reported as unknown and that are unresolved.
  func check(_ stats: apns_session_stats_t, open: [Int]) {
    equal(stats.taken, taken, "taken")
    equal(
      stats.accepted + stats.rejected + stats.unknown + stats.cancelled + stats.expired
        + stats.unresolved, taken,
      "accepted, rejected, unknown, cancelled, expired and unresolved together")
    equal(stats.connects, counts.connects, "connects")
    equal(stats.bytes, counts.bytes, "bytes")
    equal(stats.records, counts.records, "records")
    let reported = reportsAccepted ? Int(stats.accepted) : toldAccepted
    let ended = reported + Int(stats.rejected + stats.unknown + stats.cancelled + stats.expired)
    // The outcomes of notifications reported early have no events, and some of them were accepted.
    let late = reportsAccepted ? 0...0 : lateAccepted(but: open)
    let known = ended - (told - open.count) - forgotten
    if !late.contains(Int(stats.events) - known) {
      violate("stats: events is \(stats.events), not \(known) and \(late)")
    }
    equal(stats.forgotten, forgotten, "forgotten")
    checkOwn(stats)
  }

  /// Metrics that do not add up with the counts, or with what the peer knows.
  func check(_ metrics: UnsafePointer<apns_session_metrics_t>, _ stats: apns_session_stats_t) {
    let sent = metrics.pointee
    let answers = Self.sum(sent.times)
    let rejections = Self.sum(sent.rejected_reasons) + Self.sum(sent.rejects)
    equal(sent.responses, Int(answers), "responses")
    equal(rejections, Int(stats.rejected), "rejected by reason")
    equal(sent.bytes_written, Int(stats.bytes), "bytes written")
    let again = sent.retries_asked + sent.resends_in_doubt + sent.resends_unprocessed
    if again < stats.resent {
      violate("metrics: \(again) to be sent again, \(stats.resent) resent")
    }
    guard let read = answersRead else { return }
    // A response that came before its request was whole counts when the request is whole.
    if answers > read { violate("metrics: \(answers) answers, and \(read) were read") }
    equal(Self.sum(sent.classes), Int(answers), "answers by class")
    equal(Self.sum(sent.reasons), Int(answers - stats.accepted), "answers by reason")
    // A notification whose deadline came before its retry ended as rejected by the earlier
    // response.
    let ended = stats.accepted + stats.rejected + sent.retries_asked
    if ended < answers || ended - answers > (hasDeadlines ? stats.rejected : 0) {
      violate("metrics: \(ended) accepted, rejected and tried again, of \(answers) answers")
    }
  }

  private static func sum<Places>(_ places: Places) -> UInt64 {
    withUnsafeBytes(of: places) { $0.bindMemory(to: UInt64.self).reduce(0, &+) }
  }

  @inline(__always)
  func equal(_ told: UInt64, _ known: Int, _ what: StaticString) {
    if told != UInt64(known) { violate("stats: \(what) is \(told), not \(known)") }
  }

  /// Everything is over and reported: checks that each notification has exactly one outcome.
  func checkEnds(accepted: Int) {
    var silent = 0
    for number in 0..<taken where !isTold(number) {
      silent += 1
      if isReleasing ? userData[number].place != .released : reportsAccepted {
        violate("\(number) has no end")
      }
      if !wasAccepted(number) { violate("\(number) is lost") }
      checkAccepted(number)
    }
    let late = lateAccepted(but: [])
    if !late.contains(accepted - toldAccepted - silent) {
      violate(
        "\(accepted) are accepted, \(toldAccepted) had events, \(silent) have no other outcome")
    }
  }

  /// How many notifications that a push reported as unknown may since have ended as accepted.
  private func lateAccepted(but open: [Int]) -> ClosedRange<Int> {
    let ended = pushed.early.filter { !open.contains($0) }
    return ended.count(where: hasToBeAccepted)...ended.count(where: mayBeAccepted)
  }
}
