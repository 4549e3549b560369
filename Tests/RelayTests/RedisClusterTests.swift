import Foundation
import XCTest

@testable import Relay

/// The rules of a queue in a cluster of Redis, and what a cluster does besides.
final class RedisClusterTests: QueueRules {
  nonisolated(unsafe) private static var servers: RedisClusterServers?
  private var cluster: RedisClusterServers!

  override class func tearDown() {
    servers?.end()
    servers = nil
    super.tearDown()
  }

  override func setUpWithError() throws {
    try super.setUpWithError()
    let servers = try Self.servers ?? RedisClusterServers()
    Self.servers = servers
    cluster = servers
    try servers.empty()
  }

  override func open(_ place: String) throws -> any QueueEngine {
    try RedisQueue(cluster.address)
  }

  override func ends(_ queue: any QueueEngine) throws -> [String] {
    try cluster.stream("apns:{shop}:out").flatMap {
      try RedisQueueTests.outcomes($0).map {
        "\($0.id)/\($0.outcome.position) \($0.outcome.end.rawValue)"
      }
    }
  }

  override func story(_ queue: any QueueEngine, of id: String) throws -> String {
    try cluster.stream("apns:{shop}:dead").first { $0["id"] == id }?["story"] ?? ""
  }

  private func entry(_ id: String, app: String = "shop") -> NewEntry {
    NewEntry(app: app, id: id, token: "00", payload: "{\"aps\":{}}")
  }

  private func accepted(_ entries: [Entry]) -> [Verdict] {
    entries.map { Verdict($0, [PushOutcome(position: 0, token: "00", end: .accepted)], .finished) }
  }

  private func join(_ queue: any QueueEngine) throws -> WorkerSeat {
    try queue.join(app: "shop", named: "a test", at: now)
  }

  /// The slot of the app `shop`, who has it, and somebody else.
  private func places() throws -> (
    slot: Int, from: RedisClusterServers.Node, to: RedisClusterServers.Node
  ) {
    let slot = RedisSlot.of("apns:{shop}:in")
    let owner = try cluster.owner(slot)
    return (slot, owner, try XCTUnwrap(cluster.nodes.first { $0.id != owner.id }))
  }

  // MARK: Apps on all nodes

  func testAppsAreOnDifferentNodes() throws {
    let queue = try open(place)
    // One for each third of the slots.
    var apps: [String: String] = [:]
    for number in 0..<100 {
      let app = "app-\(number)"
      let node = try cluster.owner(RedisSlot.of("apns:{\(app)}:in"))
      apps[node.id] = apps[node.id] ?? app
      if apps.count == 3 { break }
    }
    let names = apps.values.sorted()
    XCTAssertEqual(names.count, 3)
    XCTAssertEqual(try queue.enqueue(names.map { entry("a", app: $0) }, at: now), 3)
    let seats = try names.map { try queue.join(app: $0, named: "a test", at: now) }
    let depths = try queue.depths(at: now)
    XCTAssertEqual(depths.keys.sorted(), names)
    XCTAssertEqual(depths.values.map(\.waiting), [1, 1, 1])
    for seat in seats {
      let got = try queue.claim(seat, room: 9, at: now)
      XCTAssertEqual(got.map(\.content.app), [seat.app])
      try queue.record(accepted(got), by: seat, at: now)
      XCTAssertNotNil(try queue.known(["a"], app: seat.app)["a"]?.outcome)
    }
    for node in cluster.nodes {
      XCTAssertEqual(
        try cluster.ask(node, "EXISTS", "apns:{\(apps[node.id] ?? "")}:out").number, 1)
    }
    // Each of another node is silent.
    XCTAssertEqual(try queue.enqueue(names.map { entry("b", app: $0) }, at: now), 3)
    for seat in seats { XCTAssertEqual(try queue.claim(seat, room: 9, at: now).count, 1) }
    XCTAssertEqual(try queue.reclaim(silentSince: now + 1, at: now + 2), 3)
    XCTAssertEqual(try queue.trim(before: now + 1), 3)
    XCTAssertNoThrow(try queue.check())
    for node in cluster.nodes { XCTAssertGreaterThan(try cluster.calls(node, "set"), 0) }
  }

  // MARK: Slots that move

  /// How often the nodes were asked for the map.
  private func asked() throws -> Int {
    try cluster.nodes.reduce(0) { try $0 + cluster.calls($1, "cluster|slots") }
  }

