import CAPNS
import CSystem

/// A session over the binary interface: keeps notifications in the window, writes them, and turns
/// the gateway's packets, or their absence, into outcomes.
struct BinarySession<Net: Network & ~Copyable>: ProviderSession, ~Copyable {
  let options: SessionOptions
  var network: Net
  /// One for each connection that is used at the same time.
  let connections: UnsafeMutablePointer<BinaryConnection>
  let metrics: UnsafeMutablePointer<apns_session_metrics_t>
  let untaken: UnsafeMutablePointer<Untaken>
  /// The connection that takes the next notification.
  var taking = 0
  var reconnects: Reconnects
  /// The identifier of the next notification.
  var nextIdentifier: UInt32
  var isCutShort = false
  /// When the call must return. Work that needs no waiting is still done.
  var callEnds = Nanoseconds.max
  var waitsSince: Nanoseconds = 0
  var usualDue: Nanoseconds = 0
  var passed = PassedPayload()
  var pushEnds = Nanoseconds.max
  var pushIdentifier: UInt32 = 0
  /// The connection of the push.
  var pushing = 0
  /// For a session that never waits.
  var standing = StandingWork()
  var firstTurn = 0
  var isClosed = false
  /// No more notifications are taken; the session only reads what still comes.
  var isShuttingDown = false
  var lastFailure = LastFailure()
  var connects: UInt64 = 0
  var bytes: UInt64 = 0
  var records: UInt64 = 0
  /// Nil without a log.
  let log: UnsafeMutablePointer<SessionLog>?

  static func make(
    _ options: SessionOptions, network: consuming Net, firstIdentifier: UInt32 = 1
  ) throws(Failure) -> BinarySession {
    let log = try options.log.open { network.append(to: &$0) }
    let connections = malloc(options.connections &* MemoryLayout<BinaryConnection>.stride)?
      .bindMemory(to: BinaryConnection.self, capacity: options.connections)
    let metrics = calloc(1, MemoryLayout<apns_session_metrics_t>.size)?
      .bindMemory(to: apns_session_metrics_t.self, capacity: 1)
    let untaken = UnsafeMutablePointer<Untaken>.make(
      options.reporting, release: options.userDataFree, log: log)
    var count = 0
    if let connections, let untaken {
      while count < options.connections,
        let window = Window(
          bytes: options.windowBytes / options.connections,
          untaken: untaken, zeroProves: options.zeroProves,
          limitsFlights: options.usesSentinel || options.quietPeriod > 0)
      {
        (connections + count).initialize(
          to: BinaryConnection(
            window: window, link: SessionLink(2 &* count),
            standby: SessionLink(2 &* count &+ 1)))
        count &+= 1
      }
    }
    guard let connections, let metrics, let untaken, count == options.connections else {
      end(connections, count, metrics, untaken, log)
      throw .outOfMemory
    }
    return BinarySession(options, network, log, connections, metrics, untaken, firstIdentifier)
  }

  /// Frees what there is.
  private static func end(
    _ connections: UnsafeMutablePointer<BinaryConnection>?, _ count: Int,
    _ metrics: UnsafeMutablePointer<apns_session_metrics_t>?,
    _ untaken: UnsafeMutablePointer<Untaken>?, _ log: UnsafeMutablePointer<SessionLog>?
  ) {
    connections?.deinitialize(count: count)
    free(connections)
    free(metrics)
    untaken?.end()
    log?.end()
  }

  private init(
    _ options: SessionOptions, _ network: consuming Net,
    _ log: UnsafeMutablePointer<SessionLog>?, _ connections: UnsafeMutablePointer<BinaryConnection>,
    _ metrics: UnsafeMutablePointer<apns_session_metrics_t>,
    _ untaken: UnsafeMutablePointer<Untaken>, _ firstIdentifier: UInt32
  ) {
    self.options = options
    self.network = network
    self.log = log
    self.connections = connections
    self.metrics = metrics
    self.untaken = untaken
    nextIdentifier = firstIdentifier == 0 ? 1 : firstIdentifier
    reconnects = Reconnects(
      maxPause: options.maxPause, perMinute: options.connectsPerMinute, log: log)
  }

