#if APNS_HTTP2
  import CAPNS

  /// Hearing what the service says.
  extension PushSession where Net: ~Copyable {
    /// Looks where a wait found something, or where the last look is long ago.
    mutating func hearIfDue(_ lane: UnsafeMutablePointer<PushLane>) throws(Failure) {
      if lane.pointee.line.hasNews(on: &network, orKnown: lane.pointee.isUnread) {
        try hear(lane, atMost: HTTP2Connection.recordSize)
      }
    }

    /// Takes what is there, and stops behind so many bytes. Throws where the peer refused
    /// the provider itself.
    @inline(never)
    mutating func hear(
      _ lane: UnsafeMutablePointer<PushLane>, atMost limit: Int = .max
    ) throws(Failure) {
      var left = limit
      while lane.pointee.use == .open {
        switch network.read(lane.pointee.number, into: heard) {
        case .bytes(let count):
          lane.pointee.line.mustRead = false
          lane.pointee.lastHeard = network.now
          lane.pointee.lastRead = lane.pointee.lastHeard
          let bytes = UnsafeRawBufferPointer(rebasing: heard[0..<min(count, heard.count)])
          let isHTTP2 = lane.pointee.http.receive(bytes)
          judgeAnswered()
          if !isHTTP2 { try connectionEnded(lane, notHTTP2) }
          left &-= count
          if left <= 0 {
            // The streams that were answered make room for others, which need not wait.
            lane.pointee.isUnread = true
            return
          }
        case .nothing:
          lane.pointee.isUnread = false
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

    /// Gives up streams that the service leaves unanswered while it answers others.
    private mutating func review(
      _ lane: UnsafeMutablePointer<PushLane>, _ now: Int64
    ) throws(Failure) {
      // An answer that is there already is to be heard.
      guard now >= lane.pointee.nextReview, !lane.pointee.isUnread else { return }
      lane.pointee.nextReview = now &+ 1_000_000_000
      let second = Self.second(now)
      let longest = UInt32(clamping: options.answerTimeout / 1_000_000_000 &+ 1)
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

    private mutating func leave(_ lane: UnsafeMutablePointer<PushLane>) {
      if !lane.pointee.http.pointee.hasAnswer { reconnects.achievedNothing(on: &network) }
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
        if lane.pointee.http.pointee.isLeaving || lane.pointee.http.pointee.isOver { leave(lane) }
        return
      }
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
#endif
