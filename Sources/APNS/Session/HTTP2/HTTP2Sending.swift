import CAPNS
import CNGHTTP2

/// Takes notifications into the outbox, and sends them.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  @inline(never)
  func notification(
    _ given: UnsafePointer<apns_notification_t>, payload: UnsafeRawBufferPointer, payloadCount: Int
  ) throws(Failure) -> HTTP2Request {
    if let channel = given.pointee.channel_id, channel.pointee != 0 {
      return try HTTP2Request(
        given, to: channel, payloadCount: payloadCount, payloadMax: options.payloadMax,
        topic: defaults.topic ?? defaults.certificateTopic)
    }
    return try HTTP2Request(
      given, payload: payload, payloadCount: payloadCount, payloadMax: options.payloadMax,
      topic: defaults.topic, topicCount: defaults.topicCount,
      certificate: tokens == nil ? defaults.certificateTopic : nil, isFor: defaults.pushType,
      needsTopic: tokens != nil)
  }

  func payloadMost(_ given: UnsafePointer<apns_notification_t>) -> Int {
    min(options.payloadMax, HTTP2Request.payloadMost(given, isFor: defaults.pushType))
  }

  func check(_ notification: HTTP2Request, _ traits: PayloadTraits) throws(Failure) {
    try notification.check(traits)
  }

  /// Takes a notification. Waits only without a connection, so that a send that cannot
  /// succeed takes nothing, or when the outbox is full.
  @inline(__always)
  mutating func take(
    _ push: HTTP2Request, payloadCount: Int, deadline: Int32, userData: UnsafeMutableRawPointer?,
    payload: (UnsafeMutableRawPointer) -> UnsafeRawBufferPointer
  ) throws(Failure) -> UInt32 {
    let size = StoredRequest.size(of: push, payloadCount: payloadCount)
    let place = try reserve(size)
    let bytes = payload(
      outbox.pointee.address(place)
        + StoredRequest.payloadOffset(size, payloadCount: payloadCount))
    // A notification that is refused now leaves its place free: nothing was committed.
    let kind = try push.kind(of: bytes)
    return commit(push, kind, bytes, to: place, size, userData, due: due(within: deadline))
  }

  /// Where a request goes, once there is room for it and a connection.
  @inline(never)
  private mutating func reserve(_ size: Int) throws(Failure) -> Int {
    guard size <= outbox.pointee.largestRequest else {
      throw Failure(
        APNS_ERR_ARGUMENT, "the notification is larger than the window",
        reject: APNS_REJECT_INVALID_PAYLOAD_SIZE)
    }
    waitsSince = 0
    if !hasConnection, !options.neverWaits {
      if outbox.pointee.isFullOfOutcomes, outbox.pointee.reserve(size) == nil { throw isFull }
      waitsSince = network.now
      try connect()
    }
    if let place = outbox.pointee.reserve(size) { return place }
    if !outbox.pointee.isFullOfOutcomes { try makeRoom(size) }
    if let place = outbox.pointee.reserve(size) { return place }
    throw isFull
  }

  /// Takes a request without waiting for a connection.
  mutating func put(_ request: HTTP2Request, _ payload: UnsafeRawBufferPointer) throws(Failure) {
    let size = StoredRequest.size(of: request, payloadCount: payload.count)
    guard let place = outbox.pointee.reserve(size) else { throw isFull }
    _ = commit(request, try request.kind(of: payload), payload, to: place, size, nil, due: .max)
    (queued, waitsSince) = (0, 0)
  }

  private var isFull: Failure {
    @inline(never) get {
      log?.at(network.now).full(outbox.pointee.waitingOutcomes, needsCaller: true)
      return Failure(APNS_ERR_FULL) {
        $0.append("the window is full: take the ")
        $0.append(outbox.pointee.waitingOutcomes)
        $0.append(" outcomes that wait")
      }
    }
  }

  @inline(never)
  private mutating func commit(
    _ push: HTTP2Request, _ kind: HTTP2Request.Kind, _ payload: UnsafeRawBufferPointer,
    to place: Int, _ size: Int, _ userData: UnsafeMutableRawPointer?, due: Nanoseconds
  ) -> UInt32 {
    StoredRequest.write(
      push, kind, payload: payload, to: outbox.pointee.address(place))
    let identifier = nextIdentifier
    nextIdentifier = identifier == .max ? 1 : identifier &+ 1
    outbox.pointee.commit(
      place, size: size, identifier: identifier, userData: userData,
      id: push.identifier.bytes, due: due)
    queued &+= size
    return identifier
  }

  /// Waits for room for a whole record, so that the caller does not wait for each answer
  /// separately.
  @inline(never)
  private mutating func makeRoom(_ size: Int) throws(Failure) {
    log?.at(network.now).full(outbox.pointee.unresolved, needsCaller: false)
    if options.neverWaits {
      guard try pursue(.room(size)) else { throw .noRoomYet }
      return
    }
    if waitsSince == 0 { waitsSince = network.now }
    do throws(Failure) {
      try run(
        until: .room(max(size, min(HTTP2Connection.recordSize, outbox.pointee.largestRequest / 4))),
        by: restOfWait)
    } catch {
      if outbox.pointee.reserve(size) == nil { throw error }
    }
  }

  mutating func connect() throws(Failure) {
    if hasConnection { return }
    if options.neverWaits { return try connectOnce() }
    try run(until: .connection, by: network.now &+ options.connectTimeout)
  }

  /// A whole record waits to be sent.
  var hasFullRecord: Bool { queued >= HTTP2Connection.recordSize }

  mutating func write(all: Bool) throws(Failure) {
    let rest = restOfWait
    queued = 0
    waitsSince = 0
    try run(until: all ? .sending : .records, by: rest)
    if all { tellOutcomes() } else { awaitMore() }
  }

  mutating func flush() throws(Failure) {
    waitsSince = 0
    queued = 0
    let isReached = try run(until: .sending)
    tellOutcomes()
    if !isReached { throw .notYet }
  }

  /// Starts as many streams as the channel takes, and writes.
  mutating func send(
    _ channel: UnsafeMutablePointer<HTTP2Channel>, _ goal: SessionGoal
  ) throws(Failure) {
    let now = network.now
    var (looked, time) = (now, SendTime(nanoseconds: now))
    // Nothing was expected until now.
    if channel.pointee.http.pointee.inFlight == 0 {
      channel.pointee.lastReceived = now
    } else if now >= trialDue(channel) {
      channel.pointee.http.pointee.tryMore()
      channel.pointee.triedAt = now
    }
    // While the peer takes nothing, another connection can take waiting notifications.
    if channel.pointee.connection.stalledSince != nil {
      guard try writeRecords(channel), channel.pointee.phase == .open else { return }
    }
    var isWhole = false
    var turns = Self.mostTurns
    repeat {
      if turns == 0 || turns < Self.mostTurns && isOutOfTime {
        isCutShort = true
        return
      }
      turns &-= 1
      // One record at a time, so that its answers are read soon.
      var begun = 0
      var streams = 0
      while begun < HTTP2Connection.recordSize, let size = beginStream(channel, looked, time) {
        begun &+= size
        streams &+= 1
        // nghttp2 keeps waiting frames in order, which costs less for few.
        if streams & 3 == 0 { channel.pointee.http.fill(of: authority) }
      }
      if case .connection = goal {
        isWhole = true
      } else {
        isWhole = begun < HTTP2Connection.recordSize
      }
      if streams > 0 { channel.pointee.heldSince = now }
      let owed = leftNext ? channel.pointee.http.pointee.owed : 0
      let inFlight = channel.pointee.http.pointee.inFlight
      // A stream that was begun waits for its answer, so all of it has to be written.
      guard try writeRecords(channel), channel.pointee.phase == .open
      else { return }
      // Data that found no room beside unacknowledged payloads may be sent in parts after them.
      if owed > 0, channel.pointee.http.pointee.owed == 0 { isWhole = false }
      // A stream that was answered early ends when the rest of its request is written.
      if channel.pointee.http.pointee.inFlight < inFlight { isWhole = false }
      if !isWhole {
        try receiveIfDue(channel)
        looked = channel.pointee.connection.askedAt
        time = SendTime(nanoseconds: looked)
      }
    } while !isWhole && channel.pointee.phase == .open
  }

  /// Starts the next stream that is due and returns its size; nil if nothing is due or the
  /// connection accepts no stream.
  private mutating func beginStream(
    _ channel: UnsafeMutablePointer<HTTP2Channel>, _ now: Nanoseconds, _ time: SendTime
  ) -> Int? {
    let http = channel.pointee.http
    guard tokenDue == .max, let room = http.pointee.room(), room > 0,
      let slot = isForApart(channel)
        ? outbox.pointee.takeApart()
        : outbox.pointee.takeDue(at: now)
    else { return nil }
    let request = outbox.pointee.request(slot)
    let payloadCount = request.payload.count
    guard http.pointee.takes(ends: outbox.pointee.ends(slot)),
      room >= payloadCount || http.pointee.owed == 0 && isLastResort
    else {
      outbox.pointee.putBack(slot)
      leftNext = true
      return nil
    }
    do throws(Failure) {
      try tokens?.update(&bearer)
    } catch {
      // The token is requested again in a second. Responses are read meanwhile.
      let now = network.now
      log?.at(now).lacksToken(error)
      outbox.pointee.putBack(slot)
      tokenDue = now &+ 1_000_000_000
      trouble.note(error)
      return nil
    }
    guard let stream = http.pointee.submit(slot, payloadCount: payloadCount) else {
      outbox.pointee.putBack(slot)
      return nil
    }
    if leftNext { tookLeft = true }
    outbox.pointee.sent(
      slot, on: UInt16(truncatingIfNeeded: channel.pointee.number), stream: stream,
      token: bearer.generation, at: time)
    return 2 &* request.token.count &+ payloadCount &+ 42
  }

  /// The header fields that all requests share.
  @inline(__always)
  private var authority: CommonHeaders {
    CommonHeaders(authority: defaults.authority, authorization: bearer.authorization)
  }

  /// A payload that fits into no window is sent in parts only if no other connection could have
  /// room for it: the peer may wait for the rest of a window before it grants more.
  private var isLastResort: Bool {
    if options.connections == 1 { return true }
    var taking = 0
    for number in 0..<channelCount where channels[number].isTaking { taking &+= 1 }
    return outbox.pointee.inFlight == 0 && !hasRoomForConnection(beside: taking)
  }

  /// Writes records until nothing is left; false when the peer takes no more.
  mutating func writeRecords(
    _ channel: UnsafeMutablePointer<HTTP2Channel>
  ) throws(Failure) -> Bool {
    while true {
      let inFlight = channel.pointee.http.pointee.inFlight
      guard let record = channel.pointee.http.fillRecord(of: authority) else {
        try connectionEnded(
          channel, Failure(APNS_ERR_PROTOCOL, "nghttp2 cannot continue on this connection"))
        return false
      }
      // A stream that was answered before all of it was written ends by the reset in this record.
      if channel.pointee.http.pointee.inFlight < inFlight {
        channel.pointee.heldSince = channel.pointee.lastRead
      }
      if record.count == 0 { return true }
      switch network.write(channel.pointee.number, record) {
      case .bytes(let count):
        channel.pointee.http.pointee.wrote(count)
        bytes &+= UInt64(count)
        records &+= 1
        if let since = channel.pointee.connection.stalledSince {
          let now = network.now
          if now &- since >= shortPause { channel.pointee.tookAgain = now }
          channel.pointee.connection.stalledSince = nil
        }
      case .full:
        try stalled(channel, mustRead: false)
        return false
      case .needsReading:
        try stalled(channel, mustRead: true)
        return false
      case .broken:
        // The reason may have arrived before the connection ended.
        if try hearOut(channel), channel.pointee.phase == .open {
          try connectionEnded(channel, network.failure(channel.pointee.number))
        }
        return false
      }
    }
  }

  @inline(never)
  private mutating func stalled(
    _ channel: UnsafeMutablePointer<HTTP2Channel>, mustRead: Bool
  ) throws(Failure) {
    let longest = options.writeTimeout
    if channel.pointee.connection.stalled(mustRead: mustRead, at: network.now, atMost: longest) {
      return
    }
    guard try hearOut(channel), channel.pointee.phase == .open else { return }
    let failure = OutOfTime.stalled(for: longest, on: network)
    try connectionEnded(channel, failure)
    throw failure
  }
}
