import CAPNS
import CSystem

/// A session over HTTP/2: keeps notifications in the outbox, sends them as streams on as many
/// connections as that takes, and turns answers into outcomes.
///
/// Only `run` waits, as in `BinarySession`.
struct HTTP2Session<
  Net: Network & ~Copyable, Tokens: TokenSource & ~Copyable
>: ~Copyable {
  let options: SessionOptions
  var network: Net
  let defaults: RequestDefaults
  /// Where provider tokens come from, and this session's copy of the last one; nil when the
  /// certificate says who the provider is.
  let tokens: Tokens?
  var bearer: BearerText
  let outbox: UnsafeMutablePointer<Outbox>
  let gone: UnsafeMutablePointer<GoneDevices>
  /// Twice as many as connections are used side by side: the others are being left but still owe
  /// answers.
  let channels: UnsafeMutablePointer<HTTP2Channel>
  let channelCount: Int
  /// Where bytes are read to first, a record at a time: too much for the stack.
  let readBuffer: UnsafeMutableRawBufferPointer
  /// Where a builder writes a payload; made on first use.
  private var draft: UnsafeMutableRawPointer?
  var reconnects: Reconnects
  var readDelay = ReadDelay()
  var nextIdentifier: UInt32 = 1
  /// Bytes taken since the last call that wrote.
  var queued = 0
  /// When the call that takes a notification began to wait; 0 when it did not. The send that
  /// follows shares the same time.
  var waitsSince: Nanoseconds = 0
  /// When the next wait has to end at the latest.
  var wake: Nanoseconds = 0
  let origin = ProcessOrigin()
  var isClosed = false
  /// No more notifications are taken; the session only waits for answers.
  var isLeaving = false

  /// What a channel met in the turn that is under way.
  private var trouble = LastFailure()
  var connects: UInt64 = 0
  var bytes: UInt64 = 0
  var records: UInt64 = 0

  static func make(
    _ options: SessionOptions, defaults: consuming RequestDefaults, tokens: consuming Tokens?,
    network: consuming Net
  ) throws(Failure) -> HTTP2Session {
    let showsToken = tokens != nil
    let bearer = try BearerText()
    guard let readBuffer = malloc(HTTP2Connection.recordSize) else { throw .outOfMemory }
    guard
      let outbox = Outbox.make(
        bytes: options.windowBytes, reportsAccepted: options.reportsAccepted)
    else {
      free(readBuffer)
      throw .outOfMemory
    }
    guard let gone = UnsafeMutablePointer<GoneDevices>.make() else {
      free(readBuffer)
      Outbox.end(outbox)
      throw .outOfMemory
    }
    let count = 2 &* options.connections
    guard
      let channels = malloc(count &* MemoryLayout<HTTP2Channel>.stride)?
        .bindMemory(to: HTTP2Channel.self, capacity: count)
    else {
      free(readBuffer)
      gone.release()
      Outbox.end(outbox)
      throw .outOfMemory
    }
    for number in 0..<count {
      guard
        let http = HTTP2Connection.make(
          number: number, outbox: outbox, showsToken: showsToken)
      else {
        for made in 0..<number { channels[made].http.end() }
        free(channels)
        free(readBuffer)
        gone.release()
        Outbox.end(outbox)
        throw .outOfMemory
      }
      (channels + number).initialize(
        to: HTTP2Channel(connection: SessionConnection(number), http: http))
    }
    return HTTP2Session(
      options, defaults, tokens, bearer, network, outbox, gone, channels, count, readBuffer)
  }

  private init(
    _ options: SessionOptions, _ defaults: consuming RequestDefaults, _ tokens: consuming Tokens?,
    _ bearer: consuming BearerText, _ network: consuming Net,
    _ outbox: UnsafeMutablePointer<Outbox>, _ gone: UnsafeMutablePointer<GoneDevices>,
    _ channels: UnsafeMutablePointer<HTTP2Channel>, _ count: Int,
    _ readBuffer: UnsafeMutableRawPointer
  ) {
    self.options = options
    self.defaults = defaults
    self.tokens = tokens
    self.bearer = bearer
    self.network = network
    self.outbox = outbox
    self.gone = gone
    self.channels = channels
    channelCount = count
    self.readBuffer = UnsafeMutableRawBufferPointer(
      start: readBuffer, count: HTTP2Connection.recordSize)
    reconnects = Reconnects(
      longestPause: options.longestPause, perMinute: options.connectsPerMinute)
  }

  deinit {
    for number in 0..<channelCount { channels[number].http.end() }
    free(channels)
    free(readBuffer.baseAddress)
    free(draft)
    gone.release()
    Outbox.end(outbox)
  }

  /// Room for a payload that has to be read before the notification is taken.
  mutating func roomForDraft() throws(Failure) -> UnsafeMutableRawPointer {
    if let draft { return draft }
    guard let made = malloc(options.payloadMax) else { throw .outOfMemory }
    draft = made
    return made
  }

  func deadline(milliseconds: Int32) -> Nanoseconds { network.now &+ options.time(milliseconds) }

  /// The outbox keeps its times in seconds.
  static func second(_ time: Nanoseconds) -> UInt32 {
    UInt32(truncatingIfNeeded: time / 1_000_000_000)
  }
}