  /// It is not asked for at once, if there was one just now.
  private func waitForTheMap(
    since before: Int, _ queue: any QueueEngine, _ seat: WorkerSeat
  ) throws {
    let limit = Date(timeIntervalSinceNow: 60)
    while try asked() == before, Date() < limit { XCTAssertTrue(try queue.renew(seat, at: now)) }
  }

  func testWhatMovedIsFollowedAndTheMapAskedForOnce() throws {
    let queue = try open(place)
    let seat = try join(queue)
    _ = try queue.enqueue((1...9).map { entry("\($0)") }, at: now)
    let first = try queue.claim(seat, room: 3, at: now)
    let (slot, from, to) = try places()
    try cluster.beginMove(slot, from: from, to: to)
    try cluster.moveKeys(slot, from: from, to: to)
    try cluster.endMove(slot, to: to)
    // Until now it went to the one that had it.
    let before = try asked()
    // The answer is not known to be repeatable, but it was not done.
    let second = try queue.claim(seat, room: 3, at: now)
    XCTAssertEqual(second.map(\.content.id), ["4", "5", "6"])
    XCTAssertEqual(second.map(\.deliveries), [1, 1, 1])
    let third = try queue.claim(seat, room: 9, at: now)
    try waitForTheMap(since: before, queue, seat)
    try queue.record(accepted(first + second + third), by: seat, at: now)
    XCTAssertEqual(try asked() - before, 1, "the map is asked for once, not for each command")
    XCTAssertEqual(try ends(queue).count, 9)
    XCTAssertEqual(try cluster.ask(to, "EXISTS", "apns:{shop}:out").number, 1)
  }

  func testManyWhoseSlotMovedAskForTheMapOnce() throws {
    let queue = try open(place)
    let seat = try join(queue)
    let time = now
    let (slot, from, to) = try places()
    /// Each on a connection of its own; all are answered at the same time.
    func renewAtOnce() {
      kill(from.process.processIdentifier, SIGSTOP)
      let group = DispatchGroup()
      for _ in 1...16 {
        group.enter()
        Thread.detachNewThread {
          XCTAssertEqual(try? queue.renew(seat, at: time), true)
          group.leave()
        }
      }
      // Longer than there has to be between two maps, too.
      usleep(300_000)
      kill(from.process.processIdentifier, SIGCONT)
      group.wait()
    }
    renewAtOnce()
    try cluster.beginMove(slot, from: from, to: to)
    try cluster.moveKeys(slot, from: from, to: to)
    try cluster.endMove(slot, to: to)
    let before = try asked()
    renewAtOnce()
    try waitForTheMap(since: before, queue, seat)
    for _ in 1...20 { XCTAssertTrue(try queue.renew(seat, at: now)) }
    XCTAssertEqual(try asked() - before, 1)
  }

  func testASlotIsUsedWhileItMoves() throws {
    let queue = try open(place)
    let seat = try join(queue)
    _ = try queue.enqueue((1...9).map { entry("\($0)") }, at: now)
    try queue.setNote("word", "one", app: "shop")
    let (slot, from, to) = try places()
    try cluster.beginMove(slot, from: from, to: to)
    // A key that is gone already is asked for where it is, each time anew.
    try cluster.ask(from, "MIGRATE", "127.0.0.1", "\(to.port)", "apns:{shop}:notes", "0", "5000")
    for word in ["two", "three"] {
      try queue.setNote("word", word, app: "shop")
      XCTAssertEqual(try queue.note("word", app: "shop"), word)
    }
    // What needs all keys waits until they are together.
    let done = DispatchSemaphore(value: 0)
    let time = now
    nonisolated(unsafe) var result: Result<[String], any Error>?
    Thread.detachNewThread {
      result = Result { try queue.claim(seat, room: 9, at: time).map(\.content.id) }
      done.signal()
    }
    let refusals = { try self.refusals("TRYAGAIN") }
    let limit = Date(timeIntervalSinceNow: 60)
    // More often than a command may be sent elsewhere.
    let before = try refusals()
    while try refusals() < before + 12, Date() < limit { usleep(5000) }
    XCTAssertGreaterThanOrEqual(try refusals(), before + 12)
    try cluster.moveKeys(slot, from: from, to: to)
    try cluster.endMove(slot, to: to)
    done.wait()
    XCTAssertEqual(try XCTUnwrap(result).get(), (1...9).map { "\($0)" })
    XCTAssertEqual(try queue.note("word", app: "shop"), "three")
    XCTAssertEqual(try queue.depths(at: now)["shop"]?.held, 9)
  }

