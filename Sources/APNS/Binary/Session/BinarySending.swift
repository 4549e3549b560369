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
    if connections[taking].phase != .open, !options.neverWaits {
      if areFullOfOutcomes, connection(withRoomFor: size) == nil { throw isFull }
      waitsSince = network.now
      try connect()
    }
    var free = room(for: size, in: taking)
    if free == nil { free = try makeRoom(size) }
    guard let place = free else { throw isFull }
    let connection = connections + taking
    let identifier = takeIdentifier()
    notification.identifier = identifier
    let frame = connection.pointee.window.ring.address(place)
    notification.payload = payload(
      frame + FrameEncoder.payloadOffset(tokenCount: notification.token.count, as: command))
    FrameEncoder.encode(notification, as: command, size: size, into: frame)
    connection.pointee.window.commit(
      place, size: size, identifier: identifier, userData: userData,
      hasUsualToken: notification.token.count == WireNotification.usualToken,
      due: due(within: deadline))
    connection.pointee.queuedInTurn &+= size
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
    connections[taking].window.giveWay()
    if connections[taking].queuedInTurn < Self.recordSize, connections[taking].phase == .open,
      room(for: size, in: taking) != nil
    {
      return
    }
    connections[taking].queuedInTurn = 0
    for step in 1...options.connections {
      let index = (taking &+ step) % options.connections
      if connections[index].phase == .open, !connections[index].isEnding,
        connections[index].window.hasRoom(for: size)
      {
        connections[index].window.giveWay()
        taking = index
        return
      }
    }
  }

  /// Reserves a frame's place. If the session has several connections, a connection that must be
  /// answered before it writes has no room: its frames would wait for an answer that may not come.
  @inline(__always)
  private func room(for size: Int, in index: Int) -> Int? {
    if options.connections > 1, connections[index].isEnding { return nil }
    return connections[index].window.reserve(size)
  }

  /// Resolves notifications in flight, so that their room can be used again.
  @inline(never)
  private mutating func makeRoom(_ size: Int) throws(Failure) -> Int? {
    guard size <= connections[0].window.largestFrame else { throw tooLarge }
    connections[taking].window.giveWay()
    if let place = room(for: size, in: taking) { return place }
    if areFullOfOutcomes, connection(withRoomFor: size) == nil {
      log?.at(network.now).full(waitingOutcomes, needsCaller: true)
      return nil
    }
    if connections[taking].window.reserve(size) == nil {
      log?.at(network.now).full(unresolved, needsCaller: false)
    }
    if options.neverWaits {
      guard try pursue(.room(size)) else { throw .noRoomYet }
    } else {
      if waitsSince == 0 { waitsSince = network.now }
      try run(until: .room(size), by: restOfWait)
    }
    guard let index = connection(withRoomFor: size) else { return nil }
    taking = index
    connections[index].window.giveWay()
    return room(for: size, in: index)
  }

  func hasRoom(for size: Int) -> Bool { connection(withRoomFor: size) != nil || areFullOfOutcomes }

  private func connection(withRoomFor size: Int) -> Int? {
    for index in 0..<options.connections where connections[index].window.hasRoom(for: size) {
      if options.connections == 1 || !connections[index].isEnding { return index }
    }
    return nil
  }

  /// Some connection is full of outcomes. If none has room, taking outcomes makes some soonest.
  private var areFullOfOutcomes: Bool {
    for index in 0..<options.connections where connections[index].window.isFullOfOutcomes {
      return true
    }
    return false
  }

  /// A whole record waits to be written.
  @inline(__always)
  var hasFullRecord: Bool {
    connections[taking].window.ring.unwritten &- connections[taking].leftUnwritten
      >= Self.recordSize
  }

  @inline(never)
  mutating func connect() throws(Failure) {
    if connections[taking].phase == .open { return }
    if options.neverWaits { return try connectOnce() }
    try run(until: .connection, by: network.now &+ options.connectTimeout)
    // If the current connection has to wait, another one takes its place.
    for index in 0..<options.connections where connections[taking].phase != .open {
      if connections[index].phase == .open { taking = index }
    }
  }

  mutating func write(all: Bool) throws(Failure) {
    let rest = restOfWait
    waitsSince = 0
    try run(until: all ? .sending : .records, by: rest)
    if all { return reportOutcomes() }
    if options.neverWaits, hasFullRecord {
      connections[taking].leftUnwritten = connections[taking].window.ring.unwritten
    }
    awaitMore()
  }

  /// Writes all queued notifications, on every connection.
  mutating func flush() throws(Failure) {
    let isReached = try run(until: .writing)
    reportOutcomes()
    if !isReached { throw .notYet }
  }

  /// Writes on an open connection until nothing is left or the peer takes no more.
  @inline(__always)
  mutating func write(_ connection: UnsafeMutablePointer<BinaryConnection>, all: Bool)
    throws(Failure)
  {
    while isDue(connection, all: all), try writeRecord(connection),
      connection.pointee.phase == .open
    {
      guard isDue(connection, all: all) else { break }
      try receiveIfDue(connection)
      guard connection.pointee.phase == .open else { return }
      if isTimedOut(connection) {
        isCutShort = true
        return
      }
    }
    if connection.pointee.wantsProof || connection.pointee.window.hasDoubt
      || connection.pointee.traffic.sentinel.isBegun, connection.pointee.phase == .open
    {
      try writeSentinel(connection)
    }
  }

  /// A peer that takes everything at once must not keep a call for long.
  @inline(__always)
  private func isTimedOut(_ connection: UnsafeMutablePointer<BinaryConnection>) -> Bool {
    connection.pointee.link.lastLook &- (options.neverWaits ? 0 : 50_000_000) >= callEnds
  }

  @inline(__always)
  private func isDue(_ connection: UnsafeMutablePointer<BinaryConnection>, all: Bool) -> Bool {
    connection.pointee.window.hasUnwritten
      && (all || connection.pointee.window.ring.unwritten >= Self.recordSize)
  }

  /// False when that takes waiting.
  @inline(__always)
  private mutating func writeRecord(_ connection: UnsafeMutablePointer<BinaryConnection>)
    throws(Failure)
    -> Bool
  {
    if connection.pointee.traffic.firstWrite == nil || connection.pointee.pace.allowance != .max {
      pace(connection)
    }
    let allowed =
      connection.pointee.holdsBack
      ? leftToWrite(connection)
      : connection.pointee.pace.allowance &- connection.pointee.traffic.written
    let record = connection.pointee.window.nextRecord(limit: min(Self.recordSize, allowed))
    guard record.count > 0 else { return false }
    switch network.write(connection.pointee.link.number, record) {
    case .bytes(let count):
      if log != nil { logFrames(connection, count) }
      connection.pointee.window.wrote(count)
      connection.pointee.traffic.written &+= count
      bytes &+= UInt64(count)
      records &+= 1
      if options.quietPeriod > 0 { connection.pointee.traffic.lastWrite = network.now }
      connection.pointee.link.stalledSince = nil
      connection.pointee.leftUnwritten = 0
      return true
    case .full:
      noteStalled(connection, record)
      try stalled(connection, mustRead: false)
    case .needsReading:
      noteStalled(connection, record)
      try stalled(connection, mustRead: true)
    case .broken: try broken(connection, network.failure(connection.pointee.link.number))
    }
    return false
  }

  /// TLS keeps the bytes of the first attempt, and ignores bytes added in a later one.
  private func noteStalled(
    _ connection: UnsafeMutablePointer<BinaryConnection>, _ record: UnsafeRawBufferPointer
  ) {
    if connection.pointee.link.stalledSince == nil {
      connection.pointee.traffic.stalledRecord = record.count
    }
  }

  @inline(never)
  mutating func broken(
    _ connection: UnsafeMutablePointer<BinaryConnection>, _ failure: Failure
  ) throws(Failure) {
    // The error packet may have arrived before the connection ended.
    try receive(connection)
    if connection.pointee.phase == .open { try connectionEnded(connection, failure) }
  }

  /// Works out how much the connection may carry by now, when it is new or rejections are coming.
  @inline(never)
  private mutating func pace(_ connection: UnsafeMutablePointer<BinaryConnection>) {
    let now = network.now
    if connection.pointee.traffic.firstWrite == nil {
      connection.pointee.traffic.firstWrite = now
      connection.pointee.proveDue = min(
        connection.pointee.proveDue, later(now, by: options.proveAfter))
      connection.pointee.pace.begin(window: connection.pointee.window.ring.size)
    }
    connection.pointee.pace.grow(at: now, written: connection.pointee.traffic.written)
  }

  /// When the connection may carry more than it does.
  @inline(__always)
  func paceDue(_ connection: UnsafeMutablePointer<BinaryConnection>) -> Nanoseconds {
    connection.pointee.window.hasUnwritten
      && connection.pointee.traffic.written >= connection.pointee.pace.allowance
      ? connection.pointee.pace.nextGrowth : .max
  }

  @inline(never)
  mutating func stalled(
    _ connection: UnsafeMutablePointer<BinaryConnection>, mustRead: Bool
  ) throws(Failure) {
    let timeout = options.writeTimeout
    if connection.pointee.link.stalled(mustRead: mustRead, at: network.now, timeout: timeout) {
      return
    }
    // An unread error packet is the likeliest reason why nothing goes out.
    try receive(connection)
    guard connection.pointee.phase == .open else { return }
    let failure = OutOfTime.stalled(for: timeout, on: network)
    try connectionEnded(connection, failure)
    throw failure
  }
}
