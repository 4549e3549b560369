import Synchronization

/// One place where a Redis is, and the connections to it: as many as there are threads that ask at
/// the same time.
final class RedisNode: Sendable {
  private struct State {
    var idle: [RedisConnection] = []
    /// No connection is tried before this, by the steady clock.
    var notBefore: Int64 = 0
    var pauseMS: Int64 = 0
    var lastFault: QueueFault?
    /// When it failed last, by the steady clock; nil: it has answered since.
    var failedAt: Int64?
    var loss = 0
    var outage = 0
  }

  private static let firstPauseMS: Int64 = 100
  private static let longestPauseMS: Int64 = 3000
  /// So long after a failure only those who need it ask it.
  private static let awayMS: Int64 = 15_000

  let address: RedisAddress
  private let losses: RedisLosses
  /// There are others that may have its work by now: so nobody waits here for a second time.
  private let hasOthers: Bool
  private let state = Mutex(State())

  init(_ address: RedisAddress, _ losses: RedisLosses, hasOthers: Bool = false) {
    self.address = address
    self.losses = losses
    self.hasOthers = hasOthers
  }

  /// Acts on a connection that nobody else uses meanwhile. One that was lost while it was idle is
  /// found by that: `act` may be called a second time, on a new connection, if `isRepeatable`. It
  /// throws what `act` throws, `RedisSilence`, and `RedisAbsence`.
  func use<Value>(
    isRepeatable: Bool, isAsking: Bool = false, _ act: (RedisConnection) throws -> Value
  ) throws -> Value {
    if let connection = takeIdle() {
      do {
        return try run(act, on: connection, isAsking)
      } catch let silence as RedisSilence {
        // The others have been idle for as long.
        drop()
        guard isRepeatable, !(hasOthers && silence.isLate) else { throw silence }
      }
    }
    do {
      return try run(act, on: try connect(), isAsking)
    } catch let silence as RedisSilence {
      drop()
      throw silence
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
    } catch let silence as RedisSilence {
      throw silence
    } catch {
      if let refusal = error as? RedisRefusal, refusal.words.hasPrefix("READONLY") {
        // It was the first of its replicas, and another is now: the address may lead there.
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
      $0.failedAt = RelayClock.steady
    }
  }

  /// The number of its last connection that was lost, and perhaps with it what Redis had in memory
  /// only.
  var loss: Int { state.withLock { $0.loss } }

  /// The number of the last time that it was out of reach.
  var outage: Int { state.withLock { $0.outage } }

  /// It failed just now, and has not answered since.
  var isAway: Bool {
    state.withLock { $0.failedAt.map { RelayClock.steady < $0 + Self.awayMS } ?? false }
  }

  /// After a failure there is a pause, in which nobody waits: each gets the last fault at once.
  private func connect() throws -> RedisConnection {
    let now = RelayClock.steady
    if let fault = state.withLock({ $0.notBefore > now ? $0.lastFault : nil }) {
      throw RedisAbsence(fault: fault)
    }
    do {
      let connection = try RedisConnection(address)
      state.withLock { $0.pauseMS = 0 }
      return connection
    } catch {
      let fault =
        (error as? QueueFault) ?? (error as? RedisSilence)?.fault
        ?? QueueFault(description: "\(error)")
      let number = losses.next()
      state.withLock {
        $0.outage = number
        $0.failedAt = RelayClock.steady
        $0.pauseMS = min(Self.longestPauseMS, max(Self.firstPauseMS, 2 * $0.pauseMS))
        $0.notBefore = RelayClock.steady + $0.pauseMS
        $0.lastFault = fault
      }
      throw RedisAbsence(fault: fault)
    }
  }
}
