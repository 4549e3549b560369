import CAPNS
import CSystem

/// A session over the binary interface: keeps notifications in the window, writes them, and turns
/// what the gateway says, or does not say, into outcomes.
///
/// Only `run` waits. It takes every channel as far as possible, again and again, until the caller's
/// goal is reached.
struct BinarySession<Net: Network & ~Copyable>: ~Copyable {
  let options: SessionOptions
  var network: Net
  /// One for each connection that is used side by side.
  let channels: UnsafeMutablePointer<BinaryChannel>
  /// The channel that takes the next notification.
  var taking = 0
  var reconnects: Reconnects
  /// The identifier of the next notification.
  var nextIdentifier: UInt32
  /// When the next wait has to end at the latest.
  var wake: Nanoseconds = 0
  /// When the call has to end. What needs no waiting is still done.
  var callEnds = Nanoseconds.max
  /// When the call that takes a notification began to wait; 0 when it did not. The write that
  /// follows shares the same time.
  var waitsSince: Nanoseconds = 0
  let origin = ProcessOrigin()
  var isClosed = false
  /// No more notifications are taken; the session only reads what still comes.
  var isLeaving = false

  /// What a channel met in the turn that is under way.
  private var trouble = LastFailure()
  var connects: UInt64 = 0
  var bytes: UInt64 = 0
  var records: UInt64 = 0

  static func make(
    _ options: SessionOptions, network: consuming Net, firstIdentifier: UInt32 = 1
  ) throws(Failure) -> BinarySession {
    guard
      let channels = malloc(options.connections &* MemoryLayout<BinaryChannel>.stride)?
        .bindMemory(to: BinaryChannel.self, capacity: options.connections)
    else { throw .outOfMemory }
    for index in 0..<options.connections {
      guard
        let window = Window(
          bytes: options.windowBytes / options.connections,
          reportsAccepted: options.reportsAccepted, zeroProves: options.zeroProves,
          limitsFlights: options.usesSentinel || options.quietPeriod > 0)
      else {
        channels.deinitialize(count: index)
        free(channels)
        throw .outOfMemory
      }
      (channels + index).initialize(
        to: BinaryChannel(
          window: window, connection: SessionConnection(2 &* index),
          spare: SessionConnection(2 &* index &+ 1)))
    }
    return BinarySession(options, network, channels, firstIdentifier)
  }

  private init(
    _ options: SessionOptions, _ network: consuming Net,
    _ channels: UnsafeMutablePointer<BinaryChannel>,
    _ firstIdentifier: UInt32
  ) {
    self.options = options
    self.network = network
    self.channels = channels
    nextIdentifier = firstIdentifier == 0 ? 1 : firstIdentifier
    reconnects = Reconnects(
      longestPause: options.longestPause, perMinute: options.connectsPerMinute)
  }

  deinit {
    channels.deinitialize(count: options.connections)
    free(channels)
  }

  /// The time so many ms from now; negative: the session's own timeouts.
  func deadline(milliseconds: Int32) -> Nanoseconds { network.now &+ options.time(milliseconds) }
}

// MARK: Running until a goal is reached

/// What a call wants to be true before it returns.
enum BinaryGoal {
  /// Some channel is connected.
  case connection
  /// Whole records are handed over, as far as that needs no waiting.
  case records
  /// Everything that waits is written.
  case writing
  /// The same, except for channels that may not connect yet while others are connected.
  case sending
  /// Everything that waits on open connections is written; no connection is made for the rest.
  case lastWriting
  /// A frame of so many bytes has room in some channel.
  case room(Int)
  /// An outcome can be taken, or there will be none.
  case outcome
  /// Every notification has its end.
  case ends

  /// Only proof of what is in flight reaches the goal.
  var needsProof: Bool {
    switch self {
    case .room, .ends: true
    default: false
    }
  }

  /// Everything that waits is written on the way.
  var writesAll: Bool {
    switch self {
    case .connection, .records: false
    default: true
    }
  }
}

