import JSON
import Simulator

/// Server-sent events for one page: pushes as they come, and the simulator's state.
struct EventFeed: Sendable {
  let service: ControlService
  let configuration: DashboardServer.Configuration
  let language: String?
  let wire: ConnectionLog

  /// The time between two checks for changes.
  private static let pause = Duration.milliseconds(40)
  /// The number of checks between two copies of the state.
  private static let stateEvery = 8
  /// The number of checks without changes after which a comment is sent, to notice a browser that
  /// has left.
  private static let silenceMax = 125
  /// The highest number of pushes sent together, also when the page opens. Further ones are only
  /// counted.
  private static let batch = 400

  func write(to writer: BodyWriter) async throws {
    var epoch: Int?
    var last = 0
    // A new page never showed the pushes deleted before.
    var deletions = service.ledger.recentPushes?.changes(after: .max, limit: 0).deletions ?? 0
    var lastLine = 0
    var state = ""
    var silence = 0
    var round = 0
    try await send("hello", hello, to: writer)
    while true {
      var isSilent = true
      if let changes = service.ledger.recentPushes?.changes(
        after: last, deletions: deletions, limit: Self.batch)
      {
        if let epoch, epoch != changes.epoch { try await send("reset", "{}", to: writer) }
        epoch = changes.epoch
        deletions = changes.deletions
        if !changes.deleted.isEmpty {
          let numbers = changes.deleted.map { "\($0)" }.joined(separator: ",")
          try await send("deleted", "[\(numbers)]", to: writer)
          isSilent = false
        }
        if changes.last > last {
          last = changes.last
          let pushes = changes.recentPushes.map {
            PushJSON.summary($0, configuration.languages.strings(for: language))
          }
          try await send(
            "pushes",
            "{\"skipped\":\(changes.skipped),\"pushes\":[\(pushes.joined(separator: ","))]}",
            to: writer)
          isSilent = false
        }
      }
      if round % Self.stateEvery == 0 {
        let now = await StateJSON.json(of: service)
        if now != state {
          state = now
          try await send("state", state, to: writer)
          isSilent = false
        }
        let lines = wire.lines(after: lastLine)
        if let newest = lines.last {
          lastLine = newest.number
          try await send(
            "wire", "[\(lines.map(\.json).joined(separator: ","))]", to: writer)
          isSilent = false
        }
      }
      silence = isSilent ? silence + 1 : 0
      if silence > Self.silenceMax {
        try await writer.write(":\n\n")
        silence = 0
      }
      round += 1
      try await Task.sleep(for: Self.pause)
    }
  }

  private var hello: String {
    let names = configuration.languages.names.map(JSONLiteral.string).joined(separator: ",")
    let minute = (service.ledger.recentPushes?.lastMinute() ?? []).map {
      "[\($0.accepted),\($0.rejected),\($0.other)]"
    }
    return """
      {"languages":[\(names)],"language":\(JSONLiteral.string(language)),\
      "gateway":\(configuration.gateway),"counters":\(service.counters),\
      "minute":[\(minute.joined(separator: ","))]}
      """
  }

  private func send(
    _ event: String, _ json: String, to writer: BodyWriter
  ) async throws {
    try await writer.write("event: \(event)\ndata: \(json)\n\n")
  }
}
