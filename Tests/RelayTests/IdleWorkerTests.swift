import Foundation
import Logging
import Synchronization
import Testing

@testable import Relay

/// When a worker with nothing to do looks at its queue.
@Suite struct IdleWorkerTests {
  private static let deadline: TimeInterval = 30
  private let queue = MemoryQueue()
  private let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  private func worker(
    leaseS: Double, resting: RestingWorkers? = nil, totalConnections: Int = 0
  ) throws -> AppWorker {
    var app = AppConfiguration()
    (app.name, app.topic) = ("shop", "com.example.shop")
    // Nothing listens there.
    (app.host, app.port) = ("127.0.0.1", 1)
    app.limits.totalConnections = totalConnections
    app.credentials.program = ["/bin/false"]
    (app.credentials.keyID, app.credentials.teamID) = ("ABC123DEFG", "DEF123GHIJ")
    var settings = RelayConfiguration.Queue()
    settings.leaseS = leaseS
    let credentials = try RelayCredentials(app, queue: queue, log: nil)
    return try AppWorker(
      app, settings, queue: queue, credentials: credentials, log: log, resting: resting)
  }

  /// The calls of a worker until `isEnough` of them, or a deadline. `act` is called after each, on the
  /// worker's thread.
  private func calls(
    leaseS: Double, until isEnough: @escaping @Sendable ([MemoryQueue.Call]) -> Bool,
    _ act: @escaping @Sendable (MemoryQueue.Call) -> Void = { _ in }
  ) throws -> [MemoryQueue.Call] {
    let calls = Mutex<[MemoryQueue.Call]>([])
    let done = DispatchSemaphore(value: 0)
    queue.called.withLock {
      $0 = { call in
        let all = calls.withLock { calls in
          calls.append(call)
          return calls
        }
        act(call)
        if isEnough(all) { done.signal() }
      }
    }
    let worker = try worker(leaseS: leaseS)
    worker.start()
    _ = done.wait(timeout: .now() + Self.deadline)
    let all = calls.withLock { $0 }
    worker.drain(withinMS: 0)
    worker.wait()
    return all
  }

  /// The session takes the wake for such news in the same turn.
  @Test func newsDuringATurnLeadToAnother() throws {
    let looks = 3
    let queue = queue
    let calls = try calls(leaseS: 30) { calls in
      calls.count { $0 != .heartbeat } >= looks
    } _: { call in
      if call != .heartbeat { queue.news.tell() }
    }
    // A worker that misses them looks with the next heartbeat, ten seconds later.
    let look = MemoryQueue.Call.look(isAnythingThere: false)
    #expect(zip(calls, calls.dropFirst()).contains { $0 == (look, look) }, "\(calls)")
  }

  /// A clock that is set makes no news.
  @Test func itLooksWithoutNewsToo() throws {
    let looks = 3
    let calls = try calls(leaseS: 1) { $0.count { $0 != .heartbeat } >= looks }
    #expect(calls.count { $0 != .heartbeat } >= looks, "\(calls)")
  }

  /// It wakes up for the entry, and rests once another worker has ended that.
  @Test func itRestsAfterAWhile() throws {
    let worker = try worker(leaseS: 30, resting: places(20))
    worker.start()
    for number in 1...3 {
      #expect(waits { worker.isResting })
      try wake(worker, "\(number)")
    }
    worker.drain(withinMS: 0)
    worker.wait()
  }

  /// Other relays would get fewer connections while it rests.
  @Test func itDoesNotRestWithAQuotaOfConnections() throws {
    let worker = try worker(leaseS: 30, resting: places(1), totalConnections: 4)
    worker.start()
    try wake(worker, "1")
    // It would rest at once.
    usleep(500_000)
    #expect(!worker.isResting)
    worker.drain(withinMS: 0)
    worker.wait()
  }

  private func places(_ afterMS: Int64) -> RestingWorkers {
    RestingWorkers(queue, log: log, ReclaimPace(), afterMS: afterMS)
  }

  /// Wakes it up for an entry that waits, which another worker ends.
  private func wake(_ worker: AppWorker, _ id: String) throws {
    let due = RelayClock.now + 60_000
    var entry = NewEntry(app: "shop", id: id, token: "5f79cfda", payload: "{}")
    entry.due = due
    _ = try queue.enqueue([entry], at: RelayClock.now)
    queue.news.tell([.entries], of: "shop")
    #expect(waits { !worker.isResting })
    let other = queue.join(app: "shop", named: "another", at: due)
    let got = try queue.claim(other, room: 1, at: due)
    try queue.record([EntryUpdate(got[0], [], .finished)], by: other, at: due)
    queue.news.tell([.entries], of: "shop")
  }

  /// Otherwise a later entry with this ID would be cancelled too.
  @Test func itWakesUpToForgetACancelledID() throws {
    let worker = try worker(leaseS: 30, resting: places(20))
    worker.start()
    let store = OrderStore(queue, app: "shop")
    try store.change { $0.cancelledIDs.insert("ended") }
    queue.news.tell([.entries], of: "shop")
    #expect(try waits { try store.read().cancelledIDs.isEmpty })
    worker.drain(withinMS: 0)
    worker.wait()
  }

  private func waits(_ holds: () throws -> Bool) rethrows -> Bool {
    let limit = Date() + Self.deadline
    while try !holds(), Date() < limit { usleep(1000) }
    return try holds()
  }
}
