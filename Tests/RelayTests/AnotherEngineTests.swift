import Foundation
import Testing

@testable import Relay

/// A queue of an engine that only these tests have, as a relay.yaml would name it:
/// `queue: { empty: name }`.
private struct EmptyLocation: QueueLocation {
  static let engine = "empty"
  static let key = "empty"
  static let options: [RelayOption<Self>] = [
    .text("empty", \.label, "the name of an empty queue")
  ]

  var label: String?

  init() {}
  init(_ text: String) { label = String(text.dropFirst("empty:".count)) }
  static func isOne(_ text: String) -> Bool { text.hasPrefix("empty:") }
  var isNamed: Bool { label != nil }
  var name: String { "empty:\(label ?? "")" }
  func open(_: QueueSync) -> any QueueEngine { EmptyQueue() }
}

/// Another engine needs its folder and a line in the list of engines. `QueueRules` has its rules.
@Suite struct AnotherEngineTests {
  private let directory: TestDirectory
  private let engines = queueEngines + [EmptyLocation.self]

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
    let all = try read("queue:\n  empty: one\n  lease: 5s\n")
    #expect(all.queue.name == "empty:one")
    #expect(all.queue.leaseS == 5)
    #expect(try all.queue.open() is EmptyQueue)
    let printed = ConfigurationText.text(of: all)
    #expect(printed.contains("  empty: \"one\""), "\(printed)")
    #expect(try ConfigurationReader.read(text: printed, file: "/", engines: engines) == all)
    #expect(RelayConfiguration.Queue(at: "empty:two", like: all.queue).name == "empty:two")
    #expect(RelayConfiguration.Queue(at: "two.db", like: all.queue).name == "two.db")
    #expect(
      fault { try read("queue:\n  file: q\n  empty: one\n") }.hasSuffix(
        "queue.file: is a SQLite queue, but empty is set too: give one"))
  }
}
