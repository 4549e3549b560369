import Foundation
import Synchronization
import Testing

@testable import Relay

/// The news of idle relays, for each engine that notices changes.
extension QueueRules {
  private static var redis: [Engine] { Engine.here.filter { $0 == .redis || $0 == .cluster } }
  private static var watching: [Engine] { [.sqlite] + redis }

  /// A relay that watches a part of the queue.
  private final class Watcher {
    private static let deadline: TimeInterval = 20
    private let queue: any QueueEngine
    private let told = DispatchSemaphore(value: 0)
    private let watch: QueueNews.Watch

    /// The watch wakes once for earlier changes, and then for each new one.
    init(_ part: QueuePart, _ queue: any QueueEngine) throws {
      self.queue = queue
      let told = told
      let watch = queue.watch(part, of: "shop") { told.signal() }
      self.watch = try #require(watch)
      try #require(isTold())
    }

    func isTold(within seconds: TimeInterval = deadline) -> Bool {
      told.wait(timeout: .now() + seconds) == .success
    }
  }

  private final class Told: Sendable {
    let count = Mutex(0)
  }

  /// Whether `act` wakes the watch of another relay.
  private func isTold(_ engine: Engine, of part: QueuePart = .entries, _ act: () throws -> Void)
    throws -> Bool
  {
    let watcher = try Watcher(part, open(engine))
    try act()
    return watcher.isTold()
  }

  private func release(_ queue: any QueueEngine, _ workerID: WorkerID, at due: Int64?) throws {
    let updates = try queue.claim(workerID, room: 2000, at: now).map {
      EntryUpdate($0, [], .released(at: due))
    }
    try queue.record(updates, by: workerID, at: now)
  }

  private func entry(_ id: String, of campaign: String, in lane: Lane = .normal) -> NewEntry {
    var entry = entry(id)
    (entry.campaign, entry.lane) = (campaign, lane)
    return entry
  }

