import JSON

/// A line of a recording.
struct RecordedEvent {
  enum Content {
    case push(Recording.Push)
    /// A connection is open. `took`: the milliseconds that it needed.
    case opened(took: Int)
    case ended(Int, RecordedEnd.Manner)
    case refused
  }

  private static let events = ["push", "opened", "goaway", "closed", "reset", "refused"]

  /// Milliseconds since the recording began.
  var at: Int
  var content: Content

  init(_ line: JSONValue) throws(JSONError) {
    at = try line.whole("at")
    let event = try line.text("event")
    switch event {
    case "push": content = .push(try Recording.Push(line))
    case "opened": content = .opened(took: try line.whole("ms", or: 0))
    case "goaway":
      let error = try line.errorCode("error") ?? 0
      content = .ended(
        try line.whole("connection"), .goAway(error: error, reason: try line.text("reason")))
    case "closed": content = .ended(try line.whole("connection"), .close(.closeNotify))
    case "reset": content = .ended(try line.whole("connection"), .close(.reset))
    case "refused": content = .refused
    default:
      throw JSONError(
        "event: expected one of \(Self.events.joined(separator: ", "))",
        at: line["event"]?.offset ?? line.offset)
    }
  }
}

extension Recording.Push {
  fileprivate init(_ line: JSONValue) throws(JSONError) {
    at = 0
    guard let device = try line.text("device"), !device.isEmpty else {
      throw JSONError("device: expected a text", at: line["device"]?.offset ?? line.offset)
    }
    self.device = device
    bytes = try line.whole("bytes", or: 0)
    connection = try line.whole("connection", or: 0)
    isAgain = try line.flag("again")
    type = try line.text("type")
    let priority = try line.whole("priority", or: 0)
    guard [0, 1, 5, 10].contains(priority) else {
      throw JSONError("priority: expected 10, 5 or 1", at: line["priority"]?.offset ?? line.offset)
    }
    self.priority = priority == 0 ? nil : UInt8(priority)
    wait = try line.whole("ms", or: 0)
    answer = try Self.answer(line)
  }

  private static func answer(_ line: JSONValue) throws(JSONError) -> Answer {
    if let code = try line.errorCode("reset") { return .reset(code) }
    if try line.flag("silence") { return .silence }
    let status = try line.whole("status", or: 0)
    if status == 0 { return .lost }
    guard (200...599).contains(status) else {
      throw JSONError("status: expected 200 to 599", at: line["status"]?.offset ?? line.offset)
    }
    let word = try line.text("reason")
    return status == 200 ? .accepted : .refused(PushReason.recorded(status, word))
  }
}

extension PushReason {
  /// A provider may not know the reason of a response that its session retried.
  fileprivate static func recorded(_ status: Int, _ word: String?) -> PushReason {
    if let word, !word.isEmpty { return PushReason(status, word) }
    let usual: [PushReason] = [
      .badDeviceToken, .expiredProviderToken, .unregistered, PushReason(429, "TooManyRequests"),
      PushReason(500, "InternalServerError"), PushReason(503, "ServiceUnavailable"),
    ]
    return (usual + all).first { $0.status == status } ?? PushReason(status, "Unknown")
  }
}

extension JSONValue {
  fileprivate func refusal(_ name: String, _ expected: String) -> JSONError {
    JSONError("\(name): expected \(expected)", at: self[name]?.offset ?? offset)
  }

  /// Without `fallback` the member is required.
  fileprivate func whole(_ name: String, or fallback: Int? = nil) throws(JSONError) -> Int {
    if self[name] == nil, let fallback { return fallback }
    // Times and sizes beyond this make no sense, and sums cannot overflow.
    guard let number = self[name]?.number, number >= 0, number <= 1e12 else {
      throw refusal(name, "a number of at least 0")
    }
    return Int(number)
  }

  fileprivate func text(_ name: String) throws(JSONError) -> String? {
    guard let value = self[name] else { return nil }
    guard let text = value.string else { throw refusal(name, "a text") }
    return text
  }

  fileprivate func flag(_ name: String) throws(JSONError) -> Bool {
    guard let value = self[name] else { return false }
    guard case .bool(let flag) = value.content else { throw refusal(name, "true or false") }
    return flag
  }

  /// The code of an HTTP/2 error by its name (RFC 9113, 7).
  fileprivate func errorCode(_ name: String) throws(JSONError) -> UInt8? {
    guard let word = try text(name) else { return nil }
    let names = [
      "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT",
      "STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR",
      "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]
    guard let code = names.firstIndex(of: word) else {
      throw refusal(name, "one of \(names.joined(separator: ", "))")
    }
    return UInt8(code)
  }
}
