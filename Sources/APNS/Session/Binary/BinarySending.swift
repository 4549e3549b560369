import CAPNS

/// Taking notifications into the window, and writing them.
extension BinarySession where Net: ~Copyable {
  /// A TLS record carries at most this much (RFC 8446, 5.1).
  private static var recordSize: Int { 16 << 10 }

  /// Takes a notification into the window; waits only where there is no connection, so
  /// that a send that cannot succeed takes nothing, or where the window is full.
  @inline(__always)
  mutating func take(
    _ notification: WireNotification, userData: UnsafeMutableRawPointer?
  ) throws(Failure) -> UInt32 {
    try take(notification, payloadCount: notification.payload.count, userData: userData) { _ in
      notification.payload
    }
  }

  /// The same with a payload that `payload` puts at its place in the frame, which it is
  /// handed and has room for the count, or has elsewhere.
  @inline(__always)
  mutating func take(
    _ notification: WireNotification, payloadCount: Int, userData: UnsafeMutableRawPointer?,
    payload: (UnsafeMutableRawPointer) -> UnsafeRawBufferPointer
  ) throws(Failure) -> UInt32 {
    let command = options.command
    var notification = notification
    notification.identifier = nextIdentifier
    guard
      let size = FrameEncoder.size(of: notification, payloadCount: payloadCount, as: command)
    else { throw tooLarge }
    if options.connections > 1 { chooseLane(size) }
    waitsSince = 0
    if lanes[taking].use != .open {
      waitsSince = network.now
      try connect()
    }
    var lane = lanes + taking
    var free = lane.pointee.window.reserve(size)
    if free == nil {
      free = try makeRoom(size)
      lane = lanes + taking
    }
    guard let place = free else { throw isFull }
    let identifier = takeIdentifier()
    notification.identifier = identifier
    let frame = lane.pointee.window.ring.address(place)
    notification.payload = payload(
      frame + FrameEncoder.payloadOffset(tokenCount: notification.token.count, as: command))
    FrameEncoder.encode(notification, as: command, size: size, into: frame)
    lane.pointee.window.commit(
      place, size: size, identifier: identifier, userData: userData,
      hasUsualToken: notification.token.count == WireNotification.usualToken)
    lane.pointee.queuedInTurn &+= size
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
        $0.append(waitingOutcomes)
        $0.append(" outcomes wait to be taken")
      }
    }
  }

  /// Unique in the session until it has come round, and never 0.
  @inline(__always)
  mutating func takeIdentifier() -> UInt32 {
    let identifier = nextIdentifier
    nextIdentifier = identifier == .max ? 1 : identifier &+ 1
    return identifier
  }

  /// Connections used side by side take turns, a record each, so that each carries
  /// its share; one that has no room or no connection is passed over.
  private mutating func chooseLane(_ size: Int) {
    if lanes[taking].queuedInTurn < Self.recordSize, lanes[taking].use == .open,
      lanes[taking].window.reserve(size) != nil
    {
      return
    }
    lanes[taking].queuedInTurn = 0
    for step in 1...options.connections {
      let index = (taking &+ step) % options.connections
      if lanes[index].use == .open, lanes[index].window.reserve(size) != nil {
        taking = index
        return
      }
    }
  }

  /// Learns the fate of what is in flight, so that its room can be used again.
  @inline(never)
  private mutating func makeRoom(_ size: Int) throws(Failure) -> Int? {
    guard size <= lanes[0].window.largestFrame else { throw tooLarge }
    if areFullOfOutcomes { return nil }
    if waitsSince == 0 { waitsSince = network.now }
    try pursue(.room(size), by: restOfWait)
    for index in 0..<options.connections {
      if let place = lanes[index].window.reserve(size) {
        taking = index
        return place
      }
    }
    return nil
  }

  func hasRoom(for size: Int) -> Bool {
    for index in 0..<options.connections where lanes[index].window.reserve(size) != nil {
      return true
    }
    return areFullOfOutcomes
  }

  private var areFullOfOutcomes: Bool {
    for index in 0..<options.connections where !lanes[index].window.isFullOfOutcomes {
      return false
    }
    return true
  }

  /// A record's worth waits to be written.
  @inline(__always)
  var hasFullRecord: Bool { lanes[taking].window.ring.unwritten >= Self.recordSize }

  @inline(never)
  mutating func connect() throws(Failure) {
    if lanes[taking].use == .open { return }
    try pursue(.connection, by: network.now &+ options.connectTimeout)
    // Where the lane whose turn it is has to wait, another takes its place.
    for index in 0..<options.connections where lanes[taking].use != .open {
      if lanes[index].use == .open { taking = index }
    }
  }

  /// Writes what waits: all of it, or whole records as far as the peer takes them.
  mutating func write(all: Bool) throws(Failure) {
    let rest = restOfWait
    waitsSince = 0
    try pursue(all ? .sending : .records, by: rest)
  }

  /// When a call has to end that has waited already.
  private var restOfWait: Int64? {
    waitsSince == 0
      ? nil
      : options.limit(
        waitsSince &+ options.connectTimeout &+ options.writeTimeout, from: waitsSince)
  }

  /// Writes all that waits, on every lane.
  mutating func flush() throws(Failure) { try pursue(.writing) }

  /// Writes on an open line until nothing is left or the peer takes no more.
  @inline(__always)
  mutating func write(_ lane: UnsafeMutablePointer<Lane>, all: Bool) throws(Failure) {
    while isDue(lane, all: all), try writeRecord(lane), lane.pointee.use == .open {
      guard isDue(lane, all: all) else { break }
      try hearIfDue(lane)
      guard lane.pointee.use == .open, !isOverdue(lane) else { return }
    }
    if lane.pointee.wantsProof || lane.pointee.window.hasDoubt, lane.pointee.use == .open {
      try writeSentinel(lane)
    }
  }

  /// A peer that takes all there is as fast as it comes keeps no call for long.
  @inline(__always)
  private func isOverdue(_ lane: UnsafeMutablePointer<Lane>) -> Bool {
    lane.pointee.line.lastLook &- 50_000_000 >= callEnds
  }

  @inline(__always)
  private func isDue(_ lane: UnsafeMutablePointer<Lane>, all: Bool) -> Bool {
    lane.pointee.window.hasUnwritten
      && (all || lane.pointee.window.ring.unwritten >= Self.recordSize)
  }

  /// False where that takes waiting.
  @inline(__always)
  private mutating func writeRecord(_ lane: UnsafeMutablePointer<Lane>) throws(Failure) -> Bool {
    if lane.pointee.firstWrite == nil || lane.pointee.pace.allowance != .max { pace(lane) }
    let allowed =
      lane.pointee.holdsBack ? 0 : lane.pointee.pace.allowance &- lane.pointee.written
    let record = lane.pointee.window.nextRecord(limit: min(Self.recordSize, allowed))
    guard record.count > 0 else { return false }
    switch network.write(lane.pointee.line.number, record) {
    case .bytes(let count):
      lane.pointee.window.wrote(count)
      lane.pointee.written &+= count
      bytes &+= UInt64(count)
      records &+= 1
      if options.quietPeriod > 0 { lane.pointee.lastWrite = network.now }
      lane.pointee.line.stalledSince = nil
      return true
    case .full: try stalled(lane, mustRead: false)
    case .needsReading: try stalled(lane, mustRead: true)
    case .broken: try broken(lane, network.failure(lane.pointee.line.number))
    }
    return false
  }

  @inline(never)
  mutating func broken(
    _ lane: UnsafeMutablePointer<Lane>, _ failure: Failure
  ) throws(Failure) {
    // The packet that says why may have come before the connection went.
    try hear(lane)
    if lane.pointee.use == .open { try connectionEnded(lane, failure) }
  }

  /// Sees to what the line may carry by now; a line that is new, or one where rejections come.
  @inline(never)
  private mutating func pace(_ lane: UnsafeMutablePointer<Lane>) {
    let now = network.now
    if lane.pointee.firstWrite == nil {
      lane.pointee.firstWrite = now
      lane.pointee.proveDue = min(
        lane.pointee.proveDue, later(now, by: options.proveAfter))
      lane.pointee.pace.begin(window: lane.pointee.window.ring.size)
    }
    lane.pointee.pace.grow(at: now, written: lane.pointee.written)
    if lane.pointee.written >= lane.pointee.pace.allowance {
      wake = min(wake, lane.pointee.pace.nextGrowth)
    }
  }

  @inline(never)
  mutating func stalled(
    _ lane: UnsafeMutablePointer<Lane>, mustRead: Bool
  ) throws(Failure) {
    let longest = options.writeTimeout
    if let time = lane.pointee.line.stalled(mustRead: mustRead, at: network.now, atMost: longest) {
      wake = min(wake, time)
      return
    }
    // An error packet that lies unread is the likeliest reason why nothing goes out.
    try hear(lane)
    guard lane.pointee.use == .open else { return }
    let failure = OutOfTime.stalled(for: longest, on: network)
    try connectionEnded(lane, failure)
    throw failure
  }
}
