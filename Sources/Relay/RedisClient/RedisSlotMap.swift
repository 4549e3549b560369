/// The slots of each node, as one node of the cluster reports them.
struct RedisSlotMap {
  /// The index in `places` for each slot; -1 without an owner.
  private(set) var owners = [Int](repeating: -1, count: RedisSlot.count)
  private(set) var places: [RedisAddress.Place] = []
  /// The number of slots with an owner.
  private(set) var covered = 0

  /// Parses the reply to CLUSTER SLOTS. `host` is the node that replied, which an entry without a
  /// host refers to.
  init(_ reply: RedisReply, from host: String) throws(RelayFault) {
    guard case .list(let ranges) = reply, ranges.count <= RedisSlot.count else {
      throw RelayFault("not a slot map")
    }
    var indices: [RedisAddress.Place: Int] = [:]
    for range in ranges {
      let parts = range.list
      guard parts.count >= 3, let start = parts[0].number, let end = parts[1].number,
        0 <= start, start <= end, end < Int64(RedisSlot.count)
      else { throw RelayFault("slot out of range") }
      guard let place = Self.place(parts[2].list, host) else {
        throw RelayFault("no address for the slots from \(start) on")
      }
      let index = indices[place] ?? places.count
      if index == places.count {
        indices[place] = index
        places.append(place)
      }
      for slot in Int(start)...Int(end) {
        guard owners[slot] < 0 else {
          throw RelayFault("two nodes for slot \(slot)")
        }
        owners[slot] = index
      }
      covered += Int(end - start) + 1
    }
  }

  /// Parses host, port, name, and a list of the host's other names.
  private static func place(_ node: [RedisReply], _ asked: String) -> RedisAddress.Place? {
    guard node.count >= 2, let port = node[1].number else { return nil }
    var host = node[0].text ?? ""
    if host == "?" {
      // The node does not know its own name; its address may be in the list.
      let names = node.count > 3 ? RedisReply.list(node[3].list).pairs : []
      host = names.first { $0.name == "ip" }?.value ?? ""
    }
    return .node(host.isEmpty ? asked : host, port)
  }
}

extension RedisAddress.Place {
  private static let longestHost = 255

  /// A node's address as another node reports it; nil if it is invalid.
  static func node(_ host: String, _ port: Int64) -> Self? {
    guard (1...65535).contains(port), (1...longestHost).contains(host.utf8.count),
      host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
    else { return nil }
    return .host(host, port: Int(port))
  }
}
