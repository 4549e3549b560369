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

extension EntryQueue {
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
