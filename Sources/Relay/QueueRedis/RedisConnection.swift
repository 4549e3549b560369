import COpenSSL
import Foundation
import Synchronization

/// One connection to Redis. One thread at a time uses it: `RedisConnections` sees to that.
///
/// hiredis reads the answers. Sockets and TLS are ours: so TLS needs nothing of the hiredis that is
/// installed, and each question has one time at which it ends.
final class RedisConnection: @unchecked Sendable {
  private static let connectS = 3
  private static let answerS = 10
  /// What the room for a batch may keep between two of them.
  private static let keptBytes = 1 << 20

  private let socket: RedisSocket
  private let reader: RedisReplyReader
  private var out: [UInt8] = []
  /// hiredis gives its own room back, and takes it anew, where it gets more than this at once.
  private var room = [UInt8](repeating: 0, count: 1 << 14)
  private let name: String
  private let answerS: Int
  private static let clockMS: Int64 = 10_000
  /// No clock shows more than the year 3000.
  private static let lastSecond: Int64 = 32_503_680_000
  private var aheadMS: Int64 = 0
  private var nextLook: Int64 = 0

  convenience init(_ address: RedisAddress) throws {
    guard case .sentinels(let sentinels, let primary) = address.place else {
      try self.init(to: address.place, address.tls, named: address.name)
      try introduce(address)
      return
    }
    let place = try RedisSentinels(sentinels, address.tls, address.name).place(of: primary)
    try self.init(to: place, address.tls, named: "\(address.name) (\(place.name))")
    try introduce(address)
    // What the sentinels say may be older than what happened.
    let role = try demand(RedisCommand("ROLE")).list.first?.text
    guard role == "master" else { throw fault("it is not the primary") }
  }

  /// Without a word to whom it leads to.
  init(
    to place: RedisAddress.Place, _ tls: RedisTLS?, named name: String,
    answerS: Int = RedisConnection.answerS
  ) throws {
    Self.ignorePipes
    self.name = name
    self.answerS = answerS
    let limitS = min(Self.connectS, answerS)
    do throws(RedisSocket.Failure) {
      socket = try RedisSocket(place, tls, until: RelayClock.steady + Int64(limitS) * 1000)
    } catch {
      let reason =
        switch error {
        case .late: "nothing within \(limitS) s"
        case .broken(let words): words
        }
      throw QueueFault(description: "\(name): no connection: \(reason)")
    }
    do throws(RedisReplyReader.Fault) {
      reader = try RedisReplyReader()
    } catch {
      throw QueueFault(description: "\(name): \(error)")
    }
  }

  /// OpenSSL writes without MSG_NOSIGNAL.
  private static let ignorePipes: Void = { _ = signal(SIGPIPE, SIG_IGN) }()

  func introduce(_ address: RedisAddress) throws {
    if let password = address.password {
      var command = RedisCommand("AUTH")
      if let user = address.user { command.add(user) }
      command.add(password)
      let reply = try ask(command)
      out.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
      if case .error(let words) = reply {
        throw fault("it refuses user or password: \(words)")
      }
    }
    if address.database != 0 {
      _ = try demand(RedisCommand("SELECT", "\(address.database)"))
    }
    _ = try ahead()
    reader.limit = RedisReplyReader.mostBytes
  }

  /// How far the clock of Redis is before this machine's, in whole seconds, as milliseconds. It is
  /// asked now and then: clocks are set.
  func ahead() throws -> Int64 {
    guard RelayClock.steady >= nextLook else { return aheadMS }
    let time = try demand(RedisCommand("TIME")).list.compactMap(\.number)
    // Whatever its clock shows, times are added and compared from here on.
    guard time.count == 2, (0..<Self.lastSecond).contains(time[0]),
      (0..<1_000_000).contains(time[1])
    else { throw fault("it does not tell its time") }
    let difference = Double(time[0] * 1000 + time[1] / 1000 - RelayClock.now)
    aheadMS = Int64((difference / 1000).rounded()) * 1000
    nextLook = RelayClock.steady + Self.clockMS
    return aheadMS
  }

  func fault(_ words: String) -> QueueFault { QueueFault(description: "\(name): \(words)") }

  /// Sends it and waits for the answer, which may be an error of Redis. It throws if there is none:
  /// then the connection is of no use any more, and nobody knows whether the command was done.
  func ask(_ command: RedisCommand) throws -> RedisReply {
    let until = RelayClock.steady + Int64(answerS) * 1000
    out.removeAll(keepingCapacity: out.capacity <= Self.keptBytes)
    command.write(to: &out)
    try send(until)
    return try take(until)
  }

  /// As above; an error of Redis is thrown.
  func demand(_ command: RedisCommand) throws -> RedisReply {
    let reply = try ask(command)
    if case .error(let words) = reply { throw RedisRefusal(name: name, words: words) }
    return reply
  }