extension BinarySession where Net: ~Copyable {
  /// Works until the goal is reached or the deadline has passed. Nil stands for the session's own
  /// timeouts: then the clock is not read unless something has to wait.
  @_optimize(speed)
  @inline(never)
  mutating func run(until goal: BinaryGoal, by given: Nanoseconds? = nil) throws(Failure) {
    var deadline = given ?? .max
    var limit = WaitLimit(options)
    while true {
      wake = deadline
      callEnds = deadline
      trouble.forget()
      for index in 0..<options.connections {
        do throws(Failure) {
          try advance(channels + index, goal)
        } catch {
          trouble.note(error)
          // This channel tries again, whatever the others wait for.
          wake = min(wake, reconnects.earliest)
        }
      }
      if isReached(goal) { return }
      // The caller hears of one channel's trouble only when no other channel makes progress.
      if trouble.isThere, !getsOn, let failure = trouble.failure { throw failure }
      if deadline == .max { deadline = self.deadline(milliseconds: -1) }
      let now = network.now
      limit.apply(to: &deadline, at: now)
      wake = min(wake, deadline)
      if now >= deadline { throw outOfTime }
      network.wait(until: wake)
    }
  }

  @inline(never)
  private func isReached(_ goal: BinaryGoal) -> Bool {
    switch goal {
    case .records: return true
    case .connection: return hasConnection
    case .room(let size): return hasRoom(for: size)
    case .outcome where hasOutcome: return true
    case .writing, .sending, .lastWriting, .outcome, .ends: break
    }
    for index in 0..<options.connections {
      switch goal {
      case .sending where channels[index].phase == .closed && hasConnection && isPausing: break
      case .writing where channels[index].hasUnwritten: return false
      case .sending where channels[index].hasUnwritten: return false
      case .lastWriting where channels[index].phase == .open && channels[index].waitsToWrite:
        return false
      case .outcome where channels[index].window.unresolved > 0: return false
      case .ends where !channels[index].window.isEmpty: return false
      default: break
      }
    }
    return true
  }

  private var isPausing: Bool { reconnects.earliest > network.now }

  var hasConnection: Bool {
    for index in 0..<options.connections where channels[index].phase == .open { return true }
    return false
  }

  /// Some channel has a connection or is opening one.
  private var getsOn: Bool {
    for index in 0..<options.connections where channels[index].phase != .closed { return true }
    return false
  }

  private var outOfTime: Failure {
    @inline(never) get {
      var waiting = OutOfTime()
      for index in 0..<options.connections { waiting.note(channels[index].connection) }
      let isPausing = !hasConnection && reconnects.earliest > network.now
      return waiting.failure(
        on: network, pausingAfter: isPausing ? reconnects.fruitless : nil,
        unresolved: unresolved, reason: reconnects.reason.failure)
    }
  }

  /// Takes one channel towards the goal, as far as possible without waiting, and notes what it
  /// waits for.
  @inline(__always)
  private mutating func advance(
    _ channel: UnsafeMutablePointer<BinaryChannel>, _ goal: BinaryGoal
  ) throws(Failure) {
    repeat {
      guard try ensureOpen(channel, goal) else { return }
      try receiveIfDue(channel)
      if channel.pointee.phase == .open { try work(channel, goal) }
    } while channel.pointee.phase == .closed && needsConnection(channel, goal)
    if channel.pointee.phase == .open {
      // When nothing will be written, waiting for room to write would end at once.
      let waitsToWrite = channel.pointee.connection.waitsToWrite && goal.writesAll
      network.watch(
        channel.pointee.connection.number, for: waitsToWrite ? [.reading, .writing] : .reading)
    }
  }

  /// Writes, proves and keeps a spare connection, all on an open connection.
  @inline(__always)
  private mutating func work(
    _ channel: UnsafeMutablePointer<BinaryChannel>, _ goal: BinaryGoal
  ) throws(Failure) {
    noteProof(channel, isWanted: goal.needsProof)
    switch goal {
    case .connection: break
    case .records: try write(channel, all: channel.pointee.wantsProof)
    default: try write(channel, all: true)
    }
    try prove(channel, isWanted: goal.needsProof)
    if case .outcome = goal { awaitAge(channel) }
    if channel.pointee.phase == .open { keepSpare(channel, goal) }
  }

  func needsConnection(_ channel: UnsafeMutablePointer<BinaryChannel>, _ goal: BinaryGoal) -> Bool {
    switch goal {
    case .connection: return true
    case .lastWriting: return false
    case _ where channel.pointee.window.hasUnwritten: return true
    // Connections used side by side are all kept open.
    case .records, .writing, .sending, .room: return options.connections > 1
    case .outcome, .ends: return false
    }
  }
}
