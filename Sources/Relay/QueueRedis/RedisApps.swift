/// Which apps the queue has ever had. The list of them is one key, for all to find.
extension RedisQueue {
  struct KnownApps {
    /// As they were read last.
    var all: [String] = []
    /// Those that were added to the list from here.
    var told: Set<String> = []
  }

  private static let key = "apns:apps"

  /// Also where Redis is full.
  private static let add = """
    redis.call('SREM', KEYS[1], '')
    return redis.call('SADD', KEYS[1], ARGV[1])
    """

  /// Puts it into the list. Where one that was put there already cannot be put there again, because
  /// the list is on a node that is away, work goes on.
  func remember(_ app: String) throws {
    let isTold = apps.withLock { $0.told.contains(app) }
    if isTold, connections.isAway(Self.key) { return }
    do {
      _ = try connections.use(Self.key, isRepeatable: true) {
        try $0.demand(RedisCommand("EVAL", Self.add, "1", Self.key, app))
      }
      apps.withLock { _ = $0.told.insert(app) }
    } catch {
      guard isTold, connections.isAway(Self.key) else { throw error }
    }
  }

  /// As they were when the node of the list was there.
  func knownApps() throws -> [String] {
    if connections.isAway(Self.key) {
      let known = apps.withLock { Set($0.all).union($0.told).sorted() }
      if !known.isEmpty { return known }
    }
    do {
      let all = try ask([RedisCommand("SMEMBERS", Self.key)])[0].list.compactMap(\.text).sorted()
      apps.withLock { $0.all = all }
      return all
    } catch {
      let known = apps.withLock { Set($0.all).union($0.told).sorted() }
      guard connections.isAway(Self.key), !known.isEmpty else { throw error }
      return known
    }
  }
}
