import CAPNS
import CSystem

/// A provider's way to one gateway: queues notifications in the window, writes
/// them, and turns what the gateway says, or fails to say, into outcomes.
///
/// Nothing waits but `pursue`, which takes every lane as far as it goes, again and
/// again, until what the caller wants is reached.
struct BinarySession<Net: Network & ~Copyable>: ~Copyable {
  let options: SessionOptions
  var network: Net
  /// One for each connection that is used side by side.
  let lanes: UnsafeMutablePointer<Lane>
  /// The lane that takes the next notification.
  var taking = 0
  var reconnects: Reconnects
  /// The identifier of the next notification.
  var nextIdentifier: UInt32
  /// When the wait to come has to end at the latest.
  var wake: Int64 = 0
  /// When the call has to end, but for what is done without waiting.
  var callEnds = Int64.max
  /// When the call that takes a notification began to wait, 0 where it does not: what it
  /// writes then has the rest of the same time.
  var waitsSince: Int64 = 0
  let origin = ProcessOrigin()
  var isClosed = false
  /// Nothing more is taken: only last words are heard.
  var isLeaving = false

  var connects: UInt64 = 0
  var bytes: UInt64 = 0
  var records: UInt64 = 0

  static func make(
    _ options: SessionOptions, network: consuming Net, firstIdentifier: UInt32 = 1
  ) throws(Failure) -> BinarySession {
    guard
      let lanes = malloc(options.connections &* MemoryLayout<Lane>.stride)?
        .bindMemory(to: Lane.self, capacity: options.connections)
    else { throw .outOfMemory }
    for index in 0..<options.connections {
      guard
        let window = Window(
          bytes: options.windowBytes / options.connections,
          reportsAccepted: options.reportsAccepted, zeroProves: options.zeroProves,
          limitsFlights: options.usesSentinel || options.quietPeriod > 0)
      else {
        lanes.deinitialize(count: index)
        free(lanes)
        throw .outOfMemory
      }
      (lanes + index).initialize(
        to: Lane(window: window, line: Line(2 &* index), spare: Line(2 &* index &+ 1)))
    }
    return BinarySession(options, network, lanes, firstIdentifier)
  }

  private init(
    _ options: SessionOptions, _ network: consuming Net, _ lanes: UnsafeMutablePointer<Lane>,
    _ firstIdentifier: UInt32
  ) {
    self.options = options
    self.network = network
    self.lanes = lanes
    nextIdentifier = firstIdentifier == 0 ? 1 : firstIdentifier
    reconnects = Reconnects(
      longestPause: options.longestPause, perMinute: options.connectsPerMinute)
  }

  deinit {
    lanes.deinitialize(count: options.connections)
    free(lanes)
  }

  /// The point of the clock so many ms from now; negative: the session's own timeouts.
  func deadline(milliseconds: Int32) -> Int64 { network.now &+ options.time(milliseconds) }
}

// MARK: Pursuing

/// What a call wants to have come about before it returns.
enum Goal {
  /// Some lane is connected.
  case connection
  /// Whole records are handed over, as far as that needs no waiting.
  case records
  /// All that waits is written.
  case writing
  /// The same, but for lanes that may not connect yet while others are connected.
  case sending
  /// All that waits on open connections is written; none is made for the rest.
  case lastWriting
  /// A frame of so many bytes has room in some lane.
  case room(Int)
  /// Some outcome can be taken, or there will be none.
  case outcome
  /// Every notification has its end.
  case ends

  /// The goal is reached only by proof of what is in flight.
  var needsProof: Bool {
    switch self {
    case .room, .ends: true
    default: false
    }
  }

  /// All that waits is written meanwhile.
  var writesAll: Bool {
    switch self {
    case .connection, .records: false
    default: true
    }
  }
}

