/// The apps that the queue has ever had. Their list is one key.
extension RedisQueue {
  struct KnownApps {
    /// The list as it was last read.
    var all: [String] = []
    /// The apps that this relay has added to the list.
    var told: Set<String> = []
  }

  private static let key = "apns:apps"

  /// Works while Redis is full too.
  private static let add = """
    redis.call('SREM', KEYS[1], '')
    return redis.call('SADD', KEYS[1], ARGV[1])
    """

  /// Adds the app to the list. If the list's node is unreachable, an app that was added before
  /// continues without it.
  func remember(_ app: String) throws {
    let isTold = apps.withLock { $0.told.contains(app) }
    if isTold, connections.isUnreachable(Self.key) { return }
    if !isTold { try renameKeys(of: app) }
    do {
      _ = try connections.use(Self.key, isRepeatable: true) {
        try $0.demand(RedisCommand("EVAL", Self.add, "1", Self.key, app))
      }
      apps.withLock { _ = $0.told.insert(app) }
    } catch {
      guard isTold, connections.isUnreachable(Self.key) else { throw error }
    }
  }

  /// The list, or its last known state while its node is unreachable.
  func knownApps() throws -> [String] {
    if connections.isUnreachable(Self.key) {
      let known = apps.withLock { Set($0.all).union($0.told).sorted() }
      if !known.isEmpty { return known }
    }
    do {
      let all = try ask([RedisCommand("SMEMBERS", Self.key)])[0].list.compactMap(\.text).sorted()
      apps.withLock { $0.all = all }
      return all
    } catch {
      let known = apps.withLock { Set($0.all).union($0.told).sorted() }
      guard connections.isUnreachable(Self.key), !known.isEmpty else { throw error }
      return known
    }
  }
}
