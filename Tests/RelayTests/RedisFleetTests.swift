import Foundation
import Testing

@testable import Relay

/// Several relays on one Redis, and readers of outcomes.
extension RedisQueueTests {
  @Test func aWorkerOfADeadProcessLosesItsEntriesAtOnce() throws {
    let queue = try place.open()
    _ = try queue.enqueue([NewEntry("a")], at: now)
    let workerID = try queue.join()
    #expect(try queue.claim(workerID, room: 9, at: now).count == 1)
    #expect(try queue.reclaim(silentSince: 0, at: now) == 0)
    let other = Process()
    other.executableURL = URL(fileURLWithPath: "/bin/true")
    try other.run()
    other.waitUntilExit()
    let own = ProcessMark.own.split(separator: ".").map(String.init)
    #expect(own.count == 4)
    func say(_ mark: [String]) throws {
      try server.ask(
        "HSET", "apns:{shop}:workers", "\(workerID.number)",
        "\(now) \(mark.joined(separator: ".")) a test")
    }
    // Whether a process on another machine is running is unknown.
    try say(["another", own[1], "\(other.processIdentifier)", own[3]])
    #expect(try queue.reclaim(silentSince: 0, at: now) == 0)
    try say([own[0], own[1], "\(other.processIdentifier)", own[3]])
    #expect(try queue.reclaim(silentSince: 0, at: now) == 1)
    #expect(try !queue.renew(workerID, at: now))
    #expect(try queue.claim(queue.join(), room: 9, at: now).map(\.deliveries) == [2])
  }

  @Test func workersOnOneQueueNeverGetTheSameWhileProducersAddAndOneFallsSilent() throws {
    let count = 600
    let lock = NSLock()
    nonisolated(unsafe) var seen: [String: Int] = [:]
    nonisolated(unsafe) let rules = self
    let time = now
    let lost = try place.open()
    _ = try lost.enqueue((0..<50).map { NewEntry("held-\($0)") }, at: now)
    let silent = try lost.join(app: "shop", named: "silent", at: now - 1000)
    #expect(try lost.claim(silent, room: 50, at: now).count == 50)
    concurrently(5) { number in
      if number == 0 {
        for index in 0..<count {
          try rules.add("id", "id-\(index)", "token", "00", "payload", "{}")
        }
        return
      }
      let queue = try rules.place.open()
      let workerID = try queue.join(app: "shop", named: "test", at: time)
      let limit = Date(timeIntervalSinceNow: 120)
      while lock.withLock({ seen.count }) < count + 50 {
        guard Date() < limit else { throw RelayFault("it does not end") }
        _ = try queue.reclaim(silentSince: time, at: time)
        let got = try queue.claim(workerID, room: 1 + number * 7, at: time)
        lock.withLock { for entry in got { seen[entry.content.id, default: 0] += 1 } }
        try queue.record(got.accepted, by: workerID, at: time)
      }
    }
    #expect(seen.count == count + 50)
    #expect(seen.values.max() == 1)
    #expect(try place.ends().count == count + 50)
  }

  @Test func atTheSameTimeOneMakesTheProviderToken() throws {
    let lock = NSLock()
    nonisolated(unsafe) var made = 0
    nonisolated(unsafe) var got: Set<String> = []
    nonisolated(unsafe) let rules = self
    let time = now
    concurrently(4) { _ in
      let token = try rules.place.open().providerToken(
        team: "T", key: "K", madeAfter: time - 1000, at: time, within: 5000
      ) {
        usleep(20_000)
        return lock.withLock {
          made += 1
          return SharedToken(text: "token \(made)", made: time)
        }
      }
      _ = lock.withLock { got.insert(token.text) }
    }
    #expect(made == 1)
    #expect(got == ["token 1"])
    #expect(try server.ask("PTTL", "apns:jwt:{T:K}").number ?? 0 > 0)
  }

  // MARK: Readers

  @Test func aReaderKeepsOutcomes() throws {
    let queue = try place.open()
    _ = try queue.enqueue((1...5).map { NewEntry("\($0)") }, at: now)
    let workerID = try queue.join()
    for one in try queue.claim(workerID, room: 9, at: now).accepted {
      try queue.record([one], by: workerID, at: now)
    }
    let numbers = try server.ask("XRANGE", "apns:{shop}:out", "-", "+").list.compactMap {
      $0.list[0].text
    }
    // A group that has read three outcomes, and confirmed the first.
    try server.ask("XGROUP", "CREATE", "apns:{shop}:out", "reports", "0")
    try server.ask(
      "XREADGROUP", "GROUP", "reports", "one", "COUNT", "3", "STREAMS", "apns:{shop}:out", ">")
    try server.ask("XACK", "apns:{shop}:out", "reports", numbers[0])
    #expect(try queue.trim(before: now + 1) == 1)
    try server.ask("XACK", "apns:{shop}:out", "reports", numbers[1], numbers[2])
    // A reader that stores the last number it has read.
    try server.ask("HSET", "apns:{shop}:readers", "bill", numbers[1])
    #expect(try queue.trim(before: now + 1) == 1)
    try server.ask("HDEL", "apns:{shop}:readers", "bill")
    #expect(try queue.trim(before: now + 1) == 1)
    #expect(try place.ends() == ["4/0 accepted", "5/0 accepted"])
    // An ID is known until its outcome is removed.
    #expect(try queue.enqueue((1...5).map { NewEntry("\($0)") }, at: now) == 3)
  }

  @Test func goneDevicesKeepTheirLatestTime() throws {
    let queue = try place.open()
    _ = try queue.enqueue([NewEntry("a"), NewEntry("b")], at: now)
    let workerID = try queue.join()
    for (entry, since) in zip(try queue.claim(workerID, room: 9, at: now), [7, 5] as [Int64]) {
      var outcome = PushOutcome(position: 0, token: "00", kind: .rejected, reason: "Unregistered")
      outcome.goneSince = since
      try queue.record(entry, [outcome], .finished, by: workerID, at: now)
    }
    #expect(
      try server.ask("ZRANGE", "apns:{shop}:gone", "0", "-1", "WITHSCORES").list.map(\.text) == [
        "00", "7",
      ])
  }
}
