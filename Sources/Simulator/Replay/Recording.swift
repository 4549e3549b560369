import COpenSSL
import JSON

/// A provider's record of a service: its pushes with their responses, and the ends of its connections.
/// Times are in milliseconds since its first connection was open.
package struct Recording: Sendable {
  package struct Push: Sendable {
    enum Answer: Sendable {
      case accepted
      case refused(PushReason)
      /// RST_STREAM with this code.
      case reset(UInt8)
      /// The provider waited in vain.
      case silence
      /// The connection ended before a response.
      case lost
    }

    package var at: Int
    /// Stands for the device token.
    package var device: String
    /// The size of the payload.
    package var bytes: Int
    package var connection: Int
    /// The provider's session sent it once more.
    package var isAgain: Bool
    package var type: String?
    package var priority: UInt8?
    var answer: Answer
    /// The milliseconds from the request to its answer.
    var wait: Int

    /// The device token with which both sides of a replay name the device.
    package var token: [UInt8] {
      var digest = [UInt8](repeating: 0, count: 32)
      copenssl_sha256(Array(device.utf8), device.utf8.count, &digest)
      return digest
    }
  }

  /// In the order of their times.
  package private(set) var pushes: [Push] = []
  /// By the number of the connection.
  private(set) var ends: [Int: RecordedEnd] = [:]
  /// Refused connections that follow no recorded end.
  private(set) var refusals: [(at: Int, milliseconds: Int)] = []

  package init(at path: String) throws(ListError) {
    var events: [RecordedEvent] = []
    try RecordingFile.read(path) { events.append($0) }
    self.init(events)
  }

  /// From the lines of a file.
  init(_ lines: [JSONValue]) throws(JSONError) {
    var events: [RecordedEvent] = []
    for (index, line) in lines.enumerated() {
      if let event = try RecordingFile.event(line, isFirst: index == 0) { events.append(event) }
    }
    self.init(events)
  }

  private init(_ events: [RecordedEvent]) {
    var events = Self.sorted(events)
    let start = events.first { if case .opened = $0.content { true } else { false } }?.at ?? 0
    for index in events.indices { events[index].at = max(0, events[index].at - start) }
    for event in events {
      switch event.content {
      case .push(var push):
        push.at = event.at
        pushes.append(push)
      case .ended(let number, let manner):
        // A GOAWAY is followed by the connection's close.
        if ends[number] == nil { ends[number] = RecordedEnd(at: event.at, manner: manner) }
      case .opened, .refused: break
      }
    }
    addRefusals(events)
  }

  /// Lines are written when their event is over. A sort that keeps the order of equal times.
  private static func sorted(_ events: [RecordedEvent]) -> [RecordedEvent] {
    events.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
      .map(\.element)
  }

  /// Connections were refused from the first one on until one was opened. A provider connects again
  /// when a connection ends, so the refusal began with that end.
  private mutating func addRefusals(_ events: [RecordedEvent]) {
    var began: Int?
    var until = 0
    for event in events {
      switch event.content {
      case .refused:
        began = began ?? event.at
        until = event.at
      case .opened(let took):
        if let began { addRefusal(from: began, until: max(until, event.at - took)) }
        began = nil
      case .push, .ended: break
      }
    }
    if let began { addRefusal(from: began, until: until) }
  }

  private mutating func addRefusal(from began: Int, until: Int) {
    let before = ends.filter { $0.value.at <= began && $0.value.refusal == 0 }
    if let last = before.max(by: { $0.value.at < $1.value.at }) {
      ends[last.key]?.refusal = max(1, until - last.value.at)
    } else {
      refusals.append((began, max(1, until - began)))
    }
  }
}
