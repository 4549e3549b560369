import CAPNS
import CSystem

/// A session over HTTP/2: keeps notifications in the outbox, sends them as streams on as many
/// connections as that takes, and turns answers into outcomes.
struct HTTP2Session<
  Net: Network & ~Copyable, Tokens: TokenSource & ~Copyable
>: ProviderSession, ~Copyable {
  let options: SessionOptions
  var network: Net
  var defaults: RequestDefaults
  /// The source of provider tokens, and this session's copy of the last one; nil if a certificate
  /// identifies the provider.
  var tokens: Tokens?
  var bearer: BearerText
  let outbox: UnsafeMutablePointer<Outbox>
  let gone: UnsafeMutablePointer<GoneDevices>
  let untaken: UnsafeMutablePointer<Untaken>
  /// Twice as many as connections are used side by side, for those that are being left but still owe
  /// answers, and one for what flies apart from others.
  let connections: UnsafeMutablePointer<HTTP2Connection>
  let connectionCount: Int
  /// Where bytes are read to first, a record at a time: too much for the stack.
  let readBuffer: UnsafeMutableRawBufferPointer
  var reconnects: Reconnects
  var readDelay = ReadDelay()
  var nextIdentifier: UInt32 = 1
  /// Bytes taken since the last call that wrote.
  var queued = 0
  var waitsSince: Nanoseconds = 0
  var isCutShort = false
  var usualDue: Nanoseconds = 0
  var passed = PassedPayload()
  /// When this call has to end, for a session that never waits; `max` otherwise.
  var callEnds = Nanoseconds.max
  var pushEnds = Nanoseconds.max
  var pushIdentifier: UInt32 = 0
  /// For a session that never waits.
  var standing = StandingWork()
  var firstTurn = 0
  /// For a session that never waits: until when answers pile up, to be read together; 0: they are
  /// read as they come.
  private(set) var readAt: Nanoseconds = 0
  var isClosed = false
  /// No more notifications are taken; the session only waits for answers.
  var isShuttingDown = false

  /// The connection for notifications sent apart from others; negative if none must be.
  var apart = -1 { didSet { if apart >= 0 { hadExtra = true } } }
  /// There may be an extra connection: for notifications sent apart, or beside a held one.
  var hadExtra = false

  /// Maximum number of connections, draining ones included; `max`: unlimited.
  var connectionLimit = Int.max

  /// When something was last read, to measure response times.
  var heardAt = SendTime(0, 0)
  /// When a provider token that was not available in this pass is requested again; `max`: none is
  /// missing.
  var tokenDue = Nanoseconds.max
  /// When the pass began to look for retries; nil without retries.
  private(set) var triedAt: Nanoseconds?
  /// In this pass a connection could not send the next notification; and then another one sent it, so
  /// that the first may send the following ones.
  var leftNext = false
  var tookLeft = false
  /// A connection was left because its response asked for another one, and nothing was accepted
  /// since.
  var hasLeftInVain = false
  var lastFailure = LastFailure()
  var connects: UInt64 = 0
  var bytes: UInt64 = 0
  var records: UInt64 = 0
  /// Notifications to be resent because they were in flight, for the log.
  var sentAgain: UInt64 = 0
  /// Nil without a log.
  let log: UnsafeMutablePointer<SessionLog>?

  @inline(never)
  static func make(
    _ options: SessionOptions, defaults: consuming RequestDefaults, tokens: consuming Tokens?,
    network: consuming Net
  ) throws(Failure) -> HTTP2Session {
    var bearer = try BearerText()
    let log = try options.log.open { network.append(to: &$0) }
    bearer.log = log
    let untaken = UnsafeMutablePointer<Untaken>.make(
      options.reporting, release: options.userDataFree, log: log)
    let outbox = untaken.flatMap {
      Outbox.make(
        bytes: options.windowBytes, untaken: $0, keepsOrder: options.keepsDeviceOrder)
    }
    let gone = UnsafeMutablePointer<GoneDevices>.make()
    let readBuffer = malloc(HTTP2Codec.recordSize)
    let connections = malloc(options.places &* MemoryLayout<HTTP2Connection>.stride)?
      .bindMemory(to: HTTP2Connection.self, capacity: options.places)
    var count = 0
    if let connections, let outbox {
      while count < options.places,
        let codec = HTTP2Codec.make(number: count, outbox: outbox, log: log)
      {
        (connections + count).initialize(to: HTTP2Connection(SessionLink(count), codec, at: 0))
        count &+= 1
      }
    }
    guard let untaken, let outbox, let gone, let readBuffer, let connections,
      count == options.places
    else {
      end(connections, count, readBuffer, gone, outbox, untaken, log)
      throw .outOfMemory
    }
    return HTTP2Session(
      options, defaults, tokens, bearer, network, outbox, gone, untaken, log, connections, count,
      readBuffer)
  }

  /// Frees what there is.
  private static func end(
    _ connections: UnsafeMutablePointer<HTTP2Connection>?, _ count: Int,
    _ readBuffer: UnsafeMutableRawPointer?, _ gone: UnsafeMutablePointer<GoneDevices>?,
    _ outbox: UnsafeMutablePointer<Outbox>?, _ untaken: UnsafeMutablePointer<Untaken>?,
    _ log: UnsafeMutablePointer<SessionLog>?
  ) {
    for number in 0..<count { connections?[number].codec.end() }
    free(connections)
    free(readBuffer)
    gone?.release()
    if let outbox { Outbox.end(outbox) }
    untaken?.end()
    log?.end()
  }

  private init(
    _ options: SessionOptions, _ defaults: consuming RequestDefaults, _ tokens: consuming Tokens?,
    _ bearer: consuming BearerText, _ network: consuming Net,
    _ outbox: UnsafeMutablePointer<Outbox>, _ gone: UnsafeMutablePointer<GoneDevices>,
    _ untaken: UnsafeMutablePointer<Untaken>, _ log: UnsafeMutablePointer<SessionLog>?,
    _ connections: UnsafeMutablePointer<HTTP2Connection>, _ count: Int,
    _ readBuffer: UnsafeMutableRawPointer
  ) {
    self.options = options
    self.defaults = defaults
    self.tokens = tokens
    self.bearer = bearer
    self.network = network
    self.outbox = outbox
    self.gone = gone
    self.untaken = untaken
    self.log = log
    self.connections = connections
    connectionCount = count
    self.readBuffer = UnsafeMutableRawBufferPointer(
      start: readBuffer, count: HTTP2Codec.recordSize)
    reconnects = Reconnects(
      maxPause: options.maxPause, perMinute: options.connectsPerMinute, log: log)
  }

  deinit {
    passed.end()
    Self.end(connections, connectionCount, readBuffer.baseAddress, gone, outbox, untaken, log)
  }
}

