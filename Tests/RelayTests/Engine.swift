import Testing

@testable import Relay

/// An engine of the queue.
enum Engine: String, CaseIterable, CustomTestStringConvertible {
  case sqlite = "SQLite"
  case redis = "Redis"
  case cluster = "Redis Cluster"

  /// Those that are installed. The suites of the others are skipped, and say why.
  static var here: [Engine] { RedisServer.program == nil ? [.sqlite] : allCases }

  var testDescription: String { rawValue }

  func place() throws -> any QueuePlace {
    switch self {
    case .sqlite: try SQLitePlace()
    case .redis: try RedisPlace()
    case .cluster: try ClusterPlace()
    }
  }
}

/// Where a test has its queue, and what the test sees of its inside. It goes with the test.
protocol QueuePlace {
  /// Opens the queue, as one more process would.
  func open() throws -> any QueueEngine
  /// The outcomes, as `id/position end`.
  func ends() throws -> [String]
  /// What a dead letter has been through.
  func story(of id: String) throws -> String
}
