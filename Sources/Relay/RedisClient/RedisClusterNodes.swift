/// The nodes of a cluster, and the slots that they have as far as is known.
struct RedisClusterNodes {
  /// The most nodes that only redirects name, and no map.
  private static let mostStrangers = 32

  private(set) var owners = [RedisNode?](repeating: nil, count: RedisSlot.count)
  private var nodes: [RedisAddress.Place: RedisNode] = [:]
  /// The nodes that have slots, in the map's order.
  private(set) var primaries: [RedisNode] = []
  /// The number of the last move of a slot to another node, which may have lost data.
  private var moves: [Int: Int] = [:]
  /// The number of the last outage of a slot while its node was reachable.
  var outages: [Int: Int] = [:]
  /// The number of maps received so far.
  private(set) var version = 0
  var isOld = true
  /// No map is requested before this (monotonic), if there is one already.
  var notBefore: Int64 = 0
  private var turn = 0
  private let address: RedisAddress
  private let losses: RedisLosses

  init(_ address: RedisAddress, _ losses: RedisLosses) {
    self.address = address
    self.losses = losses
  }

  /// A redirect names this node.
  mutating func node(redirectedTo place: RedisAddress.Place) -> RedisNode {
    if nodes[place] == nil, nodes.count >= primaries.count + Self.mostStrangers {
      nodes = nodes.filter { one in primaries.contains { $0 === one.value } }
    }
    return node(at: place)
  }

  private mutating func node(at place: RedisAddress.Place) -> RedisNode {
    if let node = nodes[place] { return node }
    let node = RedisNode(address.at(place), losses, hasOthers: true)
    nodes[place] = node
    return node
  }

  mutating func set(_ slot: Int, _ node: RedisNode?) {
    if let before = owners[slot], before !== node { moves[slot] = losses.next() }
    owners[slot] = node
  }

  mutating func take(_ map: RedisSlotMap) {
    let listed = map.places.map { node(at: $0) }
    for (slot, index) in map.owners.enumerated() { set(slot, index < 0 ? nil : listed[index]) }
    primaries = listed
    nodes = Dictionary(uniqueKeysWithValues: zip(map.places, listed))
    version += 1
    isOld = false
  }

  /// Where to ask for a map: at these places first. Begins with a different node each time, because one
  /// may have left the cluster.
  mutating func order(
    _ first: RedisAddress.Place?, avoiding avoided: RedisNode?, _ seeds: [RedisAddress.Place]
  ) -> [RedisAddress.Place] {
    turn += 1
    var good: [RedisAddress.Place] = []
    var bad: [RedisAddress.Place] = []
    for index in primaries.indices {
      let node = primaries[(index + turn) % primaries.count]
      if node === avoided || node.isUnreachable {
        bad.append(node.address.place)
      } else {
        good.append(node.address.place)
      }
    }
    var seen: Set<RedisAddress.Place> = []
    return ((first.map { [$0] } ?? []) + good + seeds + bad).filter { seen.insert($0).inserted }
  }

  func loss(of slot: Int) -> Int { max(owners[slot]?.loss ?? 0, moves[slot] ?? 0) }

  func outage(of slot: Int) -> Int {
    max(owners[slot]?.outage ?? 0, moves[slot] ?? 0, outages[slot] ?? 0)
  }
}

extension RedisAddress {
  /// The same for another node.
  func at(_ place: Place) -> RedisAddress {
    var address = self
    address.place = place
    return address
  }
}
