/// Entries as they are written in Redis: fields of a stream, which any client can add.
enum RedisEntry {
  private static let fields = [
    "token", "tokens", "channel", "payload", "topic", "push_type", "priority", "expiry",
    "collapse_id",
    "deadline",
  ]

  /// An entry, and what is wrong with it. Fields that nobody knows are their writer's own.
  static func content(of reply: [RedisReply], id: String, app: String) -> (NewEntry, String?) {
    var found: [String: RedisReply] = [:]
    for index in stride(from: 0, to: reply.count - 1, by: 2) {
      if let name = reply[index].validText { found[name] = reply[index + 1] }
    }
    var fault: String?
    var texts: [String: String] = [:]
    for name in fields {
      guard let value = found[name] else { continue }
      guard let text = value.validText else {
        fault = fault ?? "\(name) is no text in UTF-8"
        continue
      }
      // Clients that cannot leave a field out write it empty.
      if !text.isEmpty { texts[name] = text }
    }
    func number(_ name: String) -> Int64? {
      guard let text = texts[name] else { return nil }
      guard let value = Int64(text) else {
        fault = fault ?? "\(name) must be a whole number"
        return nil
      }
      return value
    }
    var content = NewEntry(
      app: app, id: id, token: texts["token"], tokens: texts["tokens"],
      channel: texts["channel"], payload: texts["payload"] ?? "")
    content.topic = texts["topic"]
    content.pushType = texts["push_type"]
    content.priority = number("priority").flatMap { Int(exactly: $0) }
    content.expiry = number("expiry")
    content.collapseID = texts["collapse_id"]
    content.deadline = number("deadline")
    if texts["payload"] == nil { fault = fault ?? "the entry has no payload" }
    return (content, fault)
  }

  /// Names and values of an entry of a stream, as far as they are text.
  static func fields(of reply: [RedisReply]) -> [String: String] {
    var found: [String: String] = [:]
    for index in stride(from: 0, to: reply.count - 1, by: 2) {
      if let name = reply[index].validText { found[name] = reply[index + 1].validText }
    }
    return found
  }

  /// An outcome as `record` writes it.
  static func outcome(of reply: [RedisReply]) -> PushOutcome {
    let fields = fields(of: reply)
    var outcome = PushOutcome(
      position: fields["position"].flatMap { Int($0) } ?? 0, token: fields["token"] ?? "",
      end: fields["outcome"].flatMap { PushOutcome.End(rawValue: $0) } ?? .unknown,
      reason: fields["reason"] ?? "")
    outcome.httpStatus = fields["http_status"].flatMap { Int($0) } ?? 0
    outcome.apnsID = fields["apns_id"] ?? ""
    return outcome
  }

  /// The number of an entry in the stream, 1700000000000-1, as one number.
  static func number(of place: String) -> Int64 {
    let parts = place.split(separator: "-").map { Int64($0) ?? 0 }
    return (parts.first ?? 0) << 20 | (parts.count > 1 ? parts[1] & 0xF_FFFF : 0)
  }

  static func add(_ entry: NewEntry, to command: inout RedisCommand) {
    let given: [(String, String?)] = [
      ("id", entry.id), ("token", entry.token), ("tokens", entry.tokens),
      ("channel", entry.channel), ("payload", entry.payload), ("topic", entry.topic),
      ("push_type", entry.pushType),
      ("priority", entry.priority.map { "\($0)" }), ("expiry", entry.expiry.map { "\($0)" }),
      ("collapse_id", entry.collapseID), ("deadline", entry.deadline.map { "\($0)" }),
    ]
    let written = given.filter { $0.1 != nil }
    command.add(entry.id)
    command.add(2 * written.count)
    for (name, value) in written {
      command.add(name)
      command.add(value!)
    }
  }

  /// A verdict as the script `record` wants it. `ahead`: how far the clock of Redis is before ours.
  static func add(_ verdict: Verdict, ahead: Int64, at now: Int64, to command: inout RedisCommand) {
    command.add(verdict.id)
    command.add(verdict.deliveries)
    func add(_ what: String, due: Int64 = 0, isAnswered: Bool = false, story: String? = nil) {
      command.add(what)
      command.add(due)
      command.add(isAnswered ? 1 : 0)
      command.add(story.map { "\(TimeText.of(now)) \($0)" } ?? "")
    }
    switch verdict.next {
    case .held: add("held")
    case .finished: add("finished")
    case .later(let due, let isAnswered, let story):
      add("later", due: max(1, due + ahead), isAnswered: isAnswered, story: story)
    case .untouched: add("untouched")
    case .dead(let story): add("dead", story: story)
    }
    command.add(verdict.outcomes.count)
    for outcome in verdict.outcomes {
      command.add(outcome.position)
      command.add(outcome.token)
      command.add(outcome.end.rawValue)
      command.add(outcome.reason)
      command.add(outcome.httpStatus)
      command.add(outcome.apnsID)
      command.add(outcome.goneSince.map { "\($0)" } ?? "")
      command.add(outcome.refusedSince.map { "\($0)" } ?? "")
    }
  }
}
