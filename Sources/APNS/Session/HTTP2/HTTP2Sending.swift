import CAPNS
import CNGHTTP2

/// Takes notifications into the outbox, and sends them.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  @inline(never)
  func notification(
    _ given: UnsafePointer<apns_notification_t>, payload: UnsafeRawBufferPointer,
    payloadCount: Int, isPassed: Bool
  ) throws(Failure) -> HTTP2Request {
    if let connection = given.pointee.channel_id, connection.pointee != 0 {
      return try HTTP2Request(
        given, to: connection, payloadCount: payloadCount, payloadMax: options.payloadMax,
        topic: defaults.topic ?? defaults.certificateTopic)
    }
    return try HTTP2Request(
      given, payload: payload, payloadCount: payloadCount, inferred: isPassed ? passed.type : nil,
      payloadMax: options.payloadMax, topic: defaults.topic, topicCount: defaults.topicCount,
      certificate: tokens == nil ? defaults.certificateTopic : nil, isFor: defaults.pushType,
      needsTopic: tokens != nil)
  }

  func maxPayload(_ given: UnsafePointer<apns_notification_t>) -> Int {
    min(options.payloadMax, HTTP2Request.maxPayload(given, isFor: defaults.pushType))
  }

  func check(_ notification: HTTP2Request, _ traits: PayloadTraits) throws(Failure) {
    try notification.check(traits)
  }

  @inline(__always)
  mutating func checkPassed(
    _ notification: HTTP2Request
  ) throws(Failure) {
    if notification.isUsual, passed.type != nil { return }
    try notification.check(passed.traits)
    if notification.isUsual { passed.type = notification.type }
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
        until: .room(max(size, min(HTTP2Codec.recordSize, outbox.pointee.largestRequest / 4))),
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
  var hasFullRecord: Bool { queued >= HTTP2Codec.recordSize }

  mutating func write(all: Bool) throws(Failure) {
    let rest = restOfWait
    queued = 0
    waitsSince = 0
    try run(until: all ? .sending : .records, by: rest)
    if all { reportOutcomes() } else { awaitMore() }
  }

  mutating func flush() throws(Failure) {
    waitsSince = 0
    queued = 0
    let isReached = try run(until: .sending)
    reportOutcomes()
    if !isReached { throw .notYet }
  }

  /// Starts as many streams as the connection takes, and writes.
  mutating func send(
    _ connection: UnsafeMutablePointer<HTTP2Connection>, _ goal: SessionGoal
  ) throws(Failure) {
    let now = network.now
    var (looked, time) = (now, SendTime(nanoseconds: now))
    // Nothing was expected until now.
    if connection.pointee.codec.pointee.inFlight == 0 {
      connection.pointee.lastReceived = now
    } else if now >= trialDue(connection) {
      connection.pointee.codec.pointee.tryMore()
      connection.pointee.triedAt = now
    }
    // While the peer takes nothing, another connection can take waiting notifications.
    if connection.pointee.link.stalledSince != nil {
      guard try writeRecords(connection), connection.pointee.phase == .open else { return }
    }
    var isWhole = false
    var turns = Self.maxPasses
    repeat {
      if turns == 0 || turns < Self.maxPasses && isOutOfTime {
        isCutShort = true
        return
      }
      turns &-= 1
      // One record at a time, so that its answers are read soon.
      var begun = 0
      var streams = 0
      while begun < HTTP2Codec.recordSize, let size = beginStream(connection, looked, time) {
        begun &+= size
        streams &+= 1
        // nghttp2 keeps waiting frames in order, which costs less for few.
        if streams & 3 == 0 {
          let codec = connection.pointee.codec
          codec.fill(of: commonHeaders(codec))
        }
      }
      if case .connection = goal {
        isWhole = true
      } else {
        isWhole = begun < HTTP2Codec.recordSize
      }
      if streams > 0 { connection.pointee.heldSince = now }
      let owed = leftNext ? connection.pointee.codec.pointee.owed : 0
      let inFlight = connection.pointee.codec.pointee.inFlight
      // A stream that was begun waits for its answer, so all of it has to be written.
      guard try writeRecords(connection), connection.pointee.phase == .open
      else { return }
      // Data that found no room beside unacknowledged payloads may be sent in parts after them.
      if owed > 0, connection.pointee.codec.pointee.owed == 0 { isWhole = false }
      // A stream that was answered early ends when the rest of its request is written.
      if connection.pointee.codec.pointee.inFlight < inFlight { isWhole = false }
      if !isWhole {
        try receiveIfDue(connection)
        looked = connection.pointee.link.askedAt
        time = SendTime(nanoseconds: looked)
      }
    } while !isWhole && connection.pointee.phase == .open
  }

  /// Starts the next stream that is due and returns its size; nil if nothing is due or the
  /// connection accepts no stream.
  private mutating func beginStream(
    _ connection: UnsafeMutablePointer<HTTP2Connection>, _ now: Nanoseconds, _ time: SendTime
  ) -> Int? {
    let codec = connection.pointee.codec
    guard tokenDue == .max, let room = codec.pointee.room(), room > 0,
      let slot = isForApart(connection)
        ? outbox.pointee.takeApart()
        : outbox.pointee.takeDue(at: now)
    else { return nil }
    let request = outbox.pointee.request(slot)
    let payloadCount = request.payload.count
    guard codec.pointee.takes(ends: outbox.pointee.ends(slot)),
      room >= payloadCount || codec.pointee.owed == 0 && isLastResort
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
      lastFailure.note(error)
      return nil
    }
    guard let stream = codec.pointee.submit(slot, payloadCount: payloadCount) else {
      outbox.pointee.putBack(slot)
      return nil
    }
    if leftNext { tookLeft = true }
    outbox.pointee.sent(
      slot, on: UInt16(truncatingIfNeeded: connection.pointee.number), stream: stream,
      token: bearer.generation, at: time)
    return 2 &* request.token.count &+ payloadCount &+ 42
  }

  /// The header fields that all requests share.
  @inline(__always)
  private mutating func commonHeaders(
    _ codec: UnsafeMutablePointer<HTTP2Codec>
  ) -> CommonHeaders {
    if bearer.lacksField { writeBearer(codec) }
    return CommonHeaders(authority: defaults.authority, authorization: bearer.field)
  }

  @inline(never)
  private mutating func writeBearer(_ codec: UnsafeMutablePointer<HTTP2Codec>) {
    bearer.writeField { codec.write(authorization: $0, to: $1) }
  }

  /// A payload that fits into no window is sent in parts only if no other connection could have
  /// room for it: the peer may wait for the rest of a window before it grants more.
  private var isLastResort: Bool {
    if options.connections == 1 { return true }
    var taking = 0
    for number in 0..<connectionCount where connections[number].isTaking { taking &+= 1 }
    return outbox.pointee.inFlight == 0 && !hasRoomForConnection(beside: taking)
  }

  /// Writes records until nothing is left; false when the peer takes no more.
  mutating func writeRecords(
    _ connection: UnsafeMutablePointer<HTTP2Connection>
  ) throws(Failure) -> Bool {
    while true {
      let codec = connection.pointee.codec
      let inFlight = codec.pointee.inFlight
      guard let record = codec.fillRecord(of: commonHeaders(codec)) else {
        try connectionEnded(
          connection, Failure(APNS_ERR_PROTOCOL, "nghttp2 cannot continue on this connection"))
        return false
      }
      // A stream that was answered before all of it was written ends by the reset in this record.
      if connection.pointee.codec.pointee.inFlight < inFlight {
        connection.pointee.heldSince = connection.pointee.lastRead
      }
      if record.count == 0 { return true }
      switch network.write(connection.pointee.number, record) {
      case .bytes(let count):
        connection.pointee.codec.pointee.wrote(count)
        bytes &+= UInt64(count)
        records &+= 1
        if let since = connection.pointee.link.stalledSince {
          let now = network.now
          if now &- since >= shortPause { connection.pointee.tookAgain = now }
          connection.pointee.link.stalledSince = nil
        }
        if count == record.count, connection.pointee.codec.pointee.isAll { return true }
      case .full:
        try stalled(connection, mustRead: false)
        return false
      case .needsReading:
        try stalled(connection, mustRead: true)
        return false
      case .broken:
        // The reason may have arrived before the connection ended.
        if try hearOut(connection), connection.pointee.phase == .open {
          try connectionEnded(connection, network.failure(connection.pointee.number))
        }
        return false
      }
    }
  }

  @inline(never)
  private mutating func stalled(
    _ connection: UnsafeMutablePointer<HTTP2Connection>, mustRead: Bool
  ) throws(Failure) {
    let timeout = options.writeTimeout
    if connection.pointee.link.stalled(mustRead: mustRead, at: network.now, timeout: timeout) {
      return
    }
    guard try hearOut(connection), connection.pointee.phase == .open else { return }
    let failure = OutOfTime.stalled(for: timeout, on: network)
    try connectionEnded(connection, failure)
    throw failure
  }
}
