import CAPNS

/// Reads received data.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// Reads when a wait found something, or when the last look was long ago.
  mutating func receiveIfDue(_ channel: UnsafeMutablePointer<HTTP2Channel>) throws(Failure) {
    if channel.pointee.connection.hasNews(on: &network, orKnown: channel.pointee.isUnread) {
      try receive(channel, atMost: HTTP2Connection.recordSize)
    }
  }

  /// Limit of one read from an ending connection, so that a peer that keeps sending delays no call.
  static var lastWords: Int { 1 << 20 }

  /// Reads what has arrived before something is given up for want of it. False when that is more than
  /// is read at once, or takes longer than a call of a session that never waits may work: the next
  /// turn reads on.
  mutating func hearOut(
    _ channel: UnsafeMutablePointer<HTTP2Channel>
  ) throws(Failure) -> Bool {
    try receive(channel)
    guard channel.pointee.phase == .open, channel.pointee.isUnread,
      channel.pointee.readOn < Self.mostAnswers
    else { return true }
    isCutShort = true
    return false
  }

  /// Reads received bytes, up to `limit`. Throws if the peer refused the provider itself.
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
        heardAt = SendTime(nanoseconds: channel.pointee.lastRead)
        outbox.pointee.metrics.pointee.bytes_read &+= UInt64(count.magnitude)
        let bytes = UnsafeRawBufferPointer(rebasing: readBuffer[0..<min(count, readBuffer.count)])
        let answers = channel.pointee.http.pointee.answers
        let inFlight = channel.pointee.http.pointee.inFlight
        // HTTP/2 itself reads no clock.
        if let log { _ = log.at(channel.pointee.lastReceived) }
        let isHTTP2 = channel.pointee.http.receive(bytes)
        let isOfUse = channel.pointee.budget.take(
          count, answers: channel.pointee.http.pointee.answers &- answers,
          parts: channel.pointee.http.pointee.takePartsWritten(), at: channel.pointee.lastRead)
        judgeAnswered()
        if channel.pointee.http.pointee.inFlight < inFlight {
          channel.pointee.heldSince = channel.pointee.lastRead
        }
        if !isHTTP2 {
          try connectionEnded(channel, notHTTP2)
        } else if !isOfUse {
          try connectionEnded(channel, flooded)
        }
        left &-= count
        channel.pointee.readOn &+= count
        if left <= 0 || isOutOfTime {
          // Streams that were answered make room for others, which need not wait.
          channel.pointee.isUnread = true
          return
        }
      case .nothing:
        channel.pointee.isUnread = false
        channel.pointee.readOn = 0
        // A draining connection is closed after its last response.
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

  /// Cancels streams that APNs leaves unanswered while it answers others.
  private mutating func review(
    _ channel: UnsafeMutablePointer<HTTP2Channel>, _ now: Nanoseconds
  ) throws(Failure) {
    // Answers that have arrived are read first.
    guard now >= channel.pointee.nextReview,
      !channel.pointee.isUnread || channel.pointee.readOn > Self.mostAnswers
    else { return }
    channel.pointee.nextReview = now &+ shortPause
    // A request that the peer has not read, or has only just read, cannot have a response.
    guard channel.pointee.connection.stalledSince == nil else { return }
    if let tookAgain = channel.pointee.tookAgain, now &- tookAgain <= options.answerTimeout {
      return
    }
    let http = channel.pointee.http
    let time = SendTime(nanoseconds: now)
    // A time of the outbox is not exact.
    let longest = options.answerTimeout &+ 1_000_000
    var (overdue, next) = (0, longest)
    outbox.pointee.forEachInFlight(on: UInt16(truncatingIfNeeded: channel.pointee.number)) {
      let left = longest &- $0.flightTime($1, until: time)
      if left <= 0 {
        http.pointee.cancel($0.stream($1))
        overdue &+= 1
      } else {
        next = min(next, left)
      }
    }
    channel.pointee.nextReview = now &+ max(next, shortPause / 8)
    guard overdue > 0 else { return }
    reconnects.ended(nil, otherwise: "no answer came in time")
    log?.at(now).overdue(overdue, options.answerTimeout, on: channel.pointee.connection)
    gaveUp(
      channel, overdue, at: now,
      isSilent: now &- channel.pointee.lastReceived > options.answerTimeout / 4)
    // Until the cancellation is sent, nghttp2 ignores answers to these streams. Then there is room
    // for others.
    if try writeRecords(channel), channel.pointee.phase == .open { channel.pointee.isUnread = true }
  }

  /// A number of the channel's streams were abandoned because no response came.
  mutating func gaveUp(
    _ channel: UnsafeMutablePointer<HTTP2Channel>, _ count: Int, at now: Nanoseconds, isSilent: Bool
  ) {
    let http = channel.pointee.http
    if http.pointee.answers != channel.pointee.answersBefore { channel.pointee.givenUp = 0 }
    channel.pointee.answersBefore = http.pointee.answers
    channel.pointee.givenUp &+= count
    if channel.pointee.givenUp > Int(FlightLimit.mostDoubts) {
      // Each notification is abandoned at most five times, so the connection must be at fault.
      http.pointee.leave()
    } else if isSilent, options.pingAfter < .max, !http.pointee.isAsked, !http.pointee.isProbed {
      // Others would be in doubt if the peer is gone by now.
      http.pointee.ask()
      channel.pointee.askedAt = now
    }
  }

  /// A pause that is short compared with the answer timeout.
  var shortPause: Nanoseconds { min(1_000_000_000, options.answerTimeout / 8) }

  /// Sends a PING on a long-silent connection. Either before something is sent that would be in
  /// doubt if the connection is broken, or while streams wait: if it works, only those streams are
  /// abandoned.
  @inline(never)
  mutating func askIfSilent(_ channel: UnsafeMutablePointer<HTTP2Channel>) throws(Failure) {
    let now = network.now
    guard now >= askDue(channel) else { return }
    guard channel.pointee.http.pointee.isAsked else {
      if channel.pointee.http.pointee.inFlight > 0 {
        channel.pointee.http.pointee.probe()
      } else {
        channel.pointee.http.pointee.ask()
      }
      log?.at(now).asked(channel.pointee.connection, "a PING asks whether the peer is there")
      channel.pointee.askedAt = now
      return
    }
    guard try hearOut(channel), channel.pointee.phase == .open,
      channel.pointee.http.pointee.isAsked
    else { return }
    log?.at(now).givenUp(
      channel.pointee.connection, APNS_CAUSE_ANSWER_TIMEOUT, "no answer to a PING")
    try connectionEnded(channel, nil)
  }

  /// When to send a PING, or when its acknowledgement is due; `max`: never.
  @inline(never)
  func askDue(_ channel: UnsafeMutablePointer<HTTP2Channel>) -> Nanoseconds {
    if channel.pointee.http.pointee.isAsked {
      return channel.pointee.askedAt &+ options.connectTimeout
    }
    guard options.pingAfter < .max else { return .max }
    if channel.pointee.http.pointee.inFlight > 0 {
      return channel.pointee.http.pointee.isProbed
        ? .max : channel.pointee.lastReceived &+ options.answerTimeout / 2
    }
    return max(channel.pointee.lastRead, channel.pointee.askedAt) &+ options.pingAfter
  }

  private var notHTTP2: Failure {
    Failure(APNS_ERR_PROTOCOL) {
      $0.append("the peer broke the rules of HTTP/2: ")
      network.append(to: &$0)
    }
  }

  private var flooded: Failure {
    Failure(APNS_ERR_PROTOCOL, cause: APNS_CAUSE_FLOOD) {
      $0.append("the peer sent more than ")
      $0.append(Int(FloodBudget.most >> 10))
      $0.append(" KiB without an answer: ")
      network.append(to: &$0)
    }
  }

  /// With nothing in flight a connection has to take new streams. If its windows or its stream
  /// limit stay closed although something is due, it is replaced.
  private mutating func leaveIfStarved(
    _ channel: UnsafeMutablePointer<HTTP2Channel>, _ now: Nanoseconds
  ) {
    // A connection with an unanswered PING takes nothing either; that does not count.
    if channel.pointee.http.pointee.isAsked { return }
    let isDue =
      channel.pointee.number == apart
      ? outbox.pointee.hasApart : outbox.pointee.isDue(at: now)
    guard channel.pointee.http.pointee.isStarved, isDue else {
      channel.pointee.starvedSince = nil
      return
    }
    let since = channel.pointee.starvedSince ?? now
    channel.pointee.starvedSince = since
    guard now >= since &+ options.answerTimeout else { return }
    log?.at(now).givenUp(
      channel.pointee.connection, APNS_CAUSE_ANSWER_TIMEOUT, "it takes no notifications")
    leave(channel)
  }

  private mutating func leave(_ channel: UnsafeMutablePointer<HTTP2Channel>) {
    if !channel.pointee.http.pointee.hasAccepted, !channel.pointee.isReplaced {
      reconnects.achievedNothing(on: &network)
    }
    network.sayGoodbye(channel.pointee.number)
    close(channel)
    // Answers that came on this connection must not count against the next one.
    judgeAnswered()
  }

  /// When an answer has been missing for too long, or the connection has taken nothing.
  @inline(__always)
  func answerDue(_ channel: UnsafeMutablePointer<HTTP2Channel>) -> Nanoseconds {
    if channel.pointee.http.pointee.inFlight > 0 {
      return min(
        channel.pointee.lastReceived &+ options.answerTimeout, channel.pointee.nextReview)
    }
    guard let since = channel.pointee.starvedSince, !channel.pointee.http.pointee.isAsked else {
      return .max
    }
    return since &+ options.answerTimeout
  }

  /// Handles answers that do not come: the stream is cancelled, and if nothing comes at all, the
  /// connection is ended.
  mutating func awaitAnswers(_ channel: UnsafeMutablePointer<HTTP2Channel>) throws(Failure) {
    let now = network.now
    guard channel.pointee.http.pointee.inFlight > 0 else {
      channel.pointee.lastReceived = now
      if hadExtra { leaveExtra(channel) }
      // The last response may have timed out rather than arrived.
      if channel.pointee.http.pointee.isLeaving || channel.pointee.http.pointee.isOver {
        leave(channel)
      } else {
        leaveIfStarved(channel, now)
      }
      return
    }
    channel.pointee.starvedSince = nil
    // The peer broke the rules and got a GOAWAY: it will not respond any more.
    if channel.pointee.http.pointee.isOver { return try connectionEnded(channel, notHTTP2) }
    let due = channel.pointee.lastReceived &+ options.answerTimeout
    if now < due {
      return try review(channel, now)
    }
    // The process may have been suspended since the last look: what came until then counts.
    guard try hearOut(channel) else { return }
    guard channel.pointee.phase == .open, channel.pointee.http.pointee.inFlight > 0,
      channel.pointee.lastReceived &+ options.answerTimeout <= now
    else {
      // Received bytes make room for others, and the wait for the rest restarts.
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
