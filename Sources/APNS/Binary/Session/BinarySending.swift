import CAPNS

/// Takes notifications into the window, and writes them.
extension BinarySession where Net: ~Copyable {
  /// A TLS record carries at most this much (RFC 8446, 5.1).
  private static var recordSize: Int { 16 << 10 }

  /// Takes a notification into the window. Waits only without a connection, so that a send
  /// that cannot succeed takes nothing, or when the window is full.
  @inline(__always)
  mutating func take(
    _ notification: WireNotification, payloadCount: Int, deadline: Int32,
    userData: UnsafeMutableRawPointer?,
    payload: (UnsafeMutableRawPointer) -> UnsafeRawBufferPointer
  ) throws(Failure) -> UInt32 {
    let command = options.command
    var notification = notification
    notification.identifier = nextIdentifier
    guard
      let size = FrameEncoder.size(of: notification, payloadCount: payloadCount, as: command)
    else { throw tooLarge }
    if options.connections > 1 { chooseChannel(size) }
    waitsSince = 0
    if channels[taking].phase != .open, !options.neverWaits {
      if areFullOfOutcomes, channel(withRoomFor: size) == nil { throw isFull }
      waitsSince = network.now
      try connect()
    }
    var free = room(for: size, in: taking)
    if free == nil { free = try makeRoom(size) }
    guard let place = free else { throw isFull }
    let channel = channels + taking
    let identifier = takeIdentifier()
    notification.identifier = identifier
    let frame = channel.pointee.window.ring.address(place)
    notification.payload = payload(
      frame + FrameEncoder.payloadOffset(tokenCount: notification.token.count, as: command))
    FrameEncoder.encode(notification, as: command, size: size, into: frame)
    channel.pointee.window.commit(
      place, size: size, identifier: identifier, userData: userData,
      hasUsualToken: notification.token.count == WireNotification.usualToken,
      due: due(within: deadline))
    channel.pointee.queuedInTurn &+= size
    return identifier
  }

  private var tooLarge: Failure {
    @inline(never) get {
      Failure(
        APNS_ERR_ARGUMENT, "the notification is larger than the window",
        reject: APNS_REJECT_INVALID_PAYLOAD_SIZE)
    }
  }

  private var isFull: Failure {
    @inline(never) get {
      Failure(APNS_ERR_FULL) {
        $0.append("the window is full: take the ")
        $0.append(waitingOutcomes)
        $0.append(" outcomes that wait")
      }
    }
  }

  /// Unique in the session until the numbers wrap around, and never 0.
  @inline(__always)
  mutating func takeIdentifier() -> UInt32 {
    let identifier = nextIdentifier
    nextIdentifier = identifier == .max ? 1 : identifier &+ 1
    return identifier
  }

  /// Connections used at the same time alternate, one TLS record each, so that each carries its
  /// share. One without room or without a connection is skipped.
  private mutating func chooseChannel(_ size: Int) {
    channels[taking].window.giveWay()
    if channels[taking].queuedInTurn < Self.recordSize, channels[taking].phase == .open,
      room(for: size, in: taking) != nil
    {
      return
    }
    channels[taking].queuedInTurn = 0
    for step in 1...options.connections {
      let index = (taking &+ step) % options.connections
      if channels[index].phase == .open, !channels[index].isEnding,
        channels[index].window.hasRoom(for: size)
      {
        channels[index].window.giveWay()
        taking = index
        return
      }
    }
  }

  /// Reserves a frame's place. If the session has several connections, a connection that must be
  /// answered before it writes has no room: its frames would wait for an answer that may not come.
  @inline(__always)
  private func room(for size: Int, in index: Int) -> Int? {
    if options.connections > 1, channels[index].isEnding { return nil }
    return channels[index].window.reserve(size)
  }

  /// Resolves notifications in flight, so that their room can be used again.
  @inline(never)
  private mutating func makeRoom(_ size: Int) throws(Failure) -> Int? {
    guard size <= channels[0].window.largestFrame else { throw tooLarge }
    channels[taking].window.giveWay()
    if let place = room(for: size, in: taking) { return place }
    if areFullOfOutcomes, channel(withRoomFor: size) == nil {
      log?.at(network.now).full(waitingOutcomes, needsCaller: true)
      return nil
    }
    if channels[taking].window.reserve(size) == nil {
      log?.at(network.now).full(unresolved, needsCaller: false)
    }
    if options.neverWaits {
      guard try pursue(.room(size)) else { throw .noRoomYet }
    } else {
      if waitsSince == 0 { waitsSince = network.now }
      try run(until: .room(size), by: restOfWait)
    }
    guard let index = channel(withRoomFor: size) else { return nil }
    taking = index
    channels[index].window.giveWay()
    return room(for: size, in: index)
  }

  func hasRoom(for size: Int) -> Bool { channel(withRoomFor: size) != nil || areFullOfOutcomes }

  private func channel(withRoomFor size: Int) -> Int? {
    for index in 0..<options.connections where channels[index].window.hasRoom(for: size) {
      if options.connections == 1 || !channels[index].isEnding { return index }
    }
    return nil
  }

  /// Some connection is full of outcomes. If none has room, taking outcomes makes some soonest.
  private var areFullOfOutcomes: Bool {
    for index in 0..<options.connections where channels[index].window.isFullOfOutcomes {
      return true
    }
    return false
  }

  /// A whole record waits to be written.
  @inline(__always)
  var hasFullRecord: Bool { channels[taking].window.ring.unwritten >= Self.recordSize }

