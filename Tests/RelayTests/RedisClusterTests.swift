import Foundation
import Testing

@testable import Relay

extension QueueRules {
  /// The additional rules of a Redis Cluster.
  @Suite(.needsRedis) struct RedisClusterTests {
    private let now = QueueRules.now
    private let place: ClusterPlace
    private var cluster: RedisClusterServers { place.cluster }

    init() throws { place = try ClusterPlace() }

    /// The slot of the app `shop`, its owner, and another node.
    private func places() throws -> (
      slot: Int, from: RedisClusterServers.Node, to: RedisClusterServers.Node
    ) {
      let slot = RedisSlot.of("apns:{shop}:in")
      let owner = try cluster.owner(slot)
      return (slot, owner, try #require(cluster.nodes.first { $0.id != owner.id }))
    }

    // MARK: Apps on all nodes

    @Test func appsAreOnDifferentNodes() throws {
      let queue = try place.open()
      // One for each third of the slots.
      var apps: [String: String] = [:]
      for number in 0..<100 {
        let app = "app-\(number)"
        let node = try cluster.owner(RedisSlot.of("apns:{\(app)}:in"))
        apps[node.id] = apps[node.id] ?? app
        if apps.count == 3 { break }
      }
      let names = apps.values.sorted()
      #expect(names.count == 3)
      #expect(try queue.enqueue(names.map { NewEntry("a", app: $0) }, at: now) == 3)
      let workerIDs = try names.map { try queue.join(app: $0, named: "a test", at: now) }
      let depths = try queue.depths(at: now)
      #expect(depths.keys.sorted() == names)
      #expect(depths.values.map(\.ready) == [1, 1, 1])
      for workerID in workerIDs {
        let got = try queue.claim(workerID, room: 9, at: now)
        #expect(got.map(\.content.app) == [workerID.app])
        try queue.record(got.accepted, by: workerID, at: now)
        #expect(try queue.known(["a"], app: workerID.app)["a"]?.outcome != nil)
      }
      for node in cluster.nodes {
        #expect(try cluster.ask(node, "EXISTS", "apns:{\(apps[node.id] ?? "")}:out").number == 1)
      }
      // The workers on each node are silent.
      #expect(try queue.enqueue(names.map { NewEntry("b", app: $0) }, at: now) == 3)
      for workerID in workerIDs { #expect(try queue.claim(workerID, room: 9, at: now).count == 1) }
      #expect(try queue.reclaim(silentSince: now + 1, at: now + 2) == 3)
      #expect(try queue.trim(before: now + 1) == 3)
      #expect(throws: Never.self) { try queue.check() }
      for node in cluster.nodes { #expect(try cluster.calls(node, "set") > 0) }
    }

    // MARK: Slots that move

    /// The number of requests for the slot map.
    private func asked() throws -> Int {
      try cluster.nodes.reduce(0) { try $0 + cluster.calls($1, "cluster|slots") }
    }

    /// The map is not requested immediately if it is recent.
    private func waitForTheMap(
      since before: Int, _ queue: any QueueEngine, _ workerID: WorkerID
    ) throws {
      let limit = Date(timeIntervalSinceNow: 60)
      while try asked() == before, Date() < limit { #expect(try queue.renew(workerID, at: now)) }
    }

    @Test func whatMovedIsFollowedAndTheMapAskedForOnce() throws {
      let queue = try place.open()
      let workerID = try queue.join()
      _ = try queue.enqueue((1...9).map { NewEntry("\($0)") }, at: now)
      let first = try queue.claim(workerID, room: 3, at: now)
      let (slot, from, to) = try places()
      try cluster.beginMove(slot, from: from, to: to)
      try cluster.moveKeys(slot, from: from, to: to)
      try cluster.endMove(slot, to: to)
      // Until now the keys were read from their owner.
      let before = try asked()
      // A claim is not safe to repeat, but the redirected one was not executed.
      let second = try queue.claim(workerID, room: 3, at: now)
      #expect(second.ids == ["4", "5", "6"])
      #expect(second.map(\.deliveries) == [1, 1, 1])
      let third = try queue.claim(workerID, room: 9, at: now)
      try waitForTheMap(since: before, queue, workerID)
      try queue.record((first + second + third).accepted, by: workerID, at: now)
      #expect(try asked() - before == 1, "the slot map is requested once, not for each command")
      #expect(try place.ends().count == 9)
      #expect(try cluster.ask(to, "EXISTS", "apns:{shop}:out").number == 1)
    }

    @Test func manyWhoseSlotMovedAskForTheMapOnce() throws {
      let queue = try place.open()
      let workerID = try queue.join()
      // From then on the map may be requested again.
      let soon = RelayClock.monotonic + 200
      let time = now
      let (slot, from, to) = try places()
      /// Each on a separate connection; all get their replies at the same time.
      func renewAtOnce() throws {
        kill(from.process.processIdentifier, SIGSTOP)
        defer { kill(from.process.processIdentifier, SIGCONT) }
        let renewed = try atOnce(16) {
          (try? queue.renew(workerID, at: time)) == true
        } onceAllWait: {
          while RelayClock.monotonic < soon { usleep(10_000) }
          kill(from.process.processIdentifier, SIGCONT)
        }
        #expect(renewed == Array(repeating: true, count: 16))
      }
      try renewAtOnce()
      try cluster.beginMove(slot, from: from, to: to)
      try cluster.moveKeys(slot, from: from, to: to)
      try cluster.endMove(slot, to: to)
      let before = try asked()
      try renewAtOnce()
      try waitForTheMap(since: before, queue, workerID)
      for _ in 1...20 { #expect(try queue.renew(workerID, at: now)) }
      #expect(try asked() - before == 1)
    }

    @Test func aSlotIsUsedWhileItMoves() throws {
      let queue = try place.open()
      let workerID = try queue.join()
      _ = try queue.enqueue((1...9).map { NewEntry("\($0)") }, at: now)
      try queue.setAppState("word", "one", app: "shop")
      let (slot, from, to) = try places()
      try cluster.beginMove(slot, from: from, to: to)
      // A command for a key that has moved already is redirected (ASK), each time again.
      try cluster.ask(
        from, "MIGRATE", "127.0.0.1", "\(to.port)", "apns:{shop}:app_state", "0", "5000")
      for word in ["two", "three"] {
        try queue.setAppState("word", word, app: "shop")
        #expect(try queue.appState("word", app: "shop") == word)
      }
      // A command with several keys waits until all are on one node.
      let done = DispatchSemaphore(value: 0)
      let time = now
      nonisolated(unsafe) var result: Result<[String], any Error>?
      Thread.detachNewThread {
        result = Result { try queue.claim(workerID, room: 9, at: time).ids }
        done.signal()
      }
      let refusals = { try self.refusals("TRYAGAIN") }
      let limit = Date(timeIntervalSinceNow: 60)
      // More often than the limit of redirections.
      let before = try refusals()
      while try refusals() < before + 12, Date() < limit { usleep(5000) }
      #expect(try refusals() >= before + 12)
      try cluster.moveKeys(slot, from: from, to: to)
      try cluster.endMove(slot, to: to)
      done.wait()
      #expect(try #require(result).get() == (1...9).map { "\($0)" })
      #expect(try queue.appState("word", app: "shop") == "three")
      #expect(try queue.depths(at: now)["shop"]?.claimed == 9)
    }

    /// The number of these error replies of all nodes.
    private func refusals(_ name: String) throws -> Int {
      try cluster.nodes.reduce(0) { sum, node in
        let lines = (try cluster.ask(node, "INFO", "errorstats").text ?? "")
          .split(whereSeparator: \.isNewline)
        let start = "errorstat_\(name):count="
        return sum
          + (lines.first { $0.hasPrefix(start) }.flatMap { Int($0.dropFirst(start.count)) } ?? 0)
      }
    }

    @Test func whoCameToAnotherNodeIsReconciled() throws {
      let queue = try place.open()
      let workerID = try queue.join()
      _ = try queue.enqueue([NewEntry("a"), NewEntry("b")], at: now)
      #expect(try queue.claim(workerID, room: 1, at: now).ids == ["a"])
      // As if the reply had been lost with the node: the worker does not know that it holds the
      // entry.
      #expect(try place.open().claim(workerID, room: 1, at: now).ids == ["b"])
      let (slot, from, to) = try places()
      try cluster.beginMove(slot, from: from, to: to)
      try cluster.moveKeys(slot, from: from, to: to)
      try cluster.endMove(slot, to: to)
      #expect(try queue.renew(workerID, at: now))
      let again = try queue.claim(workerID, room: 9, at: now)
      #expect(again.ids == ["b"])
      #expect(again.map(\.deliveries) == [1])
    }

    @Test func whatALostAnswerGaveIsNotAskedForTwice() throws {
      let queue = try place.open()
      _ = try queue.enqueue([NewEntry("a")], at: now)
      let workerID = try queue.join()
      for node in cluster.nodes { try cluster.ask(node, "CLIENT", "KILL", "TYPE", "normal") }
      let (_, from, _) = try places()
      let before = try cluster.calls(from, "xreadgroup")
      #expect(throws: (any Error).self) { try queue.claim(workerID, room: 9, at: now) }
      #expect(try cluster.calls(from, "xreadgroup") == before)
      #expect(try queue.claim(workerID, room: 9, at: now).ids == ["a"])
    }

    // MARK: Addresses that lead elsewhere

    @Test func aNodeOfAClusterIsNoSingleRedis() throws {
      let port = cluster.nodes[0].port
      #expect(
        fault { try RedisQueue(RedisAddress("redis://127.0.0.1:\(port)")) }
          == "redis://127.0.0.1:\(port): it is a node of a cluster: use "
          + "redis+cluster://host:port, or rediss+cluster://")
    }

    @Test func aSeedThatIsAwayIsPassedOver() throws {
      let port = cluster.nodes[2].port
      let queue = try RedisQueue(RedisAddress("redis+cluster://127.0.0.1:1,127.0.0.1:\(port)"))
      #expect(throws: Never.self) { try queue.check() }
      #expect(queue.warnings == [])
      #expect(
        fault { try RedisQueue(RedisAddress("redis+cluster://127.0.0.1:1")) }
          == "redis+cluster://127.0.0.1:1: no node returned a slot map: "
          + "redis://127.0.0.1:1: no connection: Connection refused")
    }

    @Test func eachNodeThatKeepsNothingIsWarnedOf() throws {
      for node in cluster.nodes.prefix(2) {
        try cluster.ask(node, "CONFIG", "SET", "appendonly", "no")
      }
      defer {
        for node in cluster.nodes {
          _ = try? cluster.ask(node, "CONFIG", "SET", "appendonly", "yes")
        }
      }
      let said = try RedisQueue(cluster.address).warnings
      #expect(said.count == 2)
      for (node, line) in zip(cluster.nodes, said.sorted()) where node.port == cluster.nodes[0].port
      {
        #expect(said.contains { $0.hasPrefix("redis://127.0.0.1:\(node.port): ") }, "\(line)")
      }
    }
  }
}
