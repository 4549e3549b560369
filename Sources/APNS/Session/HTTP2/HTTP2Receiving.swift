import CAPNS

/// Hearing what the service says.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// Looks where a wait found something, or where the last look is long ago.
  mutating func receiveIfDue(_ channel: UnsafeMutablePointer<HTTP2Channel>) throws(Failure) {
    if channel.pointee.connection.hasNews(on: &network, orKnown: channel.pointee.isUnread) {
      try receive(channel, atMost: HTTP2Connection.recordSize)
    }
  }

  /// As much as is heard at a time where the connection is at its end, so that a peer that
  /// goes on talking holds up no call.
  static var lastWords: Int { 1 << 20 }

  /// Takes what is there, and stops behind so many bytes. Throws where the peer refused
  /// the provider itself.
  @inline(never)
  mutating func receive(
    _ channel: UnsafeMutablePointer<HTTP2Channel>, atMost limit: Int = lastWords
  ) throws(Failure) {
    var left = limit
    while channel.pointee.phase == .open {
      switch network.read(channel.pointee.number, into: readBuffer) {
      case .bytes(let count):
        channel.pointee.connection.mustRead = false
        channel.pointee.lastReceived = network.now
        channel.pointee.lastRead = channel.pointee.lastReceived
        let bytes = UnsafeRawBufferPointer(rebasing: readBuffer[0..<min(count, readBuffer.count)])
        let answers = channel.pointee.http.pointee.answers
        let isHTTP2 = channel.pointee.http.receive(bytes)
        let isOfUse = channel.pointee.budget.take(
          count, answers: channel.pointee.http.pointee.answers &- answers,
          at: channel.pointee.lastRead)
        judgeAnswered()
        if !isHTTP2 {
          try connectionEnded(channel, notHTTP2)
        } else if !isOfUse {
          try connectionEnded(channel, flooded)
        }
        left &-= count
        channel.pointee.readOn &+= count
        if left <= 0 {
          // The streams that were answered make room for others, which need not wait.
          channel.pointee.isUnread = true
          return
        }
      case .nothing:
        channel.pointee.isUnread = false
        channel.pointee.readOn = 0
        // A connection that was left has done its duty when its last answer is there.
        if channel.pointee.http.pointee.isLeaving, channel.pointee.http.pointee.inFlight == 0 {
          leave(channel)
        }
        return
      case .end: try connectionEnded(channel, nil)
      case .broken: try connectionEnded(channel, network.failure(channel.pointee.number))
      }
    }
  }

  /// More than the answers to all streams of a connection take together.
  private static var mostAnswers: Int { 4 << 20 }

  /// Gives up streams that the service leaves unanswered while it answers others.
  private mutating func review(
    _ channel: UnsafeMutablePointer<HTTP2Channel>, _ now: Nanoseconds
  ) throws(Failure) {
    // Answers that are there already are to be heard first: they are long behind so much.
    guard now >= channel.pointee.nextReview,
      !channel.pointee.isUnread || channel.pointee.readOn > Self.mostAnswers
    else { return }
    channel.pointee.nextReview = now &+ 1_000_000_000
    // What the peer has not taken has no answer, nor has what it took just now.
    guard channel.pointee.connection.stalledSince == nil else { return }
    let second = Self.second(now)
    let longest = UInt32(clamping: options.answerTimeout / 1_000_000_000 &+ 1)
    if let tookAgain = channel.pointee.tookAgain, second &- tookAgain <= longest { return }
    let http = channel.pointee.http
    var isAny = false
    outbox.pointee.forEachInFlight(on: UInt16(truncatingIfNeeded: channel.pointee.number)) {
      if second &- $0.entries[$1].sentAt > longest {
        http.pointee.cancel($0.entries[$1].stream)
        isAny = true
      }
    }
    // Until that is said, nghttp2 passes over answers to these streams.
    if isAny { _ = try writeRecords(channel) }
  }

  /// Asks a connection that has been silent for long whether it still is one, before
  /// anything is sent that would be in doubt where it is not.
  @inline(never)
  mutating func askIfSilent(_ channel: UnsafeMutablePointer<HTTP2Channel>) throws(Failure) {
    let now = network.now
    guard let asked = channel.pointee.askedAt else {
      guard channel.pointee.http.pointee.inFlight == 0, options.pingAfter < .max else { return }
      let due = channel.pointee.lastRead &+ options.pingAfter
      if now >= due {
        channel.pointee.http.pointee.ask()
        channel.pointee.askedAt = now
      }
      wake = min(wake, now < due ? due : now &+ options.connectTimeout)
      return
    }
    let due = asked &+ options.connectTimeout
    if channel.pointee.http.pointee.isAsked, now >= due { try receive(channel) }
    guard channel.pointee.phase == .open else { return }
    if !channel.pointee.http.pointee.isAsked {
      channel.pointee.askedAt = nil
    } else if now >= due {
      try connectionEnded(channel, nil)
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
  private mutating func leaveIfStarved(
    _ channel: UnsafeMutablePointer<HTTP2Channel>, _ now: Nanoseconds
  ) {
    // While a PING has no answer it takes nothing either, which says nothing.
    if channel.pointee.http.pointee.isAsked { return }
    guard channel.pointee.http.pointee.isStarved, outbox.pointee.isDue(at: Self.second(now)) else {
      channel.pointee.starvedSince = nil
      return
    }
    let since = channel.pointee.starvedSince ?? now
    channel.pointee.starvedSince = since
    let due = since &+ options.answerTimeout
    if now >= due { leave(channel) } else { wake = min(wake, due) }
  }

  private mutating func leave(_ channel: UnsafeMutablePointer<HTTP2Channel>) {
    if !channel.pointee.http.pointee.hasAccepted { reconnects.achievedNothing(on: &network) }
    network.sayGoodbye(channel.pointee.number)
    close(channel)
    // What was answered here is not to be held against the next connection.
    judgeAnswered()
  }

  /// An answer that is owed and does not come: the stream is given up, and where nothing
  /// at all comes, the connection.
  mutating func awaitAnswers(_ channel: UnsafeMutablePointer<HTTP2Channel>) throws(Failure) {
    let now = network.now
    guard channel.pointee.http.pointee.inFlight > 0 else {
      channel.pointee.lastReceived = now
      // The last answer may not have come but been given up.
      if channel.pointee.http.pointee.isLeaving || channel.pointee.http.pointee.isOver {
        leave(channel)
      } else {
        leaveIfStarved(channel, now)
      }
      return
    }
    channel.pointee.starvedSince = nil
    // The peer broke the rules and was told so: it will not be heard of again.
    if channel.pointee.http.pointee.isOver { return try connectionEnded(channel, notHTTP2) }
    let due = channel.pointee.lastReceived &+ options.answerTimeout
    if now < due {
      try review(channel, now)
      wake = min(wake, due, channel.pointee.nextReview)
      return
    }
    // The process may have been put aside since it looked last: what came until then counts.
    try receive(channel)
    guard channel.pointee.phase == .open, channel.pointee.http.pointee.inFlight > 0,
      channel.pointee.lastReceived &+ options.answerTimeout <= now
    else {
      // What was heard makes room for others, and the rest is to be waited for anew.
      channel.pointee.isUnread = true
      return
    }
    try connectionEnded(
      channel,
      Failure(APNS_ERR_TIMEOUT) {
        $0.append("no answer came for ")
        $0.append(Int(options.answerTimeout / 1_000_000))
        $0.append(" ms from ")
        network.append(to: &$0)
      })
  }
}