  /// How often the nodes answered with this.
  private func refusals(_ name: String) throws -> Int {
    try cluster.nodes.reduce(0) { sum, node in
      let lines = (try cluster.ask(node, "INFO", "errorstats").text ?? "")
        .split(whereSeparator: \.isNewline)
      let start = "errorstat_\(name):count="
      return sum
        + (lines.first { $0.hasPrefix(start) }.flatMap { Int($0.dropFirst(start.count)) } ?? 0)
    }
  }

  func testWhoCameToAnotherNodeIsReconciled() throws {
    let queue = try open(place)
    let seat = try join(queue)
    _ = try queue.enqueue([entry("a"), entry("b")], at: now)
    XCTAssertEqual(try queue.claim(seat, room: 1, at: now).map(\.content.id), ["a"])
    // As if it was lost with the node: the worker does not know that it has it.
    XCTAssertEqual(try open(place).claim(seat, room: 1, at: now).map(\.content.id), ["b"])
    let (slot, from, to) = try places()
    try cluster.beginMove(slot, from: from, to: to)
    try cluster.moveKeys(slot, from: from, to: to)
    try cluster.endMove(slot, to: to)
    XCTAssertTrue(try queue.renew(seat, at: now))
    let again = try queue.claim(seat, room: 9, at: now)
    XCTAssertEqual(again.map(\.content.id), ["b"])
    XCTAssertEqual(again.map(\.deliveries), [1])
  }

  func testWhatALostAnswerGaveIsNotAskedForTwice() throws {
    let queue = try open(place)
    _ = try queue.enqueue([entry("a")], at: now)
    let seat = try join(queue)
    for node in cluster.nodes { try cluster.ask(node, "CLIENT", "KILL", "TYPE", "normal") }
    let (_, from, _) = try places()
    let before = try cluster.calls(from, "xreadgroup")
    XCTAssertThrowsError(try queue.claim(seat, room: 9, at: now))
    XCTAssertEqual(try cluster.calls(from, "xreadgroup"), before)
    XCTAssertEqual(try queue.claim(seat, room: 9, at: now).map(\.content.id), ["a"])
  }

  // MARK: Addresses that lead elsewhere

  func testANodeOfAClusterIsNoSingleRedis() throws {
    let port = cluster.nodes[0].port
    XCTAssertThrowsError(try RedisQueue(RedisAddress("redis://127.0.0.1:\(port)"))) {
      XCTAssertEqual(
        "\($0)",
        "redis://127.0.0.1:\(port): it is a node of a cluster, which needs "
          + "redis+cluster://host:port, or rediss+cluster://")
    }
  }

  func testASeedThatIsAwayIsPassedOver() throws {
    let port = cluster.nodes[2].port
    let queue = try RedisQueue(RedisAddress("redis+cluster://127.0.0.1:1,127.0.0.1:\(port)"))
    XCTAssertNoThrow(try queue.check())
    XCTAssertEqual(queue.warnings, [])
    XCTAssertThrowsError(try RedisQueue(RedisAddress("redis+cluster://127.0.0.1:1"))) {
      XCTAssertEqual(
        "\($0)",
        "redis+cluster://127.0.0.1:1: no node says who has what: "
          + "redis://127.0.0.1:1: no connection: Connection refused")
    }
  }

  func testEachNodeThatKeepsNothingIsWarnedOf() throws {
    for node in cluster.nodes.prefix(2) {
      try cluster.ask(node, "CONFIG", "SET", "appendonly", "no")
    }
    defer {
      for node in cluster.nodes {
        _ = try? cluster.ask(node, "CONFIG", "SET", "appendonly", "yes")
      }
    }
    let said = try RedisQueue(cluster.address).warnings
    XCTAssertEqual(said.count, 2)
    for (node, line) in zip(cluster.nodes, said.sorted()) where node.port == cluster.nodes[0].port {
      XCTAssertTrue(said.contains { $0.hasPrefix("redis://127.0.0.1:\(node.port): ") }, line)
    }
  }
}