  /// Sends all of them before it waits for the first answer.
  func ask(_ commands: [RedisCommand]) throws -> [RedisReply] {
    let until = RelayClock.steady + Int64(answerS) * 1000
    out.removeAll(keepingCapacity: out.capacity <= Self.keptBytes)
    for command in commands { command.write(to: &out) }
    try send(until)
    return try commands.map { _ in try take(until) }
  }

  private func send(_ until: Int64) throws {
    do {
      try out.withUnsafeBytes { try socket.send($0, until: until) }
    } catch let failure as RedisSocket.Failure {
      throw silence(failure)
    }
  }

  private func take(_ until: Int64) throws -> RedisReply {
    while true {
      do {
        if let reply = try reader.next() { return reply }
        try room.withUnsafeMutableBytes { room in
          let count = try socket.receive(into: room, until: until)
          try reader.feed(UnsafeRawBufferPointer(rebasing: room[..<count]))
        }
      } catch let failure as RedisSocket.Failure {
        throw silence(failure)
      } catch let error as RedisReplyReader.Fault {
        throw RedisSilence(fault("its answer is none of Redis: \(error)"))
      }
    }
  }

  private func silence(_ failure: RedisSocket.Failure) -> RedisSilence {
    switch failure {
    case .late: RedisSilence(fault("no answer within \(answerS) s"))
    case .broken(let words): RedisSilence(fault("the connection is lost: \(words)"))
    }
  }
}

/// Redis answers that it does not do it. The connection goes on.
struct RedisRefusal: Error, CustomStringConvertible {
  var name: String
  var words: String
  var description: String { "\(name): \(words)" }
}

/// There is no answer.
struct RedisSilence: Error, CustomStringConvertible {
  var fault: QueueFault
  var description: String { fault.description }

  init(_ fault: QueueFault) { self.fault = fault }
}

/// The connections of a queue: as many as there are threads that ask at the same time.
final class RedisConnections: Sendable {
  private struct State {
    var idle: [RedisConnection] = []
    /// No connection is tried before this, by the steady clock.
    var notBefore: Int64 = 0
    var pauseMS: Int64 = 0
    var lastFault: QueueFault?
    var wasLost = false
    var losses = 0
  }

  private static let firstPauseMS: Int64 = 100
  private static let longestPauseMS: Int64 = 3000

  let address: RedisAddress
  private let state = Mutex(State())

  init(_ address: RedisAddress) { self.address = address }

  /// Acts on a connection that nobody else uses meanwhile. One that was lost while it was idle is
  /// found by that: `act` may be called a second time, on a new connection, if `isRepeatable`.
  func use<Value>(isRepeatable: Bool, _ act: (RedisConnection) throws -> Value) throws -> Value {
    if let connection = takeIdle() {
      do {
        return try run(act, on: connection)
      } catch let silence as RedisSilence {
        // The others have been idle for as long.
        drop()
        guard isRepeatable else { throw silence.fault }
      }
    }
    do {
      return try run(act, on: try connect())
    } catch let silence as RedisSilence {
      drop()
      throw silence.fault
    }
  }

  private func run<Value>(
    _ act: (RedisConnection) throws -> Value, on connection: RedisConnection
  ) throws -> Value {
    do {
      let value = try act(connection)
      putBack(connection)
      return value
    } catch let silence as RedisSilence {
      throw silence
    } catch {
      if let refusal = error as? RedisRefusal, refusal.words.hasPrefix("READONLY") {
        // It was the first of its replicas, and another is now: the address may lead there.
        drop()
      } else {
        putBack(connection)
      }
      throw (error as? RedisRefusal).map { QueueFault(description: $0.description) } ?? error
    }
  }

  private func takeIdle() -> RedisConnection? {
    state.withLock { $0.idle.popLast() }
  }

  private func putBack(_ connection: RedisConnection) {
    state.withLock { $0.idle.append(connection) }
  }

  private func drop() {
    state.withLock {
      $0.idle = []
      $0.wasLost = true
      $0.losses += 1
    }
  }

  /// How often a connection was lost, and perhaps with it what Redis had in memory only.
  var losses: Int { state.withLock { $0.losses } }

  /// Whether Redis was out of reach since this was asked last.
  func takeLoss() -> Bool {
    state.withLock { state in
      defer { state.wasLost = false }
      return state.wasLost
    }
  }

  /// After a failure there is a pause, in which nobody waits: each gets the last fault at once.
  private func connect() throws -> RedisConnection {
    let now = RelayClock.steady
    if let fault = state.withLock({ $0.notBefore > now ? $0.lastFault : nil }) { throw fault }
    do {
      let connection = try RedisConnection(address)
      state.withLock { $0.pauseMS = 0 }
      return connection
    } catch {
      let fault =
        (error as? QueueFault) ?? (error as? RedisSilence)?.fault
        ?? QueueFault(description: "\(error)")
      state.withLock {
        $0.wasLost = true
        $0.pauseMS = min(Self.longestPauseMS, max(Self.firstPauseMS, 2 * $0.pauseMS))
        $0.notBefore = RelayClock.steady + $0.pauseMS
        $0.lastFault = fault
      }
      throw fault
    }
  }
}