  @inline(never)
  mutating func connect() throws(Failure) {
    if channels[taking].phase == .open { return }
    if options.neverWaits { return try connectOnce() }
    try run(until: .connection, by: network.now &+ options.connectTimeout)
    // If the current channel has to wait, another one takes its place.
    for index in 0..<options.connections where channels[taking].phase != .open {
      if channels[index].phase == .open { taking = index }
    }
  }

  mutating func write(all: Bool) throws(Failure) {
    let rest = restOfWait
    waitsSince = 0
    try run(until: all ? .sending : .records, by: rest)
    if all { tellOutcomes() } else { awaitMore() }
  }

  /// Writes all queued notifications, on every channel.
  mutating func flush() throws(Failure) {
    let isReached = try run(until: .writing)
    tellOutcomes()
    if !isReached { throw .notYet }
  }

  /// Writes on an open connection until nothing is left or the peer takes no more.
  @inline(__always)
  mutating func write(_ channel: UnsafeMutablePointer<BinaryChannel>, all: Bool) throws(Failure) {
    while isDue(channel, all: all), try writeRecord(channel), channel.pointee.phase == .open {
      guard isDue(channel, all: all) else { break }
      try receiveIfDue(channel)
      guard channel.pointee.phase == .open else { return }
      if isOverdue(channel) {
        isCutShort = true
        return
      }
    }
    if channel.pointee.wantsProof || channel.pointee.window.hasDoubt
      || channel.pointee.sentinel.isBegun, channel.pointee.phase == .open
    {
      try writeSentinel(channel)
    }
  }

  /// A peer that takes everything at once must not keep a call for long.
  @inline(__always)
  private func isOverdue(_ channel: UnsafeMutablePointer<BinaryChannel>) -> Bool {
    channel.pointee.connection.lastLook &- (options.neverWaits ? 0 : 50_000_000) >= callEnds
  }

  @inline(__always)
  private func isDue(_ channel: UnsafeMutablePointer<BinaryChannel>, all: Bool) -> Bool {
    channel.pointee.window.hasUnwritten
      && (all || channel.pointee.window.ring.unwritten >= Self.recordSize)
  }

  /// False when that takes waiting.
  @inline(__always)
  private mutating func writeRecord(_ channel: UnsafeMutablePointer<BinaryChannel>) throws(Failure)
    -> Bool
  {
    if channel.pointee.firstWrite == nil || channel.pointee.pace.allowance != .max { pace(channel) }
    let allowed =
      channel.pointee.holdsBack
      ? leftToWrite(channel) : channel.pointee.pace.allowance &- channel.pointee.written
    let record = channel.pointee.window.nextRecord(limit: min(Self.recordSize, allowed))
    guard record.count > 0 else { return false }
    switch network.write(channel.pointee.connection.number, record) {
    case .bytes(let count):
      if log != nil { logFrames(channel, count) }
      channel.pointee.window.wrote(count)
      channel.pointee.written &+= count
      bytes &+= UInt64(count)
      records &+= 1
      if options.quietPeriod > 0 { channel.pointee.lastWrite = network.now }
      channel.pointee.connection.stalledSince = nil
      return true
    case .full:
      noteStalled(channel, record)
      try stalled(channel, mustRead: false)
    case .needsReading:
      noteStalled(channel, record)
      try stalled(channel, mustRead: true)
    case .broken: try broken(channel, network.failure(channel.pointee.connection.number))
    }
    return false
  }

  /// TLS keeps the bytes of the first attempt, and ignores bytes added in a later one.
  private func noteStalled(
    _ channel: UnsafeMutablePointer<BinaryChannel>, _ record: UnsafeRawBufferPointer
  ) {
    if channel.pointee.connection.stalledSince == nil {
      channel.pointee.stalledRecord = record.count
    }
  }

  @inline(never)
  mutating func broken(
    _ channel: UnsafeMutablePointer<BinaryChannel>, _ failure: Failure
  ) throws(Failure) {
    // The error packet may have arrived before the connection ended.
    try receive(channel)
    if channel.pointee.phase == .open { try connectionEnded(channel, failure) }
  }

  /// Works out how much the connection may carry by now, when it is new or rejections are coming.
  @inline(never)
  private mutating func pace(_ channel: UnsafeMutablePointer<BinaryChannel>) {
    let now = network.now
    if channel.pointee.firstWrite == nil {
      channel.pointee.firstWrite = now
      channel.pointee.proveDue = min(
        channel.pointee.proveDue, later(now, by: options.proveAfter))
      channel.pointee.pace.begin(window: channel.pointee.window.ring.size)
    }
    channel.pointee.pace.grow(at: now, written: channel.pointee.written)
  }

  /// When the connection may carry more than it does.
  @inline(__always)
  func paceDue(_ channel: UnsafeMutablePointer<BinaryChannel>) -> Nanoseconds {
    channel.pointee.window.hasUnwritten && channel.pointee.written >= channel.pointee.pace.allowance
      ? channel.pointee.pace.nextGrowth : .max
  }

  @inline(never)
  mutating func stalled(
    _ channel: UnsafeMutablePointer<BinaryChannel>, mustRead: Bool
  ) throws(Failure) {
    let longest = options.writeTimeout
    if channel.pointee.connection.stalled(mustRead: mustRead, at: network.now, atMost: longest) {
      return
    }
    // An unread error packet is the likeliest reason why nothing goes out.
    try receive(channel)
    guard channel.pointee.phase == .open else { return }
    let failure = OutOfTime.stalled(for: longest, on: network)
    try connectionEnded(channel, failure)
    throw failure
  }
}
