import Testing

@testable import Relay

/// An engine of the queue.
enum Engine: String, CaseIterable, CustomTestStringConvertible {
  case sqlite = "SQLite"
  case redis = "Redis"
  case cluster = "Redis Cluster"
  case memory = "memory"

  /// The installed engines. The suites of the others are skipped, with the reason.
  static var here: [Engine] { RedisServer.program == nil ? [.sqlite, .memory] : allCases }

  var testDescription: String { rawValue }

  func place() throws -> any QueuePlace {
    switch self {
    case .sqlite: try SQLitePlace()
    case .redis: try RedisPlace()
    case .cluster: try ClusterPlace()
    case .memory: MemoryPlace()
    }
  }
}

/// A test's queue, and access to its inner state. It is deleted with the test.
protocol QueuePlace {
  /// Opens the queue, as another process would.
  func open() throws -> any QueueEngine
  /// The outcomes, as `id/position outcome`.
  func ends() throws -> [String]
  /// The history of a dead letter.
  func history(of id: String) throws -> String
  /// The lane of the first dead letter.
  func laneOfTheDead() throws -> String?
  /// The tokens of the gone devices, sorted.
  func gone() throws -> [String]
}

extension EntryUpdate {
  init(_ entry: Entry, _ outcomes: [PushOutcome], _ disposition: Disposition) {
    self.init(
      number: entry.number, app: entry.content.app, id: entry.content.id,
      campaign: entry.content.campaign, traceparent: entry.content.traceparent,
      deliveries: entry.deliveries, outcomes: outcomes, disposition: disposition)
  }
}

extension EntryQueue {
  /// One more worker of the app `shop`.
  func join() throws -> WorkerID { try join(app: "shop", named: "a test", at: QueueRules.now) }

  /// A new worker, and what it claims.
  func claimed(
    room: Int = 9, at now: Int64 = QueueRules.now
  ) throws -> (workerID: WorkerID, entries: [Entry]) {
    let workerID = try join()
    return (workerID, try claim(workerID, room: room, at: now))
  }

  func record(
    _ entry: Entry, _ outcomes: [PushOutcome], _ disposition: EntryUpdate.Disposition,
    by workerID: WorkerID, at now: Int64
  ) throws { try record([EntryUpdate(entry, outcomes, disposition)], by: workerID, at: now) }

  func claim(
    _ workerID: WorkerID, lanes: [Lane] = Lane.allCases, room: Int, inOrder: Bool = false,
    at now: Int64
  ) throws -> [Entry] {
    try claim(workerID, lanes: lanes, room: room, inOrder: inOrder, isFree: true, at: now)
  }

  func claim(
    _ workerID: WorkerID, room: Int, inOrder: Bool, isFree: Bool, at now: Int64
  ) throws -> [Entry] {
    try claim(
      workerID, lanes: Lane.allCases, room: room, inOrder: inOrder, isFree: isFree, at: now)
  }
}

extension [Entry] {
  var ids: [String] { map(\.content.id) }
  /// They end as accepted, with the token of the tests' entries.
  var accepted: [EntryUpdate] {
    map { EntryUpdate($0, [PushOutcome(position: 0, token: "00", kind: .accepted)], .finished) }
  }
}

extension NewEntry {
  /// For a device, with the token of `accepted`.
  init(_ id: String, app: String = "shop") {
    self.init(app: app, id: id, token: "00", payload: "{\"aps\":{}}")
  }
}