  @Test(arguments: redis, Lane.allCases) func entriesOfEachLaneAreNews(
    _ engine: Engine, _ lane: Lane
  ) throws {
    let queue = try open(engine)
    #expect(
      try isTold(engine) { _ = try queue.enqueue([entry("a", of: "sale", in: lane)], at: now) })
  }

  @Test(arguments: redis) func outcomesAndReturnedEntriesAreNews(_ engine: Engine) throws {
    let (queue, workerID, got) = try claimed(engine, [entry("a"), entry("b")])
    #expect(
      try isTold(engine, of: .outcomes) {
        try queue.record(got[0], [outcome()], .finished, by: workerID, at: now)
      })
    #expect(
      try isTold(engine) {
        try queue.record(got[1], [], .released(at: nil), by: workerID, at: now)
      })
  }

  @Test(arguments: redis) func ordersAreNews(_ engine: Engine) throws {
    let store = OrderStore(try open(engine), app: "shop")
    #expect(try isTold(engine) { try store.change { $0.set(.cancelled, of: "sale", at: now) } })
    #expect(try isTold(engine) { try store.change { $0.cancelledIDs.insert("a") } })
  }

  @Test(arguments: redis) func entriesThatAnOrderMakesDueAreNews(_ engine: Engine) throws {
    let queue = try open(engine, [entry("a", of: "sale")])
    try release(queue, queue.join(), at: PausedTime.due)
    var count = 0
    #expect(
      try isTold(engine) {
        count = try queue.advance(app: "shop", cancelled: [], paused: [], at: now)
      })
    #expect(count == 1)
  }

  @Test(arguments: redis, [1, 1000]) func entriesWithoutTheirLimitAreNews(
    _ engine: Engine, _ count: Int
  ) throws {
    let queue = try open(engine, (0..<count).map { entry("\($0)", of: "sale") })
    try release(queue, queue.join(), at: PacedTime.of("sale"))
    var due = 0
    #expect(try isTold(engine) { due = try queue.advance(app: "shop", exceptLimited: []) })
    #expect(due == count)
  }

  /// A relay's own changes do not wake it, except those for its other workers.
  @Test(arguments: watching) func entriesOfWorkersThatEndAreNews(_ engine: Engine) throws {
    let queue = try open(engine, [entry("a"), entry("b")])
    let (ending, silent) = (try queue.join(), try queue.join(app: "shop", named: "old", at: 1))
    #expect(try queue.claim(ending, room: 1, at: now).count == 1)
    #expect(try queue.claim(silent, room: 1, at: now).count == 1)
    let watcher = try Watcher(.entries, queue)
    try queue.leave(ending, line: "the end", at: now)
    #expect(watcher.isTold())
    #expect(try queue.reclaim(silentSince: now, at: now) >= 1)
    #expect(watcher.isTold())
  }

  /// A commit is visible a moment after it is written. Another process holds the write lock until then,
  /// but this one does not see its own, and commits again.
  @Test func othersCommitsAreNews() throws {
    let watcher = try Watcher(.entries, open(.sqlite))
    let other = try open(.sqlite)
    let limit = Date(timeIntervalSinceNow: 20)
    var count = 0
    repeat {
      count += 1
      _ = try other.enqueue([entry("\(count)")], at: now)
    } while !watcher.isTold(within: 0.1) && Date() < limit
    #expect(Date() < limit)
  }

  /// A relay of many apps would be busy with the news of each other.
  @Test func anEntryIsNewsToItsAppAndSeldomToOthers() throws {
    let (queue, other) = (try open(.sqlite), try open(.sqlite))
    let (apps, told) = (1000, Told())
    let watcher = try Watcher(.entries, queue)
    let watches = (0..<apps).map { app in
      queue.watch(.entries, of: "app \(app)") { told.count.withLock { $0 += 1 } }
    }
    let (began, commits) = (RelayClock.monotonic, 20)
    for number in 0..<commits {
      _ = try other.enqueue([entry("\(number)")], at: now)
      try #require(watcher.isTold(within: 60))
    }
    // All are told every few seconds.
    let seconds = Int(RelayClock.monotonic - began) / 1000
    #expect(told.count.withLock { $0 } <= apps * (2 + seconds))
    withExtendedLifetime(watches) {}
  }

  @Test func theEndOfAProcessIsNewsOfItsLocks() throws {
    var other: (any QueueEngine)? = try open(.sqlite)
    _ = try #require(other).join(app: "shop", named: "other", at: now)
    let watcher = try Watcher(.entries, open(.sqlite))
    // Its locks end with its open files, as those of a killed process do.
    other = nil
    #expect(watcher.isTold())
  }

  @Test(.needsRedis) func theEndOfAnotherProcessIsNews() throws {
    let place = try RedisPlace()
    let queue = try place.open()
    let workerID = try queue.join()
    let other = Process()
    other.executableURL = URL(fileURLWithPath: "/bin/sleep")
    other.arguments = ["600"]
    try other.run()
    defer { if other.isRunning { kill(other.processIdentifier, SIGKILL) } }
    let own = ProcessMark.own.split(separator: ".")
    let line = try String(contentsOfFile: "/proc/\(other.processIdentifier)/stat", encoding: .utf8)
    let began = line[(line.lastIndex(of: ")") ?? line.startIndex)...].split(separator: " ")[20]
    try place.server.ask(
      "HSET", "apns:{shop}:workers", "\(workerID.number)",
      "\(now) \(own[0]).\(own[1]).\(other.processIdentifier).\(began) another relay")
    let watcher = try Watcher(.entries, queue)
    // A worker looks at the others with each heartbeat.
    #expect(try queue.reclaim(silentSince: 0, at: now) == 0)
    kill(other.processIdentifier, SIGKILL)
    #expect(watcher.isTold())
    #expect(try queue.reclaim(silentSince: 0, at: now) == 0)
  }
}
