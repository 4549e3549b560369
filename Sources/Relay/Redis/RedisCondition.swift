/// Warnings about the Redis configuration and state.
struct RedisCondition {
  private static let oldest = (6, 2)

  let warnings: [String]

  /// Checks every Redis node that holds keys.
  init(_ connections: RedisConnections) throws {
    let nodes = try connections.nodes()
    var warnings: [String] = []
    var faults: [RelayFault] = []
    for node in nodes {
      do {
        warnings += try Self.warnings(node, isCluster: connections.isCluster)
      } catch let refusal as RedisRefusal {
        throw refusal.fault
      } catch let failure as any RedisFailure {
        faults.append(failure.fault)
      }
    }
    // In a cluster a node may be down while a replica takes over; fail only if all are unreachable.
    if faults.count == nodes.count, let fault = faults.first { throw fault }
    self.warnings = warnings + faults.map(\.description)
  }

  private static func warnings(_ node: RedisNode, isCluster: Bool) throws -> [String] {
    let name = node.address.name
    let lines = try node.use(isRepeatable: true) { connection in
      try ["server", "persistence", "memory"].map { part in
        // No warnings if this user may not run INFO.
        if case .bytes(let bytes) = try connection.ask(RedisCommand("INFO", part)) {
          return String(decoding: bytes, as: UTF8.self)
        }
        return ""
      }
    }
    var values: [String: String] = [:]
    for line in lines.joined(separator: "\n").split(whereSeparator: \.isNewline) {
      let parts = line.split(separator: ":", maxSplits: 1)
      if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
    }
    if let version = values["redis_version"] {
      let parts = version.split(separator: ".").map { Int($0) ?? 0 }
      if parts.count > 1, (parts[0], parts[1]) < oldest {
        throw RelayFault("\(name): this is Redis \(version), but the relay needs 6.2 or newer")
      }
    }
    if values["redis_mode"] == "cluster", !isCluster {
      throw RedisConnections.fault(ofNode: name)
    }
    var warnings: [String] = []
    if values["aof_enabled"] == "0" {
      warnings.append(
        "\(name): appendonly is off, so a Redis that stops loses everything since its last "
          + "snapshot")
    }
    if let policy = values["maxmemory_policy"], policy != "noeviction",
      values["maxmemory"] ?? "0" != "0"
    {
      warnings.append(
        "\(name): maxmemory-policy is \(policy), so a full Redis may remove the queue; it must "
          + "be noeviction")
    }
    return warnings
  }
}