// MARK: Running until a goal is reached

/// What a call wants to be true before it returns.
enum HTTP2Goal {
  /// Some channel is connected.
  case connection
  /// What fills whole records is handed over, as far as that needs no waiting.
  case records
  /// Everything that may be sent by now is sent.
  case sending
  /// What was sent has its answers; nothing more is begun.
  case lastAnswers
  /// A request of so many bytes has room.
  case room(Int)
  /// An outcome can be taken, or there will be none.
  case outcome
  /// Every notification has its end.
  case ends
}

extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// Works until the goal is reached or the deadline has passed. Nil stands for the session's own
  /// timeouts.
  @inline(never)
  mutating func run(until goal: HTTP2Goal, by given: Nanoseconds? = nil) throws(Failure) {
    var deadline = given ?? .max
    // Each channel's turn is bounded; the turns of many are bounded by the clock.
    if deadline == .max, channelCount > 2 { deadline = self.deadline(milliseconds: -1) }
    var limit = WaitLimit(options)
    while true {
      wake = deadline
      // Retries whose time has come are sent while streams are free.
      let tried = outbox.pointee.nextTry == nil ? nil : Self.second(network.now)
      trouble.forget()
      for number in 0..<channelCount {
        if number > 0, isOverdue(deadline) { break }
        do throws(Failure) {
          try advance(channels + number, goal)
        } catch {
          trouble.note(error)
          // This channel tries again, whatever the others wait for.
          wake = min(wake, reconnects.earliest)
        }
      }
      // What could not be sent here may go out on another channel at once.
      if judgeAnswered(), !trouble.isThere { continue }
      if isReached(goal) { return }
      // The caller hears of one channel's trouble only when no other channel makes progress.
      if trouble.isThere, !getsOn, let failure = trouble.failure { throw failure }
      if deadline == .max { deadline = self.deadline(milliseconds: -1) }
      let now = network.now
      limit.apply(to: &deadline, at: now)
      wake = min(wake, deadline)
      if now >= deadline { throw outOfTime }
      if let tried, let second = outbox.pointee.nextTry, Int32(bitPattern: second &- tried) > 0 {
        wakeUp(at: second, now)
      }
      let pause = readDelay.pause(
        inFlight: outbox.pointee.inFlight,
        answers: outbox.pointee.accepted &+ outbox.pointee.rejected, at: now)
      if pause > 0, pause < wake &- now { network.pause(pause) }
      network.wait(until: wake)
    }
  }

  /// The deadline is so long past that the remaining channels miss their turn.
  @inline(__always)
  private func isOverdue(_ deadline: Nanoseconds) -> Bool {
    deadline != .max && channelCount > 2 && network.now &- deadline > 20_000_000
  }

  /// Makes the next wait end when that second begins.
  mutating func wakeUp(at second: Seconds, _ now: Nanoseconds) {
    let left = Int64(Int32(bitPattern: second &- Self.second(now)))
    wake = min(wake, (now / 1_000_000_000 &+ left) &* 1_000_000_000)
  }

  @inline(__always)
  private func isReached(_ goal: HTTP2Goal) -> Bool {
    switch goal {
    case .records: return true
    case .connection: return hasConnection
    case .room(let size):
      return outbox.pointee.reserve(size) != nil || outbox.pointee.isFullOfOutcomes
    case .outcome: return hasOutcome || outbox.pointee.unresolved == 0
    case .ends: return outbox.pointee.unresolved == 0
    case .sending:
      return !outbox.pointee.isDue(at: Self.second(network.now)) && !hasUnwritten
    case .lastAnswers: return outbox.pointee.inFlight == 0
    }
  }

  var hasOutcome: Bool { outbox.pointee.waitingOutcomes > 0 }

  @inline(__always)
  private var hasUnwritten: Bool {
    for number in 0..<channelCount where channels[number].phase == .open {
      if channels[number].http.pointee.hasUnwritten { return true }
    }
    return false
  }

  @inline(__always)
  var hasConnection: Bool {
    for number in 0..<channelCount
    where channels[number].phase == .open && channels[number].isTaking {
      return true
    }
    return false
  }

  /// Some channel has a connection or is opening one.
  @inline(__always)
  private var getsOn: Bool {
    for number in 0..<channelCount where channels[number].phase != .closed { return true }
    return false
  }

  private var outOfTime: Failure {
    @inline(never) get {
      var waiting = OutOfTime()
      for number in 0..<channelCount { waiting.note(channels[number].connection) }
      let isPausing = !hasConnection && reconnects.earliest > network.now
      return waiting.failure(
        on: network, pausingAfter: isPausing ? reconnects.fruitless : nil,
        unresolved: outbox.pointee.unresolved, reason: reconnects.reason.failure)
    }
  }

  /// Takes one channel towards the goal, as far as possible without waiting, and notes what it
  /// waits for.
  private mutating func advance(
    _ channel: UnsafeMutablePointer<HTTP2Channel>, _ goal: HTTP2Goal
  ) throws(Failure) {
    var turns = Self.mostTurns
    repeat {
      if turns == 0 {
        // The clock has to be read, and other channels have their turn.
        wake = 0
        break
      }
      turns &-= 1
      guard try ensureOpen(channel, goal) else { return }
      try receiveIfDue(channel)
      if channel.pointee.phase == .open { try askIfSilent(channel) }
      if channel.pointee.phase == .open { try send(channel, goal) }
      if channel.pointee.phase == .open { try awaitAnswers(channel) }
    } while channel.pointee.phase == .closed
      ? isNeeded(channel, goal) : channel.pointee.phase == .open && channel.pointee.isUnread
    if channel.pointee.phase == .open {
      network.watch(
        channel.pointee.number,
        for: channel.pointee.connection.waitsToWrite ? [.reading, .writing] : .reading)
    }
  }

  /// How often a channel reads and sends a record before the session reads the clock.
  static var mostTurns: Int { 64 }

  /// A connection is needed when something is due and the open ones already carry all the streams
  /// they may.
  @inline(never)
  mutating func isNeeded(_ channel: UnsafeMutablePointer<HTTP2Channel>, _ goal: HTTP2Goal) -> Bool {
    var taking = 0
    for number in 0..<channelCount where channels[number].isTaking {
      taking &+= 1
      // One that is opening will show what it takes.
      if channels[number].phase == .opening { return false }
      if case .connection = goal { return false }
      let http = channels[number].http
      if http.pointee.isNew || http.pointee.takes(payloadCount: options.payloadMax) {
        return false
      }
    }
    guard taking < options.connections else { return false }
    switch goal {
    case .connection: return true
    case .lastAnswers: return false
    case .records, .sending, .room, .outcome, .ends:
      return outbox.pointee.isDue(at: Self.second(network.now))
    }
  }
}
