import Foundation
import Testing

@testable import Relay

/// A private Redis Cluster of a test, three primaries on loopback.
final class RedisClusterServers {
  struct Node {
    let port: Int
    let process: Process
    let id: String
  }

  private static let count = 3
  /// Suites run side by side, and each test empties the servers.
  static let turn = DispatchSemaphore(value: 1)
  nonisolated(unsafe) private static var kept: RedisClusterServers?
  private let directory: TestDirectory
  private(set) var nodes: [Node] = []

  var address: RedisAddress {
    get throws {
      try RedisAddress(
        "redis+cluster://\(nodes.map { "127.0.0.1:\($0.port)" }.joined(separator: ","))")
    }
  }

  /// The servers that all tests share.
  static func shared() throws -> RedisClusterServers {
    let servers = try kept ?? RedisClusterServers()
    kept = servers
    return servers
  }

  static func endShared() {
    turn.wait()
    kept = nil
    turn.signal()
  }

  private init() throws {
    directory = try TestDirectory()
    for index in 0..<Self.count {
      try FileManager.default.createDirectory(
        atPath: "\(directory.path)/\(index)", withIntermediateDirectories: true)
      try start("\(directory.path)/\(index)")
    }
    try join()
  }

  deinit { end() }

  func end() {
    for node in nodes where node.process.isRunning {
      kill(node.process.processIdentifier, SIGKILL)
      node.process.waitUntilExit()
    }
    nodes = []
  }

  private func start(_ directory: String) throws {
    for _ in 1...20 {
      let port = try freePort()
      let process = Process()
      process.executableURL = URL(fileURLWithPath: try #require(RedisServer.program))
      process.arguments = [
        "--port", "\(port)", "--bind", "127.0.0.1", "--dir", directory, "--save", "",
        "--appendonly", "yes", "--cluster-enabled", "yes", "--logfile", directory + "/redis.log",
      ]
      try process.run()
      let limit = Date(timeIntervalSinceNow: 60)
      while process.isRunning, Date() < limit {
        // The process ID must match: another server may have taken this port meanwhile.
        if let said = try? connect(port).demand(RedisCommand("INFO", "server")).text,
          said.contains("process_id:\(process.processIdentifier)\r"),
          let id = try? connect(port).demand(RedisCommand("CLUSTER", "MYID")).text
        {
          nodes.append(Node(port: port, process: process, id: id))
          return
        }
        usleep(5000)
      }
      // Another program may have taken one of its ports meanwhile.
    }
    throw RelayFault("redis-server does not start in \(directory)")
  }

  /// A port with a free bus port ten thousand above it, the default of all versions.
  private func freePort() throws -> Int {
    while true {
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      defer { close(descriptor) }
      var place = sockaddr_in()
      place.sin_family = sa_family_t(AF_INET)
      place.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let result = withUnsafeMutablePointer(to: &place) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1
        }
      }
      guard result == 0 else { throw RelayFault("there is no port") }
      let port = Int(UInt16(bigEndian: place.sin_port))
      if port < 55_000 { return port }
    }
  }

  private func connect(_ port: Int) throws -> RedisConnection {
    try RedisConnection(RedisAddress("redis://127.0.0.1:\(port)"))
  }

  private func join() throws {
    let each = (RedisSlot.count + Self.count - 1) / Self.count
    for (index, node) in nodes.enumerated() {
      try ask(node, "CLUSTER", "SET-CONFIG-EPOCH", "\(index + 1)")
      var slots = RedisCommand("CLUSTER", "ADDSLOTS")
      for slot in (index * each)..<min(RedisSlot.count, (index + 1) * each) { slots.add(slot) }
      _ = try connect(node.port).demand(slots)
      try ask(node, "CLUSTER", "MEET", "127.0.0.1", "\(nodes[0].port)")
    }
    let limit = Date(timeIntervalSinceNow: 60)
    while try nodes.contains(where: { !(try isWhole($0)) }) {
      guard Date() < limit else { throw RelayFault("the nodes do not join") }
      usleep(10_000)
    }
  }

  private func isWhole(_ node: Node) throws -> Bool {
    let said = try ask(node, "CLUSTER", "INFO").text ?? ""
    return said.contains("cluster_state:ok") && said.contains("cluster_known_nodes:\(nodes.count)")
      && said.contains("cluster_size:\(nodes.count)")
  }

  func empty() throws {
    for node in nodes { try ask(node, "FLUSHALL") }
  }

  /// Sends one command to this node.
  @discardableResult
  func ask(_ node: Node, _ words: String...) throws -> RedisReply {
    var command = RedisCommand()
    for word in words { command.add(word) }
    return try connect(node.port).demand(command)
  }

  /// The node that reports itself as the owner of a slot.
  func owner(_ slot: Int) throws -> Node {
    for node in nodes {
      for range in try ask(node, "CLUSTER", "SLOTS").list where range.list.count > 2 {
        guard let start = range.list[0].number, let end = range.list[1].number,
          (start...end).contains(Int64(slot)), range.list[2].list[1].number == Int64(node.port)
        else { continue }
        return node
      }
    }
    throw RelayFault("nobody has the slot \(slot)")
  }

  /// The entries of a stream, as fields.
  func stream(_ key: String) throws -> [[String: String]] {
    try ask(owner(RedisSlot.of(key)), "XRANGE", key, "-", "+").list.map { entry in
      Dictionary(
        RedisReply.list(entry.list[1].list).pairs.map { ($0.name, $0.value) },
        uniquingKeysWith: { _, last in last })
    }
  }

  // MARK: Slots that move

  func beginMove(_ slot: Int, from: Node, to: Node) throws {
    try ask(to, "CLUSTER", "SETSLOT", "\(slot)", "IMPORTING", from.id)
    try ask(from, "CLUSTER", "SETSLOT", "\(slot)", "MIGRATING", to.id)
  }

  /// Moves up to `most` keys, one by one.
  func moveKeys(_ slot: Int, from: Node, to: Node, most: Int = .max) throws {
    let keys = try ask(from, "CLUSTER", "GETKEYSINSLOT", "\(slot)", "1000").list.compactMap(\.text)
    for key in keys.sorted().prefix(most) {
      try ask(from, "MIGRATE", "127.0.0.1", "\(to.port)", key, "0", "5000")
    }
  }

  func endMove(_ slot: Int, to: Node) throws {
    try ask(to, "CLUSTER", "SETSLOT", "\(slot)", "NODE", to.id)
    for node in nodes where node.id != to.id {
      try ask(node, "CLUSTER", "SETSLOT", "\(slot)", "NODE", to.id)
    }
  }

  /// The number of times that this node executed a command, such as "cluster|slots".
  func calls(_ node: Node, _ name: String) throws -> Int {
    let lines = (try ask(node, "INFO", "commandstats").text ?? "").split(
      whereSeparator: \.isNewline)
    // Before 7.0 all subcommands of CLUSTER count as one.
    for name in [name, String(name.prefix { $0 != "|" })] {
      let start = "cmdstat_\(name):calls="
      if let line = lines.first(where: { $0.hasPrefix(start) }) {
        return Int(line.dropFirst(start.count).prefix { $0 != "," }) ?? 0
      }
    }
    return 0
  }
}

/// Ends the servers after the last test of a suite.
struct ClusterEnd: SuiteTrait, TestScoping {
  func provideScope(
    for test: Test, testCase: Test.Case?, performing tests: @Sendable () async throws -> Void
  ) async throws {
    defer { RedisClusterServers.endShared() }
    try await tests()
  }
}

extension Trait where Self == ClusterEnd {
  static var endsTheCluster: Self { ClusterEnd() }
}