extension BinarySession where Net: ~Copyable {
  /// Works until the goal is reached or the deadline passed, whichever is first. Nil:
  /// the session's own timeouts, for which no clock is read where nothing has to wait.
  @_optimize(speed)
  @inline(never)
  mutating func pursue(_ goal: Goal, by given: Int64? = nil) throws(Failure) {
    var deadline = given ?? .max
    var limit = WaitLimit(options)
    while true {
      wake = deadline
      callEnds = deadline
      var failure: Failure?
      for index in 0..<options.connections {
        do throws(Failure) {
          try advance(lanes + index, goal)
        } catch {
          failure = error
          // The lane tries again, whatever the others wait for.
          wake = min(wake, reconnects.earliest)
        }
      }
      if isReached(goal) { return }
      // One lane's trouble is the caller's only where no other lane gets on.
      if let failure, !getsOn { throw failure }
      if deadline == .max { deadline = self.deadline(milliseconds: -1) }
      let now = network.now
      limit.apply(to: &deadline, at: now)
      wake = min(wake, deadline)
      if now >= deadline { throw outOfTime }
      network.wait(until: wake)
    }
  }

  @inline(never)
  private func isReached(_ goal: Goal) -> Bool {
    switch goal {
    case .records: return true
    case .connection: return hasConnection
    case .room(let size): return hasRoom(for: size)
    case .outcome where hasOutcome: return true
    case .writing, .sending, .lastWriting, .outcome, .ends: break
    }
    for index in 0..<options.connections {
      switch goal {
      case .sending where lanes[index].use == .closed && hasConnection && isPausing: break
      case .writing where lanes[index].hasUnwritten: return false
      case .sending where lanes[index].hasUnwritten: return false
      case .lastWriting where lanes[index].use == .open && lanes[index].waitsToWrite:
        return false
      case .outcome where lanes[index].window.unresolved > 0: return false
      case .ends where !lanes[index].window.isEmpty: return false
      default: break
      }
    }
    return true
  }

  private var isPausing: Bool { reconnects.earliest > network.now }

  var hasConnection: Bool {
    for index in 0..<options.connections where lanes[index].use == .open { return true }
    return false
  }

  /// Some lane has a connection, or may have one soon.
  private var getsOn: Bool {
    for index in 0..<options.connections where lanes[index].use != .closed { return true }
    return false
  }

  private var outOfTime: Failure {
    @inline(never) get {
      var waiting = OutOfTime()
      for index in 0..<options.connections { waiting.note(lanes[index].line) }
      let isPausing = !hasConnection && reconnects.earliest > network.now
      return waiting.failure(
        on: network, pausingAfter: isPausing ? reconnects.fruitless : nil,
        unresolved: unresolved, reason: reconnects.reason)
    }
  }

  /// Takes one lane towards the goal, as far as it goes without waiting, and notes
  /// what has to come before it goes on.
  @inline(__always)
  private mutating func advance(
    _ lane: UnsafeMutablePointer<Lane>, _ goal: Goal
  ) throws(Failure) {
    repeat {
      guard try bringOpen(lane, goal) else { return }
      try hearIfDue(lane)
      if lane.pointee.use == .open { try work(lane, goal) }
    } while lane.pointee.use == .closed && needsConnection(lane, goal)
    if lane.pointee.use == .open {
      // One that nothing will be written to could be written to all the while.
      let waitsToWrite = lane.pointee.line.waitsToWrite && goal.writesAll
      network.watch(lane.pointee.line.number, for: waitsToWrite ? [.reading, .writing] : .reading)
    }
  }

  /// Writes, proves, and keeps a spare line, all on an open line.
  @inline(__always)
  private mutating func work(
    _ lane: UnsafeMutablePointer<Lane>, _ goal: Goal
  ) throws(Failure) {
    noteProof(lane, isWanted: goal.needsProof)
    switch goal {
    case .connection: break
    case .records: try write(lane, all: lane.pointee.wantsProof)
    default: try write(lane, all: true)
    }
    try prove(lane, isWanted: goal.needsProof)
    if case .outcome = goal { awaitAge(lane) }
    if lane.pointee.use == .open { keepSpare(lane, goal) }
  }

  func needsConnection(_ lane: UnsafeMutablePointer<Lane>, _ goal: Goal) -> Bool {
    switch goal {
    case .connection: return true
    case .lastWriting: return false
    case _ where lane.pointee.window.hasUnwritten: return true
    // What is used side by side is there to be used.
    case .records, .writing, .sending, .room: return options.connections > 1
    case .outcome, .ends: return false
    }
  }
}
