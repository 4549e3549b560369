import CAPNS
import CNGHTTP2

/// Taking notifications into the outbox, and sending them.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// Takes a notification. Waits only when there is no connection, so that a send that cannot
  /// succeed takes nothing, or when the outbox is full.
  mutating func take(
    _ push: HTTP2Request, userData: UnsafeMutableRawPointer?
  ) throws(Failure) -> UInt32 {
    let size = StoredRequest.size(of: push)
    guard size <= outbox.pointee.largestRequest else {
      throw Failure(
        APNS_ERR_ARGUMENT, "the notification is larger than the window",
        reject: APNS_REJECT_INVALID_PAYLOAD_SIZE)
    }
    waitsSince = 0
    if !hasConnection {
      waitsSince = network.now
      try connect()
    }
    var free = outbox.pointee.reserve(size)
    if free == nil {
      if !outbox.pointee.isFullOfOutcomes { try makeRoom(size) }
      free = outbox.pointee.reserve(size)
    }
    guard let place = free else {
      throw Failure(APNS_ERR_FULL) {
        $0.append(outbox.pointee.waitingOutcomes)
        $0.append(" outcomes wait to be taken")
      }
    }
    StoredRequest.write(push, to: outbox.pointee.address(place))
    let identifier = nextIdentifier
    nextIdentifier = identifier == .max ? 1 : identifier &+ 1
    let slot = outbox.pointee.commit(
      place, size: size, identifier: identifier, userData: userData,
      at: network.second)
    if let id = push.identifier { outbox.pointee.entries[slot].id = UUIDText.bytes(id) }
    queued &+= size
    return identifier
  }

  /// Waits for room for a whole record, so that the caller does not wait for each answer
  /// separately.
  @inline(never)
  private mutating func makeRoom(_ size: Int) throws(Failure) {
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
    try run(until: .connection, by: network.now &+ options.connectTimeout)
  }

  /// A record's worth waits to be sent.
  var hasFullRecord: Bool { queued >= HTTP2Connection.recordSize }

  /// Sends what waits: all of it, or whole records as long as the peer takes them.
  mutating func write(all: Bool) throws(Failure) {
    let rest = restOfWait
    queued = 0
    waitsSince = 0
    try run(until: all ? .sending : .records, by: rest)
  }

  /// When a call that has waited already has to end.
  private var restOfWait: Nanoseconds? {
    waitsSince == 0
      ? nil
      : options.limit(
        waitsSince &+ options.connectTimeout &+ options.writeTimeout, from: waitsSince)
  }

  /// Sends everything that waits.
  mutating func flush() throws(Failure) {
    waitsSince = 0
    try write(all: true)
  }

  /// Begins as many streams as the channel takes, and writes.
  mutating func send(
    _ channel: UnsafeMutablePointer<HTTP2Channel>, _ goal: HTTP2Goal
  ) throws(Failure) {
    let now = network.now
    let second = Self.second(now)
    // Nothing was expected until now.
    if channel.pointee.http.pointee.inFlight == 0 { channel.pointee.lastReceived = now }
    var isWhole = false
    var turns = Self.mostTurns
    repeat {
      if turns == 0 {
        wake = 0
        return
      }
      turns &-= 1
      // One record at a time, so that its answers are read soon.
      var begun = 0
      var streams = 0
      while begun < HTTP2Connection.recordSize, let size = try beginStream(channel, second) {
        begun &+= size
        streams &+= 1
        // nghttp2 keeps waiting frames in order, which costs less when there are few.
        if streams & 3 == 0 { channel.pointee.http.fill(of: authority) }
      }
      if case .connection = goal {
        isWhole = true
      } else {
        isWhole = begun < HTTP2Connection.recordSize
      }
      // A stream that was begun waits for its answer, so all of it has to be written.
      guard try writeRecords(channel), channel.pointee.phase == .open
      else { return }
      if !isWhole { try receiveIfDue(channel) }
    } while !isWhole && channel.pointee.phase == .open
  }

  /// Begins the next stream that is due and returns its size; nil when nothing is due or the
  /// channel takes none.
  private mutating func beginStream(
    _ channel: UnsafeMutablePointer<HTTP2Channel>, _ second: Seconds
  ) throws(Failure) -> Int? {
    let http = channel.pointee.http
    guard http.pointee.takes(payloadCount: 1), let slot = outbox.pointee.takeDue(at: second)
    else {
      return nil
    }
    let request = outbox.pointee.request(slot)
    let payloadCount = request.payload.count
    guard http.pointee.takes(doubts: outbox.pointee.entries[slot].doubts),
      http.pointee.takes(payloadCount: payloadCount)
        || http.pointee.takes(payloadCount: payloadCount, inParts: isLastResort)
    else {
      outbox.pointee.putBack(slot)
      return nil
    }
    do throws(Failure) {
      try tokens?.update(&bearer)
    } catch {
      outbox.pointee.putBack(slot)
      throw error
    }
    guard let stream = http.pointee.submit(slot, payloadCount: payloadCount) else {
      outbox.pointee.putBack(slot)
      return nil
    }
    outbox.pointee.sent(
      slot, on: UInt16(truncatingIfNeeded: channel.pointee.number), stream: stream, at: second)
    outbox.pointee.entries[slot].tokenGeneration = bearer.generation
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
    return outbox.pointee.inFlight == 0 && taking >= options.connections
  }

  /// Writes records until nothing is left; false when the peer takes no more.
  mutating func writeRecords(
    _ channel: UnsafeMutablePointer<HTTP2Channel>
  ) throws(Failure) -> Bool {
    while true {
      guard let record = channel.pointee.http.fillRecord(of: authority) else {
        try connectionEnded(
          channel, Failure(APNS_ERR_PROTOCOL, "HTTP/2 came to its end on this connection"))
        return false
      }
      if record.count == 0 { return true }
      switch network.write(channel.pointee.number, record) {
      case .bytes(let count):
        channel.pointee.http.pointee.wrote(count)
        bytes &+= UInt64(count)
        records &+= 1
        if let since = channel.pointee.connection.stalledSince {
          if network.now &- since >= 1_000_000_000 { channel.pointee.tookAgain = network.second }
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
        try receive(channel)
        if channel.pointee.phase == .open {
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
    if let time = channel.pointee.connection.stalled(
      mustRead: mustRead, at: network.now, atMost: longest)
    {
      wake = min(wake, time)
      return
    }
    try receive(channel)
    guard channel.pointee.phase == .open else { return }
    let failure = OutOfTime.stalled(for: longest, on: network)
    try connectionEnded(channel, failure)
    throw failure
  }
}
