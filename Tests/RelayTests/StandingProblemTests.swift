import CAPNS
import Logging
import Synchronization
import Testing

@testable import Relay

@Suite struct StandingProblemTests {
  /// The logged lines.
  private final class Lines: Sendable {
    let all = Mutex<[String]>([])
    var taken: [String] {
      all.withLock { all in
        defer { all = [] }
        return all
      }
    }
  }

  private struct Recorder: LogHandler {
    let lines: Lines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }
    func log(event: LogEvent) {
      let count = event.metadata?["count"].map { "\($0)" } ?? "?"
      lines.all.withLock { $0.append("\(event.level) \(count) \(event.message)") }
    }
  }

  private let lines = Lines()
  private let log: Logger
  private var problem = StandingProblem()

  init() {
    let lines = lines
    log = Logger(label: "test") { _ in Recorder(lines: lines) }
  }

  @Test mutating func oneLineAMinute() {
    for time: Int64 in stride(from: 0, to: 150_000, by: 500) {
      problem.meet("no key", APNS_CAUSE_NONE, at: time, log)
      problem.look(at: time + 250, log)
    }
    #expect(
      lines.taken == [
        "error 1 nothing is pushed until an operator acts: no key",
        "error 121 nothing is pushed for 60 s, after 121 failures: no key",
        "error 241 nothing is pushed for 120 s, after 241 failures: no key",
      ])
    #expect(problem.words == "no key")
    // No attempt is made, so nothing is logged.
    for time: Int64 in stride(from: 150_000, to: 900_000, by: 500) { problem.look(at: time, log) }
    #expect(lines.taken == ["error 300 nothing is pushed for 180 s, after 300 failures: no key"])
    problem.end(at: 900_000, log)
    problem.end(at: 900_001, log)
    #expect(lines.taken == ["notice 300 pushes succeed again after 900 s and 300 failures: no key"])
    #expect(problem.words == nil)
  }

  @Test mutating func whatIsAnExceptionIsNotSaid() {
    for time: Int64 in stride(from: 0, to: 100_000, by: 1000) {
      problem.end(at: time, log)
      problem.meet("one topic", APNS_CAUSE_TOPIC, at: time + 500, log)
      problem.look(at: time + 900, log)
    }
    #expect(lines.taken == [])
    // From here on this is the only problem.
    problem.look(at: 101_000, log)
    #expect(lines.taken == [])
    problem.look(at: 101_600, log)
    #expect(lines.taken == ["error 1 nothing is pushed until an operator acts: one topic"])
  }
}
