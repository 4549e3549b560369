import Synchronization

/// A Redis server and the connections to it: one for each thread that uses it at the same time.
final class RedisNode: Sendable {
  private struct State {
    var idle: [RedisConnection] = []
    /// No connection is attempted before this (monotonic).
    var notBefore: Int64 = 0
    var pauseMS: Int64 = 0
    var lastFault: RelayFault?
    /// The time of the last failure (monotonic); nil after a reply.
    var failedAt: Int64?
    var loss = 0
    var outage = 0
  }

  private static let firstPauseMS: Int64 = 100
  private static let longestPauseMS: Int64 = 3000
  /// For this long after a failure, the node is used only for keys that no other node serves.
  private static let awayMS: Int64 = 15_000

  let address: RedisAddress
  private let losses: RedisLosses
  /// Other nodes may have taken over, so a call that timed out is not repeated here.
  private let hasOthers: Bool
  private let state = Mutex(State())

  init(_ address: RedisAddress, _ losses: RedisLosses, hasOthers: Bool = false) {
    self.address = address
    self.losses = losses
    self.hasOthers = hasOthers
  }

  /// Runs `act` with exclusive use of a connection. A connection lost while idle is noticed only by
  /// use: then `act` may run again on a new connection, if `isRepeatable`. Throws the errors of
  /// `act`, `RedisTimeout` and `RedisUnreachable`.
  func use<Value>(
    isRepeatable: Bool, isAsking: Bool = false, _ act: (RedisConnection) throws -> Value
  ) throws -> Value {
    if let connection = takeIdle() {
      do {
        return try run(act, on: connection, isAsking)
      } catch let timeout as RedisTimeout {
        // The other connections have been idle for as long.
        drop()
        guard isRepeatable, !(hasOthers && timeout.isLate) else { throw timeout }
      }
    }
    do {
      return try run(act, on: try connect(), isAsking)
    } catch let timeout as RedisTimeout {
      drop()
      throw timeout
    }
  }

  private func run<Value>(
    _ act: (RedisConnection) throws -> Value, on connection: RedisConnection, _ isAsking: Bool
  ) throws -> Value {
    connection.isAsking = isAsking
    do {
      let value = try act(connection)
      putBack(connection)
      return value
    } catch let timeout as RedisTimeout {
      throw timeout
    } catch {
      if let refusal = error as? RedisRefusal, refusal.words.hasPrefix("READONLY") {
        // This Redis is now a replica; a new connection may lead to the new primary.
        drop()
      } else {
        putBack(connection)
      }
      throw error
    }
  }

  private func takeIdle() -> RedisConnection? {
    state.withLock { $0.idle.popLast() }
  }

  private func putBack(_ connection: RedisConnection) {
    state.withLock {
      $0.idle.append(connection)
      $0.failedAt = nil
    }
  }

  private func drop() {
    let number = losses.next()
    state.withLock {
      $0.idle = []
      ($0.loss, $0.outage) = (number, number)
      $0.failedAt = RelayClock.monotonic
    }
  }

  /// The number of the last lost connection. Data that Redis had only in memory may be lost with
  /// it.
  var loss: Int { state.withLock { $0.loss } }

  /// The number of the last time that it was unreachable.
  var outage: Int { state.withLock { $0.outage } }

  /// Whether it failed recently and has not replied since.
  var isUnreachable: Bool {
    state.withLock { $0.failedAt.map { RelayClock.monotonic < $0 + Self.awayMS } ?? false }
  }

  /// During the backoff after a failure each call gets the last error immediately.
  private func connect() throws -> RedisConnection {
    let now = RelayClock.monotonic
    if let fault = state.withLock({ $0.notBefore > now ? $0.lastFault : nil }) {
      throw RedisUnreachable(fault: fault)
    }
    do {
      let connection = try RedisConnection(address)
      state.withLock { $0.pauseMS = 0 }
      return connection
    } catch {
      let fault =
        (error as? RelayFault) ?? (error as? any RedisFailure)?.fault
        ?? RelayFault("\(error)")
      let number = losses.next()
      state.withLock {
        $0.outage = number
        $0.failedAt = RelayClock.monotonic
        $0.pauseMS = min(Self.longestPauseMS, max(Self.firstPauseMS, 2 * $0.pauseMS))
        $0.notBefore = RelayClock.monotonic + $0.pauseMS
        $0.lastFault = fault
      }
      throw RedisUnreachable(fault: fault)
    }
  }
}
