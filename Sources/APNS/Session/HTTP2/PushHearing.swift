import CAPNS

/// Hearing what the service says.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// Looks where a wait found something, or where the last look is long ago.
  mutating func hearIfDue(_ lane: UnsafeMutablePointer<PushLane>) throws(Failure) {
    if lane.pointee.line.hasNews(on: &network, orKnown: lane.pointee.isUnread) {
      try hear(lane, atMost: HTTP2Connection.recordSize)
    }
  }

  /// As much as is heard at a time where the connection is at its end, so that a peer that
  /// goes on talking holds up no call.
  static var lastWords: Int { 1 << 20 }

  /// Takes what is there, and stops behind so many bytes. Throws where the peer refused
  /// the provider itself.
  @inline(never)
  mutating func hear(
    _ lane: UnsafeMutablePointer<PushLane>, atMost limit: Int = lastWords
  ) throws(Failure) {
    var left = limit
    while lane.pointee.use == .open {
      switch network.read(lane.pointee.number, into: heard) {
      case .bytes(let count):
        lane.pointee.line.mustRead = false
        lane.pointee.lastHeard = network.now
        lane.pointee.lastRead = lane.pointee.lastHeard
        let bytes = UnsafeRawBufferPointer(rebasing: heard[0..<min(count, heard.count)])
        let answers = lane.pointee.http.pointee.answers
        let isHTTP2 = lane.pointee.http.receive(bytes)
        let isOfUse = lane.pointee.budget.take(
          count, answers: lane.pointee.http.pointee.answers &- answers,
          at: lane.pointee.lastRead)
        judgeAnswered()
        if !isHTTP2 {
          try connectionEnded(lane, notHTTP2)
        } else if !isOfUse {
          try connectionEnded(lane, flooded)
        }
        left &-= count
        lane.pointee.readOn &+= count
        if left <= 0 {
          // The streams that were answered make room for others, which need not wait.
          lane.pointee.isUnread = true
          return
        }
      case .nothing:
        lane.pointee.isUnread = false
        lane.pointee.readOn = 0
        // A connection that was left has done its duty when its last answer is there.
        if lane.pointee.http.pointee.isLeaving, lane.pointee.http.pointee.inFlight == 0 {
          leave(lane)
        }
        return
      case .end: try connectionEnded(lane, nil)
      case .broken: try connectionEnded(lane, network.failure(lane.pointee.number))
      }
    }
  }

  /// More than the answers to all streams of a connection take together.
  private static var mostAnswers: Int { 4 << 20 }

  /// Gives up streams that the service leaves unanswered while it answers others.
  private mutating func review(
    _ lane: UnsafeMutablePointer<PushLane>, _ now: Int64
  ) throws(Failure) {
    // Answers that are there already are to be heard first: they are long behind so much.
    guard now >= lane.pointee.nextReview,
      !lane.pointee.isUnread || lane.pointee.readOn > Self.mostAnswers
    else { return }
    lane.pointee.nextReview = now &+ 1_000_000_000
    // What the peer has not taken has no answer, nor has what it took just now.
    guard lane.pointee.line.stalledSince == nil else { return }
    let second = Self.second(now)
    let longest = UInt32(clamping: options.answerTimeout / 1_000_000_000 &+ 1)
    if let tookAgain = lane.pointee.tookAgain, second &- tookAgain <= longest { return }
    let http = lane.pointee.http
    var isAny = false
    outbox.pointee.forEachInFlight(on: UInt16(truncatingIfNeeded: lane.pointee.number)) {
      if second &- $0.entries[$1].sentAt > longest {
        http.pointee.cancel($0.entries[$1].stream)
        isAny = true
      }
    }
    // Until that is said, nghttp2 passes over answers to these streams.
    if isAny { _ = try writeRecords(lane) }
  }

  /// Asks a connection that has been silent for long whether it still is one, before
  /// anything is sent that would be in doubt where it is not.
  @inline(never)
  mutating func askIfSilent(_ lane: UnsafeMutablePointer<PushLane>) throws(Failure) {
    let now = network.now
    guard let asked = lane.pointee.askedAt else {
      guard lane.pointee.http.pointee.inFlight == 0, options.pingAfter < .max else { return }
      let due = lane.pointee.lastRead &+ options.pingAfter
      if now >= due {
        lane.pointee.http.pointee.ask()
        lane.pointee.askedAt = now
      }
      wake = min(wake, now < due ? due : now &+ options.connectTimeout)
      return
    }
    let due = asked &+ options.connectTimeout
    if lane.pointee.http.pointee.isAsked, now >= due { try hear(lane) }
    guard lane.pointee.use == .open else { return }
    if !lane.pointee.http.pointee.isAsked {
      lane.pointee.askedAt = nil
    } else if now >= due {
      try connectionEnded(lane, nil)
    } else {
      wake = min(wake, due)
    }
  }

  private var notHTTP2: Failure {
    Failure(APNS_ERR_PROTOCOL) {
      $0.append("not HTTP/2 as it should be from ")
      network.append(to: &$0)
    }
  }

  private var flooded: Failure {
    Failure(APNS_ERR_PROTOCOL, cause: APNS_CAUSE_FLOOD) {
      $0.append("more than ")
      $0.append(Int(FloodBudget.most >> 10))
      $0.append(" KiB that answer nothing came from ")
      network.append(to: &$0)
    }
  }

  /// With nothing in flight a connection has to take something: one whose windows or streams
  /// stay shut, though something is to be sent, is replaced.
  private mutating func leaveIfStarved(_ lane: UnsafeMutablePointer<PushLane>, _ now: Int64) {
    // While a PING has no answer it takes nothing either, which says nothing.
    if lane.pointee.http.pointee.isAsked { return }
    guard lane.pointee.http.pointee.isStarved, outbox.pointee.isDue(at: Self.second(now)) else {
      lane.pointee.starvedSince = nil
      return
    }
    let since = lane.pointee.starvedSince ?? now
    lane.pointee.starvedSince = since
    let due = since &+ options.answerTimeout
    if now >= due { leave(lane) } else { wake = min(wake, due) }
  }

  private mutating func leave(_ lane: UnsafeMutablePointer<PushLane>) {
    if !lane.pointee.http.pointee.hasAccepted { reconnects.achievedNothing(on: &network) }
    network.sayGoodbye(lane.pointee.number)
    close(lane)
    // What was answered here is not to be held against the next connection.
    judgeAnswered()
  }

  /// An answer that is owed and does not come: the stream is given up, and where nothing
  /// at all comes, the connection.
  mutating func awaitAnswers(_ lane: UnsafeMutablePointer<PushLane>) throws(Failure) {
    let now = network.now
    guard lane.pointee.http.pointee.inFlight > 0 else {
      lane.pointee.lastHeard = now
      // The last answer may not have come but been given up.
      if lane.pointee.http.pointee.isLeaving || lane.pointee.http.pointee.isOver {
        leave(lane)
      } else {
        leaveIfStarved(lane, now)
      }
      return
    }
    lane.pointee.starvedSince = nil
    // The peer broke the rules and was told so: it will not be heard of again.
    if lane.pointee.http.pointee.isOver { return try connectionEnded(lane, notHTTP2) }
    let due = lane.pointee.lastHeard &+ options.answerTimeout
    if now < due {
      try review(lane, now)
      wake = min(wake, due, lane.pointee.nextReview)
      return
    }
    // The process may have been put aside since it looked last: what came until then counts.
    try hear(lane)
    guard lane.pointee.use == .open, lane.pointee.http.pointee.inFlight > 0,
      lane.pointee.lastHeard &+ options.answerTimeout <= now
    else {
      // What was heard makes room for others, and the rest is to be waited for anew.
      lane.pointee.isUnread = true
      return
    }
    try connectionEnded(
      lane,
      Failure(APNS_ERR_TIMEOUT) {
        $0.append("no answer came for ")
        $0.append(Int(options.answerTimeout / 1_000_000))
        $0.append(" ms from ")
        network.append(to: &$0)
      })
  }
}
