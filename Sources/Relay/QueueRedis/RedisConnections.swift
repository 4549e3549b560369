/// The way to the queue: one Redis, or a cluster of them, where each key is on one of its nodes.
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

  /// Acts on a connection to the Redis that has the key, which nobody else uses meanwhile. One that
  /// was lost while it was idle is found by that: `act` may be called a second time, on a new
  /// connection, if `isRepeatable`; and it is called again, whatever that says, where it was refused
  /// by a node that has not the key. A refusal that `act` does not expect it throws.
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
    } catch let refusal as RedisRefusal {
      guard ["MOVED ", "ASK ", "CROSSSLOT "].contains(where: refusal.words.hasPrefix) else {
        throw refusal.fault
      }
      throw Self.fault(ofNode: "\(refusal)")
    } catch let silence as RedisSilence {
      throw silence.fault
    } catch let absence as RedisAbsence {
      throw absence.fault
    }
  }

  static func fault(ofNode words: String) -> QueueFault {
    QueueFault(
      description: "\(words): it is a node of a cluster, which needs redis+cluster://host:port, or "
        + "rediss+cluster://")
  }

  /// Of each command what came of it. Those of one node are sent at once.
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

  /// Each Redis that has keys.
  func nodes() throws -> [RedisNode] {
    switch way {
    case .one(let node): [node]
    case .cluster(let cluster): try cluster.primaries()
    }
  }

  var isCluster: Bool { if case .cluster = way { true } else { false } }

  /// For each Redis a key that it has, which begins with this.
  func keys(_ start: String) throws -> [String] {
    switch way {
    case .one: [start]
    case .cluster(let cluster): try cluster.keys(start)
    }
  }

  // MARK: What was lost

  /// Changes whenever a connection was lost, and perhaps with it what Redis had in memory only, or
  /// the key came to another Redis.
  func losses(of key: @autoclosure () -> String) -> Int {
    switch way {
    case .one(let node): node.loss
    case .cluster(let cluster): cluster.loss(of: key())
    }
  }

  /// Changes whenever the key was out of reach.
  func outages(of key: @autoclosure () -> String) -> Int {
    switch way {
    case .one(let node): node.outage
    case .cluster(let cluster): cluster.outage(of: key())
    }
  }

  /// Whether the one that has the key failed just now, and others are there that did not.
  func isAway(_ key: @autoclosure () -> String) -> Bool {
    switch way {
    case .one: false
    case .cluster(let cluster): cluster.isAway(key())
    }
  }
}
