import Foundation
import XCTest

@testable import Relay

/// Several relays on one Redis, and those who read what came of it.
extension RedisQueueTests {
  func testAWorkerOfADeadProcessLosesItsEntriesAtOnce() throws {
    let queue = try open(place)
    _ = try queue.enqueue([entry("a")], at: now)
    let seat = try join(queue)
    XCTAssertEqual(try queue.claim(seat, room: 9, at: now).count, 1)
    XCTAssertEqual(try queue.reclaim(silentSince: 0, at: now), 0)
    let other = Process()
    other.executableURL = URL(fileURLWithPath: "/bin/true")
    try other.run()
    other.waitUntilExit()
    let own = ProcessMark.own.split(separator: ".").map(String.init)
    XCTAssertEqual(own.count, 4)
    func say(_ mark: [String]) throws {
      try server.ask(
        "HSET", "apns:{shop}:workers", "\(seat.number)",
        "\(now) \(mark.joined(separator: ".")) a test")
    }
    // On another machine nobody knows.
    try say(["another", own[1], "\(other.processIdentifier)", own[3]])
    XCTAssertEqual(try queue.reclaim(silentSince: 0, at: now), 0)
    try say([own[0], own[1], "\(other.processIdentifier)", own[3]])
    XCTAssertEqual(try queue.reclaim(silentSince: 0, at: now), 1)
    XCTAssertFalse(try queue.renew(seat, at: now))
    XCTAssertEqual(try queue.claim(join(queue), room: 9, at: now).map(\.deliveries), [2])
  }

  func testWorkersOnOneQueueNeverGetTheSameWhileProducersAddAndOneFallsSilent() throws {
    let count = 600
    let lock = NSLock()
    nonisolated(unsafe) var seen: [String: Int] = [:]
    nonisolated(unsafe) let rules = self
    let (place, time) = (place, now)
    let lost = try open(place)
    _ = try lost.enqueue((0..<50).map { entry("held-\($0)") }, at: now)
    let silent = try lost.join(app: "shop", named: "silent", at: now - 1000)
    XCTAssertEqual(try lost.claim(silent, room: 50, at: now).count, 50)
    DispatchQueue.concurrentPerform(iterations: 5) { number in
      do {
        if number == 0 {
          for index in 0..<count {
            try rules.add("id", "id-\(index)", "token", "00", "payload", "{}")
          }
          return
        }
        let queue = try rules.open(place)
        let seat = try queue.join(app: "shop", named: "test", at: time)
        let limit = Date(timeIntervalSinceNow: 120)
        while lock.withLock({ seen.count }) < count + 50 {
          guard Date() < limit else { return XCTFail("it does not end") }
          _ = try queue.reclaim(silentSince: time, at: time)
          let got = try queue.claim(seat, room: 1 + number * 7, at: time)
          lock.withLock { for entry in got { seen[entry.content.id, default: 0] += 1 } }
          try queue.record(rules.accepted(got), by: seat, at: time)
        }
      } catch {
        XCTFail("\(error)")
      }
    }
    XCTAssertEqual(seen.count, count + 50)
    XCTAssertEqual(seen.values.max(), 1)
    XCTAssertEqual(try ends(lost).count, count + 50)
  }

  func testAtTheSameTimeOneMakesTheProviderToken() throws {
    let lock = NSLock()
    nonisolated(unsafe) var made = 0
    nonisolated(unsafe) var got: Set<String> = []
    nonisolated(unsafe) let rules = self
    let (place, time) = (place, now)
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      do {
        let token = try rules.open(place).providerToken(
          team: "T", key: "K", madeAfter: time - 1000, at: time, within: 5000
        ) {
          usleep(20_000)
          return lock.withLock {
            made += 1
            return SharedToken(text: "token \(made)", made: time)
          }
        }
        _ = lock.withLock { got.insert(token.text) }
      } catch {
        XCTFail("\(error)")
      }
    }
    XCTAssertEqual(made, 1)
    XCTAssertEqual(got, ["token 1"])
    XCTAssertGreaterThan(try server.ask("PTTL", "apns:jwt:{T:K}").number ?? 0, 0)
  }

  // MARK: Readers

  func testAReaderKeepsOutcomes() throws {
    let queue = try open(place)
    _ = try queue.enqueue((1...5).map { entry("\($0)") }, at: now)
    let seat = try join(queue)
    for one in try accepted(queue.claim(seat, room: 9, at: now)) {
      try queue.record([one], by: seat, at: now)
    }
    let numbers = try server.ask("XRANGE", "apns:{shop}:out", "-", "+").list.compactMap {
      $0.list[0].text
    }
    // A group that has read three, and confirmed the first.
    try server.ask("XGROUP", "CREATE", "apns:{shop}:out", "reports", "0")
    try server.ask(
      "XREADGROUP", "GROUP", "reports", "one", "COUNT", "3", "STREAMS", "apns:{shop}:out", ">")
    try server.ask("XACK", "apns:{shop}:out", "reports", numbers[0])
    XCTAssertEqual(try queue.trim(before: now + 1), 1)
    try server.ask("XACK", "apns:{shop}:out", "reports", numbers[1], numbers[2])
    // One that writes down how far it is.
    try server.ask("HSET", "apns:{shop}:readers", "bill", numbers[1])
    XCTAssertEqual(try queue.trim(before: now + 1), 1)
    try server.ask("HDEL", "apns:{shop}:readers", "bill")
    XCTAssertEqual(try queue.trim(before: now + 1), 1)
    XCTAssertEqual(try ends(queue), ["4/0 accepted", "5/0 accepted"])
    // An id is known as long as its outcome is there.
    XCTAssertEqual(try queue.enqueue((1...5).map { entry("\($0)") }, at: now), 3)
  }

  func testGoneDevicesKeepTheirLatestTime() throws {
    let queue = try open(place)
    _ = try queue.enqueue([entry("a"), entry("b")], at: now)
    let seat = try join(queue)
    for (entry, since) in zip(try queue.claim(seat, room: 9, at: now), [7, 5] as [Int64]) {
      var outcome = PushOutcome(position: 0, token: "00", end: .rejected, reason: "Unregistered")
      outcome.goneSince = since
      try queue.record([Verdict(entry, [outcome], .finished)], by: seat, at: now)
    }
    XCTAssertEqual(
      try server.ask("ZRANGE", "apns:{shop}:gone", "0", "-1", "WITHSCORES").list.map(\.text),
      ["00", "7"])
  }
}
