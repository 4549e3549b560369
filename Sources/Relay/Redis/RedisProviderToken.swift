import Foundation

extension RedisQueue {
  /// APNs accepts a token for an hour, so the key expires after that.
  private static let keptMS = 3_600_000

  // Works while Redis is full too, because the first write of each script needs no memory.
  private static let lock = """
    if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
    redis.call('DEL', KEYS[1])
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return 1
    """
  /// Stores the token if its maker still has the lock.
  private static let store = """
    if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
    redis.call('DEL', KEYS[2])
    redis.call('HSET', KEYS[1], 'token', ARGV[2], 'made', ARGV[3])
    redis.call('PEXPIRE', KEYS[1], ARGV[4])
    return 1
    """
  private static let release = """
    if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
    return 1
    """

  package func providerToken(
    team: String, key: String, madeAfter oldest: Int64, at now: Int64, within makingMS: Int64,
    make: () throws -> SharedToken
  ) throws -> SharedToken {
    let place = "apns:jwt:{\(team):\(key)}"
    let lock = place + ":maker"
    let began = RelayClock.monotonic
    let limit = began + 2 * makingMS
    while true {
      // The caller's `now` is old after a wait for another relay.
      let now = now + RelayClock.monotonic - began
      if let token = try storedToken(place, oldest, now) { return token }
      let mark = UUID().uuidString
      let locking = RedisCommand("EVAL", Self.lock, "1", lock, mark, "\(makingMS)")
      if try demand(locking, of: place).number == 1 {
        do {
          // Another relay may have stored one between the check and the lock.
          if let token = try storedToken(place, oldest, now) {
            _ = try demand(RedisCommand("EVAL", Self.release, "1", lock, mark), of: place)
            return token
          }
          let token = try make()
          let reply = try demand(
            RedisCommand(
              "EVAL", Self.store, "2", place, lock, mark, token.text,
              "\(token.made + (try ahead(place)))",
              "\(Self.keptMS)"), of: place)
          if reply.number == 1 { return token }
        } catch {
          _ = try? demand(RedisCommand("EVAL", Self.release, "1", lock, mark), of: place)
          throw error
        }
      } else {
        usleep(10_000)
      }
      if RelayClock.monotonic > limit {
        throw RelayFault(
          "\(connections.address.name): another relay has been making the provider "
            + "token for \(2 * makingMS / 1000) s")
      }
    }
  }

  private func storedToken(_ place: String, _ oldest: Int64, _ now: Int64) throws -> SharedToken? {
    let values = try demand(RedisCommand("HMGET", place, "token", "made"), of: place).list
    guard values.count == 2, let text = values[0].text, let time = values[1].number,
      (0...1 << 53).contains(time)
    else { return nil }
    let made = time - (try ahead(place))
    let token = SharedToken(text: text, made: made)
    return token.isFresh(after: oldest, at: now) ? token : nil
  }

  private func demand(_ command: RedisCommand, of place: String) throws -> RedisReply {
    try connections.use(place, isRepeatable: true) { try $0.demand(command) }
  }

  private func ahead(_ place: String) throws -> Int64 {
    try connections.use(place, isRepeatable: true) { try $0.ahead() }
  }
}