  deinit {
    passed.end()
    Self.end(connections, options.connections, metrics, untaken, log)
  }
}

// MARK: Working towards a goal

extension SessionGoal {
  /// Only proof of what is in flight reaches the goal.
  var needsProof: Bool {
    switch self {
    case .room, .push, .ends: true
    default: false
    }
  }
}

extension BinarySession where Net: ~Copyable {
  var connectionCount: Int { options.connections }

  @_optimize(speed)
  @inline(never)
  mutating func serve(_ goal: SessionGoal, by deadline: Nanoseconds) -> Bool {
    callEnds = options.neverWaits ? network.now &+ Self.slice : deadline
    takeTurns(goal, by: deadline)
    expireAndDeliver()
    return true
  }

  @inline(__always)
  func isOver(_ deadline: Nanoseconds) -> Bool { options.neverWaits && network.now >= callEnds }

  var isStuck: Bool { !getsOn }

  @inline(never)
  func isReached(_ goal: SessionGoal) -> Bool {
    switch goal {
    case .records: return true
    case .connection: return hasConnection
    case .room(let size): return hasRoom(for: size)
    case .push: return hasPushed
    case .outcome where hasOutcome: return true
    case .writing, .sending, .closing, .outcome, .ends: break
    }
    for index in 0..<options.connections {
      switch goal {
      case .sending where connections[index].phase == .closed && hasConnection && isPausing: break
      case .writing where connections[index].hasUnwritten: return false
      case .sending where connections[index].hasUnwritten: return false
      case .closing where connections[index].phase == .open && connections[index].waitsToWrite:
        return false
      case .outcome where connections[index].window.unresolved > 0: return false
      case .ends where connections[index].window.unresolved > 0: return false
      default: break
      }
    }
    return true
  }

  private var isPausing: Bool { reconnects.earliest > network.now }

  var hasConnection: Bool {
    for index in 0..<options.connections where connections[index].phase == .open { return true }
    return false
  }

  /// Some connection is open or opening.
  private var getsOn: Bool {
    for index in 0..<options.connections where connections[index].phase != .closed { return true }
    return false
  }

  var outOfTime: Failure {
    @inline(never) get {
      var waiting = OutOfTime()
      for index in 0..<options.connections { waiting.note(connections[index].link) }
      return waiting.failure(
        on: network, reconnects, isConnected: hasConnection, unresolved: unresolved)
    }
  }

  @inline(__always)
  mutating func advance(_ number: Int, _ goal: SessionGoal) throws(Failure) {
    let connection = connections + number
    repeat {
      expireWaiting(connection)
      guard try ensureOpen(connection, goal) else { return }
      try receiveIfDue(connection)
      if connection.pointee.phase == .open { try work(connection, goal) }
    } while connection.pointee.phase == .closed && needsConnection(connection, goal)
  }

  /// Writes, proves and keeps a standby connection, all on an open connection.
  @inline(__always)
  private mutating func work(
    _ connection: UnsafeMutablePointer<BinaryConnection>, _ goal: SessionGoal
  ) throws(Failure) {
    noteProof(connection, isWanted: goal.needsProof)
    switch goal {
    case .connection: break
    case .records: try write(connection, all: connection.pointee.wantsProof)
    default: try write(connection, all: true)
    }
    try prove(connection, isWanted: goal.needsProof)
    if connection.pointee.phase == .open { keepStandby(connection, goal) }
  }

  @inline(never)
  func needsConnection(_ connection: UnsafeMutablePointer<BinaryConnection>, _ goal: SessionGoal)
    -> Bool
  {
    switch goal {
    case .connection: return true
    case .closing: return false
    case _ where connection.pointee.window.hasUnwritten: return true
    // Connections used at the same time are all kept open.
    case .records, .writing, .sending, .room: return options.connections > 1
    case .outcome, .push, .ends: return false
    }
  }
}
