/// The connections to the queue: one Redis, or a cluster that spreads the keys over its nodes.
final class RedisConnections: Sendable {
  private enum Way {
    case one(RedisNode)
    case cluster(RedisCluster)
  }

  let address: RedisAddress
  private let way: Way

  init(_ address: RedisAddress) {
    self.address = address
    if case .cluster(let seeds) = address.place {
      way = .cluster(RedisCluster(address, seeds))
    } else {
      way = .one(RedisNode(address, RedisLosses()))
    }
  }

  /// Runs `act` with exclusive use of a connection to the Redis that has the key. A connection lost
  /// while idle is noticed only by use: then `act` may run again on a new connection, if
  /// `isRepeatable`. It runs again in any case after a redirect, because the node without the key
  /// has not run it. Throws a refusal that `act` does not expect.
  func use<Value>(
    _ key: @autoclosure () -> String, isRepeatable: Bool,
    _ act: (RedisConnection) throws -> Value
  ) throws -> Value {
    switch way {
    case .one(let node): try use(node, isRepeatable, act)
    case .cluster(let cluster): try cluster.use(key(), isRepeatable: isRepeatable, act)
    }
  }

  private func use<Value>(
    _ node: RedisNode, _ isRepeatable: Bool, _ act: (RedisConnection) throws -> Value
  ) throws -> Value {
    do {
      return try node.use(isRepeatable: isRepeatable, act)
    } catch let refusal as RedisRefusal
      where ["MOVED ", "ASK ", "CROSSSLOT "].contains(where: refusal.words.hasPrefix)
    {
      throw Self.fault(ofNode: "\(refusal)")
    } catch let failure as any RedisFailure {
      throw failure.fault
    }
  }

  static func fault(ofNode words: String) -> RelayFault {
    RelayFault(
      "\(words): it is a node of a cluster: use redis+cluster://host:port, or "
        + "rediss+cluster://")
  }

  /// A connection to the Redis that has the key, for one user.
  func open(_ key: String) throws -> RedisConnection {
    switch way {
    case .one: try RedisConnection(address)
    case .cluster(let cluster): try RedisConnection(cluster.address(ofKey: key))
    }
  }

  /// The result of each command. Those for one node are sent together.
  func each(_ commands: [RedisCommand]) -> [Result<RedisReply, any Error>] {
    switch way {
    case .cluster(let cluster): return cluster.each(commands)
    case .one(let node):
      do {
        return try use(node, true) { connection in
          try connection.ask(commands).map { reply in
            guard case .error(let words) = reply else { return .success(reply) }
            return .failure(connection.refusal(words).fault)
          }
        }
      } catch {
        return commands.map { _ in .failure(error) }
      }
    }
  }

  /// The Redis nodes that have keys.
  func nodes() throws -> [RedisNode] {
    switch way {
    case .one(let node): [node]
    case .cluster(let cluster): try cluster.primaries()
    }
  }

  var isCluster: Bool { if case .cluster = way { true } else { false } }

  /// A key with this prefix for each Redis node.
  func keys(_ start: String) throws -> [String] {
    switch way {
    case .one: [start]
    case .cluster(let cluster): try cluster.keys(start)
    }
  }

  // MARK: Losses

  /// Changes when a connection was lost, and perhaps data that Redis had only in memory, and when
  /// the key moved to another node.
  func losses(of key: @autoclosure () -> String) -> Int {
    switch way {
    case .one(let node): node.loss
    case .cluster(let cluster): cluster.loss(of: key())
    }
  }

  /// Changes when the key was unreachable.
  func outages(of key: @autoclosure () -> String) -> Int {
    switch way {
    case .one(let node): node.outage
    case .cluster(let cluster): cluster.outage(of: key())
    }
  }

  /// Whether the key's node failed recently while other nodes remain.
  func isUnreachable(_ key: @autoclosure () -> String) -> Bool {
    switch way {
    case .one: false
    case .cluster(let cluster): cluster.isUnreachable(key())
    }
  }
}