// MARK: Working towards a goal

extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  @inline(__always)
  mutating func begin(_ deadline: inout Nanoseconds) {
    if options.neverWaits { return beginTurns() }
    // The work for each connection is bounded; for many together, the clock bounds it.
    if deadline == .max, options.connections > 1 {
      deadline = now &+ options.sendTime
    }
  }

  @inline(__always)
  mutating func serve(_ goal: SessionGoal, by deadline: Nanoseconds) -> Bool {
    expireWaiting()
    // Retries whose time has come are sent while streams are free.
    triedAt = outbox.pointee.nextTry == nil ? nil : network.now
    if outbox.pointee.hasApart { chooseApart() }
    tokenDue = .max
    (leftNext, tookLeft) = (false, false)
    takeTurns(goal, by: deadline)
    // Notifications that finished in this pass may have left an idle connection for them.
    if outbox.pointee.hasApart, chooseApart() { isCutShort = true }
    // Notifications that could not be sent here may go out on another connection immediately.
    let isChecked = takeResponses()
    let hadDue = expire()
    if !lastFailure.isThere, outbox.pointee.takeNewAgain() || isChecked || hadDue || tookLeft {
      if !isOutOfTime { return false }
      isCutShort = true
    } else if hadDue {
      isCutShort = true
    }
    deliver()
    return true
  }

  /// Without a provider token no connection makes progress.
  var isStuck: Bool { !getsOn || tokenDue != .max }

  mutating func wait(for goal: SessionGoal, until deadline: Nanoseconds, _ now: Nanoseconds) {
    let due = min(deadline, nextDue(goal, now))
    let pause = readDelay.pause(
      inFlight: outbox.pointee.inFlight,
      responses: outbox.pointee.accepted &+ outbox.pointee.rejected, at: now)
    if pause > 0, pause < due &- now { network.pause(pause) }
    watch()
    network.wait(until: due)
  }

  mutating func arm(until deadline: Nanoseconds) {
    let now = network.now
    watch()
    let due = min(deadline, nextDue(standing.goal, now))
    network.arm(until: gatherResponses(until: due, now))
  }

  /// A call of a session that never waits begins.
  @inline(never)
  private mutating func beginTurns() {
    let now = network.now
    callEnds = now &+ Self.slice
    guard readAt != 0, now >= readAt else { return }
    readAt = 0
    // Nobody has watched for them.
    for number in 0..<connectionCount where connections[number].phase == .open {
      connections[number].isUnread = true
    }
  }

  /// Leaves answers that come one by one unread for a moment, as a session that waits does. Returns
  /// when there is something to do; `due`: when there is without them.
  private mutating func gatherResponses(until due: Nanoseconds, _ now: Nanoseconds) -> Nanoseconds {
    if readAt == 0 {
      let pause = readDelay.pause(
        inFlight: outbox.pointee.inFlight,
        responses: outbox.pointee.accepted &+ outbox.pointee.rejected, at: now)
      if pause > 0, due > now, pause < due &- now { readAt = now &+ pause }
    }
    guard readAt != 0 else { return due }
    for number in 0..<connectionCount where connections[number].phase == .open {
      network.ignoreUnread(number)
    }
    return min(due, readAt)
  }

  /// The call has worked long enough, in a session that never waits.
  @inline(__always)
  var isOutOfTime: Bool { callEnds != .max && network.now >= callEnds }

  /// The deadline has passed by so much that the remaining connections miss this pass.
  @inline(__always)
  func isOver(_ deadline: Nanoseconds) -> Bool {
    isOutOfTime
      || deadline != .max && options.connections > 1 && network.now &- deadline > 20_000_000
  }

  @inline(never)
  func isReached(_ goal: SessionGoal) -> Bool {
    switch goal {
    case .records: return true
    case .connection: return hasConnection
    case .room(let size):
      return outbox.pointee.reserve(size) != nil || outbox.pointee.isFullOfOutcomes
    case .outcome: return hasOutcome || outbox.pointee.unresolved == 0
    case .push: return outbox.pointee.hasPushed
    case .ends: return outbox.pointee.unresolved == 0
    case .sending, .writing:
      return !outbox.pointee.isDue(at: network.now) && !hasUnwritten
    case .closing: return outbox.pointee.inFlight == 0
    }
  }

  @inline(__always)
  private var hasUnwritten: Bool {
    for number in 0..<connectionCount where connections[number].phase == .open {
      if connections[number].codec.pointee.hasUnwritten { return true }
    }
    return false
  }

  @inline(__always)
  var hasConnection: Bool {
    for number in 0..<connectionCount
    where connections[number].phase == .open && connections[number].isTaking {
      return true
    }
    return false
  }

  /// Some connection is open or opening.
  var getsOn: Bool {
    @inline(never) get {
      for number in 0..<connectionCount where connections[number].phase != .closed { return true }
      return false
    }
  }

  var outOfTime: Failure {
    @inline(never) get {
      var waiting = OutOfTime()
      for number in 0..<connectionCount { waiting.note(connections[number].link) }
      return waiting.failure(
        on: network, reconnects, isConnected: hasConnection, unresolved: unresolved)
    }
  }

  mutating func advance(_ number: Int, _ goal: SessionGoal) throws(Failure) {
    let connection = connections + number
    var turns = Self.maxPasses
    repeat {
      if turns == 0 || turns < Self.maxPasses && isOutOfTime {
        // Time to read the clock and to serve other connections.
        isCutShort = true
        break
      }
      turns &-= 1
      guard try ensureOpen(connection, goal) else { return }
      try receiveIfDue(connection)
      if connection.pointee.phase == .open { try askIfSilent(connection) }
      if connection.pointee.phase == .open { try send(connection, goal) }
      if connection.pointee.phase == .open { try awaitResponses(connection) }
    } while connection.pointee.phase == .closed
      ? needsConnection(goal) || isMissing(connection.pointee.number, goal)
      : connection.pointee.phase == .open && connection.pointee.isUnread
  }

  /// How often a connection reads and sends a record before the session reads the clock.
  static var maxPasses: Int { 64 }

  /// A connection is needed when something is due and the open ones already carry all the streams
  /// they may.
  @inline(never)
  func needsConnection(_ goal: SessionGoal) -> Bool {
    switch goal {
    case .closing: return false
    case .connection: break
    case .records, .writing, .sending, .room, .outcome, .push, .ends:
      if outbox.pointee.hasNothingToSend { return false }
    }
    let now = network.now
    var (taking, held) = (0, 0)
    for number in 0..<connectionCount
    where connections[number].isTaking && !isForApart(connections + number) {
      taking &+= 1
      if held < options.connections, now >= heldDue(connections + number) {
        held &+= 1
        continue
      }
      // An opening connection will show how much it takes.
      if connections[number].phase == .opening { return false }
      if case .connection = goal { return false }
      if connections[number].link.stalledSince != nil { continue }
      let codec = connections[number].codec
      if codec.pointee.isNew { return false }
      if let room = codec.pointee.room(), room >= options.payloadMax { return false }
    }
    guard hasRoomForConnection(beside: taking &- held) else { return false }
    if case .connection = goal { return true }
    return outbox.pointee.isDue(at: now)
  }
}
