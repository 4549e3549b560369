import Foundation
import Testing

@testable import Relay

/// A third engine needs its folder and a line in the list of engines. `QueueRules` has its rules.
@Suite struct MemoryEngineTests {
  private let directory: TestDirectory
  private let engines = queueEngines + [MemoryLocation.self]

  init() throws {
    directory = try TestDirectory()
    try "x".write(toFile: "\(directory.path)/key.p8", atomically: true, encoding: .utf8)
  }

  private func read(_ queue: String) throws -> RelayConfiguration {
    let app = """
      apps:
        shop:
          topic: com.example.shop
          credentials: { p8: key.p8, key_id: ABC123DEFG, team_id: DEF123GHIJ }

      """
    return try ConfigurationReader.read(
      text: queue + app, file: "\(directory.path)/relay.yaml", engines: engines)
  }

  @Test func anEngineIsALineInTheList() throws {
    let all = try read("queue:\n  memory: one\n  lease: 5s\n")
    #expect(all.queue.name == "memory:one")
    #expect(all.queue.leaseS == 5)
    #expect(try all.queue.open() is MemoryQueue)
    let printed = ConfigurationText.text(of: all)
    #expect(printed.contains("  memory: \"one\""), "\(printed)")
    #expect(try ConfigurationReader.read(text: printed, file: "/", engines: engines) == all)
    #expect(RelayConfiguration.Queue(at: "memory:two", like: all.queue).name == "memory:two")
    #expect(RelayConfiguration.Queue(at: "two.db", like: all.queue).name == "two.db")
    #expect(
      fault { try read("queue:\n  file: q\n  memory: one\n") }.hasSuffix(
        "queue.file: is a SQLite queue, but memory is set too: give one"))
  }
}
