import GRDB

@testable import Relay

struct SQLitePlace: QueuePlace {
  let directory: TestDirectory
  var file: String { directory.path + "/queue.db" }

  init() throws { directory = try TestDirectory() }

  func open() throws -> any QueueEngine { try SQLiteQueue(file) }

  func strings(_ sql: String) throws -> [String] {
    try DatabaseQueue(path: file).read { try String.fetchAll($0, sql: sql) }
  }

  func write(_ sql: String) throws {
    try DatabaseQueue(path: file).write { try $0.execute(sql: sql) }
  }

  func ends() throws -> [String] {
    try strings("SELECT id || '/' || position || ' ' || outcome FROM outcomes ORDER BY number")
  }

  func laneOfTheDead() throws -> String? { try strings("SELECT lane FROM dead").first }

  func gone() throws -> [String] { try strings("SELECT token FROM gone ORDER BY token") }

  func history(of id: String) throws -> String {
    try strings("SELECT history FROM dead WHERE id = '\(id)'").first ?? ""
  }
}
