import Foundation
import Logging
import Synchronization
import Testing

@testable import Relay

/// When a worker with nothing to do looks at its queue.
@Suite struct IdleWorkerTests {
  private static let deadline: TimeInterval = 30
  private let queue = MemoryQueue()

  private func worker(leaseS: Double) throws -> AppWorker {
    var app = AppConfiguration()
    (app.name, app.topic) = ("shop", "com.example.shop")
    // Nothing listens there.
    (app.host, app.port) = ("127.0.0.1", 1)
    app.credentials.program = ["/bin/false"]
    (app.credentials.keyID, app.credentials.teamID) = ("ABC123DEFG", "DEF123GHIJ")
    var settings = RelayConfiguration.Queue()
    settings.leaseS = leaseS
    let credentials = try RelayCredentials(app, queue: queue, log: nil)
    let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    return try AppWorker(app, settings, queue: queue, credentials: credentials, log: log)
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
}
