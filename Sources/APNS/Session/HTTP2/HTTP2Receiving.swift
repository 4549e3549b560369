import CAPNS

/// Reads received data.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// Reads when a wait found something, or when the last look was long ago.
  mutating func receiveIfDue(_ connection: UnsafeMutablePointer<HTTP2Connection>) throws(Failure) {
    if connection.pointee.link.isReadable(on: &network, orKnown: connection.pointee.isUnread) {
      try receive(connection, atMost: HTTP2Codec.recordSize)
    }
  }

  /// Limit of one read from an ending connection, so that a peer that keeps sending delays no call.
  static var lastWords: Int { 1 << 20 }

  /// Reads what has arrived before something is abandoned for lack of a response. False if there is
  /// more than one pass reads, or if reading takes longer than a call of a session that never waits
  /// may work: the next pass continues.
  mutating func hearOut(
    _ connection: UnsafeMutablePointer<HTTP2Connection>
  ) throws(Failure) -> Bool {
    try receive(connection)
    guard connection.pointee.phase == .open, connection.pointee.isUnread,
      connection.pointee.readOn < Self.maxResponses
    else { return true }
    isCutShort = true
    return false
  }

  /// Reads received bytes, up to `limit`. Throws if the peer refused the provider itself.
  @inline(never)
  mutating func receive(
    _ connection: UnsafeMutablePointer<HTTP2Connection>, atMost limit: Int = lastWords
  ) throws(Failure) {
    var left = limit
    while connection.pointee.phase == .open {
      switch network.read(connection.pointee.number, into: readBuffer) {
      case .bytes(let count):
        connection.pointee.link.mustRead = false
        connection.pointee.lastReceived = network.now
        connection.pointee.lastRead = connection.pointee.lastReceived
        heardAt = SendTime(nanoseconds: connection.pointee.lastRead)
        outbox.pointee.metrics.pointee.bytes_read &+= UInt64(count.magnitude)
        let bytes = UnsafeRawBufferPointer(rebasing: readBuffer[0..<min(count, readBuffer.count)])
        let responses = connection.pointee.codec.pointee.responses
        let inFlight = connection.pointee.codec.pointee.inFlight
        // HTTP/2 itself reads no clock.
        if let log { _ = log.at(connection.pointee.lastReceived) }
        let isHTTP2 = connection.pointee.codec.receive(bytes)
        let isOfUse = connection.pointee.budget.take(
          count, responses: connection.pointee.codec.pointee.responses &- responses,
          parts: connection.pointee.codec.pointee.takePartsWritten(),
          at: connection.pointee.lastRead
        )
        takeResponses()
        if connection.pointee.codec.pointee.inFlight < inFlight {
          connection.pointee.heldSince = connection.pointee.lastRead
        }
        if !isHTTP2 {
          try connectionEnded(connection, notHTTP2)
        } else if !isOfUse {
          try connectionEnded(connection, flooded)
        }
        left &-= count
        connection.pointee.readOn &+= count
        if left <= 0 || isOutOfTime {
          // Streams that were answered make room for others, which need not wait.
          connection.pointee.isUnread = true
          return
        }
      case .nothing:
        connection.pointee.isUnread = false
        connection.pointee.readOn = 0
        // A draining connection is closed after its last response.
        if connection.pointee.codec.pointee.isDraining,
          connection.pointee.codec.pointee.inFlight == 0
        {
          retire(connection)
        }
        return
      case .end: try connectionEnded(connection, nil)
      case .broken: try connectionEnded(connection, network.failure(connection.pointee.number))
      }
    }
  }

  /// More than the answers to all streams of a connection take together.
  private static var maxResponses: Int { 4 << 20 }

  /// Cancels streams that APNs leaves unanswered while it answers others.
  private mutating func review(
    _ connection: UnsafeMutablePointer<HTTP2Connection>, _ now: Nanoseconds
  ) throws(Failure) {
    // Answers that have arrived are read first.
    guard now >= connection.pointee.nextReview,
      !connection.pointee.isUnread || connection.pointee.readOn > Self.maxResponses
    else { return }
    connection.pointee.nextReview = now &+ shortPause
    // A request that the peer has not read, or has only just read, cannot have a response.
    guard connection.pointee.link.stalledSince == nil else { return }
    if let tookAgain = connection.pointee.tookAgain, now &- tookAgain <= options.answerTimeout {
      return
    }
    let codec = connection.pointee.codec
    let time = SendTime(nanoseconds: now)
    // A time of the outbox is not exact.
    let timeout = options.answerTimeout &+ 1_000_000
    var (timedOut, next) = (0, timeout)
    outbox.pointee.forEachInFlight(on: UInt16(truncatingIfNeeded: connection.pointee.number)) {
      let left = timeout &- $0.flightTime($1, until: time)
      if left <= 0 {
        codec.pointee.cancel($0.stream($1))
        timedOut &+= 1
      } else {
        next = min(next, left)
      }
    }
    connection.pointee.nextReview = now &+ max(next, shortPause / 8)
    guard timedOut > 0 else { return }
    reconnects.ended(nil, otherwise: "no answer came in time")
    log?.at(now).timedOut(timedOut, options.answerTimeout, on: connection.pointee.link)
    gaveUp(
      connection, timedOut, at: now,
      isSilent: now &- connection.pointee.lastReceived > options.answerTimeout / 4)
    // Until the cancellation is sent, nghttp2 ignores answers to these streams. Then there is room
    // for others.
    if try writeRecords(connection), connection.pointee.phase == .open {
      connection.pointee.isUnread = true
    }
  }

  /// A number of the connection's streams were abandoned because no response came.
  mutating func gaveUp(
    _ connection: UnsafeMutablePointer<HTTP2Connection>, _ count: Int, at now: Nanoseconds,
    isSilent: Bool
  ) {
    let codec = connection.pointee.codec
    if codec.pointee.responses != connection.pointee.responsesBefore {
      connection.pointee.abandoned = 0
    }
    connection.pointee.responsesBefore = codec.pointee.responses
    connection.pointee.abandoned &+= count
    if connection.pointee.abandoned > Int(FlightLimit.maxInDoubt) {
      // Each notification is abandoned at most five times, so the connection must be at fault.
      codec.pointee.drain()
    } else if isSilent, options.pingAfter < .max, !codec.pointee.isAsked, !codec.pointee.isProbed {
      // Others would be in doubt if the peer is gone by now.
      codec.pointee.ask()
      connection.pointee.askedAt = now
    }
  }

  /// A pause that is short compared with the answer timeout.
  var shortPause: Nanoseconds { min(1_000_000_000, options.answerTimeout / 8) }

  /// Sends a PING on a long-silent connection. Either before something is sent that would be in
  /// doubt if the connection is broken, or while streams wait: if it works, only those streams are
  /// abandoned.
  @inline(never)
  mutating func askIfSilent(_ connection: UnsafeMutablePointer<HTTP2Connection>) throws(Failure) {
    let now = network.now
    guard now >= askDue(connection) else { return }
    guard connection.pointee.codec.pointee.isAsked else {
      if connection.pointee.codec.pointee.inFlight > 0 {
        connection.pointee.codec.pointee.probe()
      } else {
        connection.pointee.codec.pointee.ask()
      }
      log?.at(now).asked(connection.pointee.link, "a PING asks whether the peer is there")
      connection.pointee.askedAt = now
      return
    }
    // The program may come back so late that the PING is only written now.
    if connection.pointee.codec.pointee.hasUnwritten {
      connection.pointee.askedAt = now
      return
    }
    guard try hearOut(connection), connection.pointee.phase == .open,
      connection.pointee.codec.pointee.isAsked
    else { return }
    log?.at(now).abandoned(
      connection.pointee.link, APNS_CAUSE_ANSWER_TIMEOUT, "no answer to a PING")
    try connectionEnded(connection, nil)
  }

  /// When to send a PING, or when its acknowledgement is due; `max`: never.
  @inline(never)
  func askDue(_ connection: UnsafeMutablePointer<HTTP2Connection>) -> Nanoseconds {
    if connection.pointee.codec.pointee.isAsked {
      return connection.pointee.askedAt &+ options.connectTimeout
    }
    guard options.pingAfter < .max else { return .max }
    if connection.pointee.codec.pointee.inFlight > 0 {
      return connection.pointee.codec.pointee.isProbed
        ? .max : connection.pointee.lastReceived &+ options.answerTimeout / 2
    }
    return max(connection.pointee.lastRead, connection.pointee.askedAt) &+ options.pingAfter
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
      $0.append(Int(FloodBudget.maximum >> 10))
      $0.append(" KiB without an answer: ")
      network.append(to: &$0)
    }
  }

  /// With nothing in flight a connection has to take new streams. If its windows or its stream
  /// limit stay closed although something is due, it is replaced.
  private mutating func retireIfStarved(
    _ connection: UnsafeMutablePointer<HTTP2Connection>, _ now: Nanoseconds
  ) {
    // A connection with an unanswered PING takes nothing either; that does not count.
    if connection.pointee.codec.pointee.isAsked { return }
    let isDue =
      connection.pointee.number == apart
      ? outbox.pointee.hasApart : outbox.pointee.isDue(at: now)
    guard connection.pointee.codec.pointee.isStarved, isDue else {
      connection.pointee.starvedSince = nil
      return
    }
    let since = connection.pointee.starvedSince ?? now
    connection.pointee.starvedSince = since
    guard now >= since &+ options.answerTimeout else { return }
    log?.at(now).abandoned(
      connection.pointee.link, APNS_CAUSE_ANSWER_TIMEOUT, "it takes no notifications")
    retire(connection)
  }

  private mutating func retire(_ connection: UnsafeMutablePointer<HTTP2Connection>) {
    if !connection.pointee.codec.pointee.hasAccepted, !connection.pointee.isReplaced {
      reconnects.achievedNothing(on: &network)
    }
    network.halfClose(connection.pointee.number)
    close(connection)
    // Answers that came on this connection must not count against the next one.
    takeResponses()
  }

  /// When an answer has been missing for too long, or the connection has taken nothing.
  @inline(__always)
  func responseDue(_ connection: UnsafeMutablePointer<HTTP2Connection>) -> Nanoseconds {
    if connection.pointee.codec.pointee.inFlight > 0 {
      return min(
        connection.pointee.lastReceived &+ options.answerTimeout, connection.pointee.nextReview)
    }
    guard let since = connection.pointee.starvedSince, !connection.pointee.codec.pointee.isAsked
    else {
      return .max
    }
    return since &+ options.answerTimeout
  }

  /// Handles answers that do not come: the stream is cancelled, and if nothing comes at all, the
  /// connection is ended.
  mutating func awaitResponses(_ connection: UnsafeMutablePointer<HTTP2Connection>) throws(Failure)
  {
    let now = network.now
    guard connection.pointee.codec.pointee.inFlight > 0 else {
      connection.pointee.lastReceived = now
      if hadExtra { drainExtra(connection) }
      // The last response may have timed out rather than arrived.
      if connection.pointee.codec.pointee.isDraining || connection.pointee.codec.pointee.isOver {
        retire(connection)
      } else {
        retireIfStarved(connection, now)
      }
      return
    }
    connection.pointee.starvedSince = nil
    // The peer broke the rules and got a GOAWAY: it will not respond any more.
    if connection.pointee.codec.pointee.isOver { return try connectionEnded(connection, notHTTP2) }
    let due = connection.pointee.lastReceived &+ options.answerTimeout
    if now < due {
      return try review(connection, now)
    }
    // The process may have been suspended since the last look: what came until then counts.
    guard try hearOut(connection) else { return }
    guard connection.pointee.phase == .open, connection.pointee.codec.pointee.inFlight > 0,
      connection.pointee.lastReceived &+ options.answerTimeout <= now
    else {
      // Received bytes make room for others, and the wait for the rest restarts.
      connection.pointee.isUnread = true
      return
    }
    try connectionEnded(
      connection,
      Failure(APNS_ERR_TIMEOUT) {
        $0.append("no answer came for ")
        $0.append(Int(options.answerTimeout / 1_000_000))
        $0.append(" ms from ")
        network.append(to: &$0)
      })
  }
}
