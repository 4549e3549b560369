import Foundation
import Testing

@testable import Relay

/// A private Redis of a test.
final class RedisPlace: QueuePlace {
  private let directory: TestDirectory
  let server: RedisServer

  init() throws {
    directory = try TestDirectory()
    // Written to the disk before each reply, because the tests kill this Redis.
    server = try RedisServer(directory.path, ["--appendonly", "yes", "--appendfsync", "always"])
  }

  deinit { server.kill() }

  func open() throws -> any QueueEngine { try RedisQueue(server.address) }

  func ends() throws -> [String] { try Self.ends(server.stream("apns:{shop}:out")) }

  func history(of id: String) throws -> String {
    try Self.history(of: id, server.stream("apns:{shop}:dead"))
  }

  func laneOfTheDead() throws -> String? { try server.stream("apns:{shop}:dead").first?["lane"] }

  func gone() throws -> [String] {
    try server.ask("ZRANGE", "apns:{shop}:gone", "0", "-1").list.compactMap(\.text).sorted()
  }

  // MARK: Records of streams

  static func ends(_ records: [[String: String]]) throws -> [String] {
    try outcomes(records).map { "\($0.id)/\($0.outcome.position) \($0.outcome.kind.rawValue)" }
  }

  /// The outcomes in the records of "out", which hold several elements with several devices each.
  static func outcomes(_ records: [[String: String]]) throws -> [(id: String, outcome: PushOutcome)]
  {
    try records.flatMap { record in
      let text = record["outcomes"] ?? ""
      let list = try JSONSerialization.jsonObject(with: Data(text.utf8))
      let ids = try #require(list as? [[String: Any]]).flatMap { one in
        ((one["devices"] as? [Any]) ?? []).map { _ in one["id"] as? String ?? "?" }
      }
      return zip(ids, OutcomeList.read(text)).map { ($0, $1) }
    }
  }

  static func history(of id: String, _ records: [[String: String]]) -> String {
    records.first { $0["id"] == id }?["history"] ?? ""
  }
}

/// The cluster that all tests share, emptied. One test at a time has it.
final class ClusterPlace: QueuePlace {
  let cluster: RedisClusterServers

  init() throws {
    RedisClusterServers.turn.wait()
    do {
      cluster = try RedisClusterServers.shared()
      try cluster.empty()
    } catch {
      RedisClusterServers.turn.signal()
      throw error
    }
  }

  deinit { RedisClusterServers.turn.signal() }

  func open() throws -> any QueueEngine { try RedisQueue(cluster.address) }

  func ends() throws -> [String] { try RedisPlace.ends(cluster.stream("apns:{shop}:out")) }

  func history(of id: String) throws -> String {
    try RedisPlace.history(of: id, cluster.stream("apns:{shop}:dead"))
  }

  func laneOfTheDead() throws -> String? { try cluster.stream("apns:{shop}:dead").first?["lane"] }

  func gone() throws -> [String] {
    let key = "apns:{shop}:gone"
    return try cluster.ask(cluster.owner(RedisSlot.of(key)), "ZRANGE", key, "0", "-1").list
      .compactMap(\.text).sorted()
  }
}
