import Foundation
import Synchronization

/// The nodes of a cluster and their slots. A command goes to the node that has its key, and follows
/// redirects.
final class RedisCluster: Sendable {
  private struct Target {
    var node: RedisNode
    /// The version of the map that names the node.
    var version: Int
  }

  private static let limitMS: Int64 = 10_000
  private static let mostHops = 8
  /// Slots move one by one, and a redirect reports each of them.
  private static let betweenMovesMS: Int64 = 1000
  private static let betweenFailuresMS: Int64 = 200
  /// Short, so that an unreachable node does not delay the other nodes' replies.
  private static let mapAnswerS = 2

  private let address: RedisAddress
  private let seeds: [RedisAddress.Place]
  private let losses = RedisLosses()
  private let state: Mutex<RedisClusterNodes>
  /// Held while a map is requested.
  private let asking = NSLock()

  init(_ address: RedisAddress, _ seeds: [RedisAddress.Place]) {
    self.address = address
    self.seeds = seeds
    state = Mutex(RedisClusterNodes(address, losses))
  }

  /// The address of the node that has the key.
  func address(ofKey key: String) throws -> RedisAddress {
    try owner(of: RedisSlot.of(key), of: key).node.address
  }

  // MARK: Commands

  /// Like `RedisNode.use`, on the node that has the key. `act` uses keys of one slot only, and
  /// throws the refusal of a node: a node without the slot has changed no data.
  func use<Value>(
    _ key: String, isRepeatable: Bool, _ act: (RedisConnection) throws -> Value
  ) throws -> Value {
    let slot = RedisSlot.of(key)
    let until = RelayClock.monotonic + Self.limitMS
    // A silent node may use up the limit, and its replica must get as much time.
    let limit = until + Self.limitMS
    var (hops, pauseMS): (Int, Int64) = (0, 10)
    var target = try owner(of: slot, of: key)
    var isAsking = false
    var absent: RelayFault?
    while true {
      do {
        return try target.node.use(isRepeatable: isRepeatable, isAsking: isAsking, act)
      } catch let refusal as RedisRefusal {
        guard let redirect = RedisRedirect(refusal.words, from: Self.host(target.node)) else {
          throw refusal.fault
        }
        switch redirect {
        case .moved(let place):
          target = try moved(slot, to: place, target, key)
          isAsking = false
        case .ask(let place):
          target.node = node(at: place)
          isAsking = true
        case .again:
          guard RelayClock.monotonic + pauseMS < until else {
            noteOutage(slot)
            throw refusal.fault
          }
          usleep(UInt32(pauseMS) * 1000)
          pauseMS = min(200, 2 * pauseMS)
          target = try owner(of: slot, of: key)
          // Hops to the new node are counted from zero.
          (isAsking, hops) = (false, 0)
          continue
        case .away:
          target = try other(than: target, slot, key) {
            noteOutage(slot)
            return refusal.fault
          }
          isAsking = false
        }
        hops += 1
        guard hops <= Self.mostHops, RelayClock.monotonic < limit else {
          noteOutage(slot)
          throw absent
            ?? RelayFault("\(address.name): the nodes redirect \(key) to each other: \(refusal)")
        }
      } catch let failure as any RedisFailure {
        if failure is RedisUnreachable {
          absent = failure.fault
        } else if !isRepeatable {
          state.withLock { $0.isOld = true }
          throw failure.fault
        }
        target = try other(than: target, slot, key) { failure.fault }
        (isAsking, hops) = (false, hops + 1)
        guard hops <= Self.mostHops, RelayClock.monotonic < limit else { throw failure.fault }
      }
    }
  }

  /// Sends each command to the node of its key, and those for one node together.
  func each(_ commands: [RedisCommand]) -> [Result<RedisReply, any Error>] {
    var results = [Result<RedisReply, any Error>?](repeating: nil, count: commands.count)
    var groups: [ObjectIdentifier: (node: RedisNode, indices: [Int])] = [:]
    for (index, command) in commands.enumerated() {
      guard let node = known(RedisSlot.of(command.key)) else { continue }
      groups[ObjectIdentifier(node), default: (node, [])].indices.append(index)
    }
    for (node, indices) in groups.values where indices.count > 1 {
      do {
        let replies = try node.use(isRepeatable: true) { connection in
          try connection.ask(indices.map { commands[$0] })
        }
        for (index, reply) in zip(indices, replies) {
          if case .error = reply { continue }
          results[index] = .success(reply)
        }
      } catch {
        // A single command finds the node's replacement; without one, the other commands fail
        // without another wait.
        let first = one(commands[indices[0]])
        results[indices[0]] = first
        guard case .failure = first else { continue }
        for index in indices where known(RedisSlot.of(commands[index].key)) === node {
          results[index] = first
        }
      }
    }
    // Single commands follow redirects.
    return commands.indices.map { results[$0] ?? one(commands[$0]) }
  }

  private func one(_ command: RedisCommand) -> Result<RedisReply, any Error> {
    Result { try use(command.key, isRepeatable: true) { try $0.demand(command) } }
  }

  private static func host(_ node: RedisNode) -> String {
    if case .host(let host, _) = node.address.place { host } else { "" }
  }

  // MARK: Slot owners

  private func known(_ slot: Int) -> RedisNode? { state.withLock { $0.owners[slot] } }

  private func owner(of slot: Int, of key: String) throws -> Target {
    let now = RelayClock.monotonic
    let (found, version, isDue) = state.withLock {
      ($0.owners[slot], $0.version, ($0.isOld || $0.owners[slot] == nil) && now >= $0.notBefore)
    }
    if !isDue, let found { return Target(node: found, version: version) }
    do {
      try askForMap(knowing: version, betweenMS: Self.betweenFailuresMS)
    } catch {
      // The old owner may still be right.
      if found == nil { throw error }
    }
    let (owner, newVersion) = state.withLock { ($0.owners[slot], $0.version) }
    guard let owner else {
      noteOutage(slot)
      throw RelayFault("\(address.name): no node has slot \(slot) of \(key)")
    }
    return Target(node: owner, version: newVersion)
  }

  /// Stores a MOVED redirect, and requests a map from the new node, which knows the other moves.
  private func moved(
    _ slot: Int, to place: RedisAddress.Place, _ from: Target, _ key: String
  ) throws -> Target {
    let node = node(at: place)
    let isDue = state.withLock { state in
      // Another thread has received a map since, which may be newer than this redirect.
      guard state.version == from.version || state.owners[slot] === from.node else { return false }
      state.set(slot, node)
      state.isOld = true
      return RelayClock.monotonic >= state.notBefore
    }
    if isDue {
      try? askForMap(
        knowing: from.version, first: place, avoiding: from.node, betweenMS: Self.betweenMovesMS)
    }
    return try owner(of: slot, of: key)
  }

  /// The new owner of the slot according to the other nodes; throws `fault` without one.
  private func other(
    than target: Target, _ slot: Int, _ key: String, fault: () -> RelayFault
  ) throws -> Target {
    state.withLock { $0.isOld = true }
    try? askForMap(
      knowing: target.version, avoiding: target.node, betweenMS: Self.betweenFailuresMS)
    let (owner, version) = state.withLock { ($0.owners[slot], $0.version) }
    guard let owner, owner !== target.node else { throw fault() }
    return Target(node: owner, version: version)
  }

  private func node(at place: RedisAddress.Place) -> RedisNode {
    state.withLock { $0.node(redirectedTo: place) }
  }

  // MARK: Map

  /// Gets a map, unless another thread has received one since `version`. Throws if no node returns
  /// one.
  private func askForMap(
    knowing version: Int, first: RedisAddress.Place? = nil, avoiding: RedisNode? = nil,
    betweenMS: Int64
  ) throws {
    asking.lock()
    defer { asking.unlock() }
    let now = RelayClock.monotonic
    let places: [RedisAddress.Place]? = state.withLock { state in
      guard state.version == version, state.version == 0 || now >= state.notBefore else {
        return nil
      }
      return state.order(first, avoiding: avoiding, seeds)
    }
    guard let places else { return }
    defer { state.withLock { $0.notBefore = RelayClock.monotonic + betweenMS } }
    var best: RedisSlotMap?
    var faults: [String] = []
    for place in places where RelayClock.monotonic < now + Self.limitMS {
      do {
        let map = try map(from: place)
        if map.covered > best?.covered ?? 0 { best = map }
        if map.covered == RedisSlot.count { break }
        if map.covered == 0 { faults.append("\(place.name): it has no slots") }
      } catch {
        if let refusal = error as? RedisRefusal, refusal.words.contains("cluster support disabled")
        {
          throw RelayFault(
            "\(refusal.name): not a node of a cluster: use redis:// instead "
              + "of redis+cluster://")
        }
        faults.append("\(error)")
      }
    }
    guard let best else {
      throw RelayFault(
        "\(address.name): no node returned a slot map: "
          + faults.prefix(4).joined(separator: "; "))
    }
    state.withLock { $0.take(best) }
  }

  /// Uses a separate connection, because the others may wait for a silent node.
  private func map(from place: RedisAddress.Place) throws -> RedisSlotMap {
    guard case .host(let host, _) = place else { throw RelayFault("no host") }
    let address = address.at(place)
    let connection = try RedisConnection(
      to: place, address.tls, named: address.name, answerS: Self.mapAnswerS)
    try connection.authenticate(address)
    let reply = try connection.demand(RedisCommand("CLUSTER", "SLOTS"))
    do {
      return try RedisSlotMap(reply, from: host)
    } catch {
      throw connection.fault("invalid CLUSTER SLOTS reply: \(error)")
    }
  }

  /// The nodes that have slots.
  func primaries() throws -> [RedisNode] {
    let (version, isThere) = state.withLock { ($0.version, !$0.primaries.isEmpty) }
    if !isThere { try askForMap(knowing: version, betweenMS: Self.betweenFailuresMS) }
    return state.withLock { $0.primaries }
  }

  /// A key for each node that has slots: `start` and a hash tag that selects one of its slots.
  func keys(_ start: String) throws -> [String] {
    var left = Set(try primaries().map { ObjectIdentifier($0) })
    let owners = state.withLock { $0.owners }
    var keys: [String] = []
    // Finding a node with few slots takes many attempts.
    for number in 0..<(4 * RedisSlot.count) where !left.isEmpty {
      let key = "\(start){\(number)}"
      guard let node = owners[RedisSlot.of(key)], left.remove(ObjectIdentifier(node)) != nil
      else { continue }
      keys.append(key)
    }
    return keys
  }

  // MARK: Losses

  private func noteOutage(_ slot: Int) {
    let number = losses.next()
    state.withLock { $0.outages[slot] = number }
  }

  func loss(of key: String) -> Int { state.withLock { $0.loss(of: RedisSlot.of(key)) } }
  func outage(of key: String) -> Int { state.withLock { $0.outage(of: RedisSlot.of(key)) } }
  func isUnreachable(_ key: String) -> Bool { known(RedisSlot.of(key))?.isUnreachable ?? false }
}
