import Foundation

/// Entries as fields of a stream, which any client can add.
enum RedisEntry {
  /// The fields of a stream entry that are valid UTF-8.
  static func fields(of reply: [RedisReply]) -> [String: String] {
    var found: [String: String] = [:]
    for index in stride(from: 0, to: reply.count - 1, by: 2) {
      if let name = reply[index].validText { found[name] = reply[index + 1].validText }
    }
    return found
  }

  /// The outcomes in a record that `record` wrote.
  static func outcomes(of reply: [RedisReply]) -> [PushOutcome] {
    fields(of: reply)["outcomes"].map { OutcomeList.read($0) } ?? []
  }

  static func add(_ entry: NewEntry, to command: inout RedisCommand) {
    let given: [(String, String?)] = [
      ("id", entry.id), ("token", entry.token), ("tokens", entry.tokens),
      ("channel", entry.channel), ("payload", entry.payload), ("topic", entry.topic),
      ("push_type", entry.pushType),
      ("priority", entry.priority.map { "\($0)" }), ("expiry", entry.expiry.map { "\($0)" }),
      ("collapse_id", entry.collapseID), ("deadline", entry.deadline.map { "\($0)" }),
      ("due", entry.due.map { "\($0)" }), ("campaign", entry.campaign),
      ("traceparent", entry.traceparent),
    ]
    let written = given.filter { $0.1 != nil }
    command.add(entry.id)
    command.add(entry.lane.mark)
    command.add(2 * written.count)
    for (name, value) in written {
      command.add(name)
      command.add(value!)
    }
  }
}

/// Reads the fields of one entry into its content, in place, because a copy would retain all of its
/// strings.
struct RedisFields {
  private var faults = FieldFaults()
  private var hasPayload = false
  /// The text of the field.
  private var lane: String?
  /// When the entry is due (UNIX milliseconds); 0 without a time.
  private(set) var due: Int64 = 0

  /// So much later than now an entry that comes is not due: the clocks differ less.
  private static let tooLateMS: Int64 = 86_400_000

  /// Reads `count` field names and values. Unknown fields are ignored; of two with one name the last
  /// counts. A number as a value is the index of a long text.
  mutating func read(
    _ count: Int, from reader: inout MessagePack.Reader, _ long: ArraySlice<RedisReply>,
    into content: inout NewEntry
  ) throws(MessagePack.Reader.Fault) {
    for _ in 0..<count / 2 {
      let name = try reader.text()
      guard reader.isAtNumber else {
        take(name, try reader.text(), &content)
        continue
      }
      let place = try reader.number()
      guard place > 0, place <= long.count,
        case .bytes(let bytes) = long[long.startIndex + Int(place) - 1]
      else { throw MessagePack.Reader.Fault() }
      bytes.withUnsafeBytes { take(name, $0, &content) }
    }
  }

  private mutating func take(
    _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ content: inout NewEntry
  ) {
    guard let field = Field(name) else { return }
    guard let text = String(read: value) else {
      if field != .traceparent { faults.set(field, "is not UTF-8") }
      return
    }
    faults.set(field, nil)
    // Clients that cannot omit a field write it empty.
    let given = text.isEmpty ? nil : text
    switch field {
    case .id: content.id = text
    case .token: content.token = given
    case .tokens: content.tokens = given
    case .channel: content.channel = given
    case .payload:
      content.payload = text
      hasPayload = given != nil
    case .topic: content.topic = given
    case .pushType: content.pushType = given
    case .priority: content.priority = number(given, of: field).flatMap { Int(exactly: $0) }
    case .expiry: content.expiry = number(given, of: field)
    case .collapseID: content.collapseID = given
    case .deadline: content.deadline = number(given, of: field)
    case .lane: lane = given
    case .campaign:
      guard let given else { break }
      guard NewEntry.fault(of: given, "the campaign") == nil else {
        faults.set(field, "does not have 1 to \(NewEntry.longestID) characters")
        break
      }
      content.campaign = given
    case .traceparent: content.traceparent = given.flatMap(TraceParent.valid)
    case .due:
      guard let number = number(given, of: field) else { break }
      // An entry that may wait is claimed when it is due.
      if number < 0 || NewEntry.dueSeconds.contains(number)
        || number > RelayClock.now + Self.tooLateMS
      {
        faults.set(field, "is in UNIX milliseconds, at most a year ahead")
      } else {
        due = number
      }
    }
  }

  private mutating func number(_ given: String?, of field: Field) -> Int64? {
    guard let given else { return nil }
    guard let number = Int64(given) else {
      faults.set(field, "must be a whole number")
      return nil
    }
    return number
  }

  /// The fault of an entry in this lane's stream; nil if it is readable.
  func fault(in lane: Lane) -> String? {
    laneFault(in: lane) ?? faults.first ?? (hasPayload ? nil : "the entry has no payload")
  }

  private func laneFault(in lane: Lane) -> String? {
    guard let said = self.lane, said != lane.rawValue else { return nil }
    guard Lane(rawValue: said) != nil else { return Lane.fault(said) }
    return "lane is \(said), but the stream is that of \(lane) entries"
  }
}

/// The fields that a producer fills in.
private enum Field: CaseIterable {
  case id, token, tokens, channel, payload, topic, pushType, priority, expiry, collapseID, deadline
  case lane, due, campaign, traceparent

  var name: StaticString {
    switch self {
    case .id: "id"
    case .token: "token"
    case .tokens: "tokens"
    case .channel: "channel"
    case .payload: "payload"
    case .topic: "topic"
    case .pushType: "push_type"
    case .priority: "priority"
    case .expiry: "expiry"
    case .collapseID: "collapse_id"
    case .deadline: "deadline"
    case .lane: "lane"
    case .due: "due"
    case .campaign: "campaign"
    case .traceparent: "traceparent"
    }
  }

  /// nil for an unknown field.
  init?(_ name: UnsafeRawBufferPointer) {
    func isOwn(_ field: Field) -> Bool {
      name.count == field.name.utf8CodeUnitCount
        && memcmp(name.baseAddress!, field.name.utf8Start, name.count) == 0
    }
    // Few names have the same length, so each name is compared once.
    let found: Field? =
      switch name.count {
      case 2: .id
      case 3: .due
      case 4: .lane
      case 5: isOwn(.token) ? .token : .topic
      case 6: isOwn(.tokens) ? .tokens : .expiry
      case 7: isOwn(.channel) ? .channel : .payload
      case 8: isOwn(.priority) ? .priority : isOwn(.deadline) ? .deadline : .campaign
      case 9: .pushType
      case 11: isOwn(.traceparent) ? .traceparent : .collapseID
      default: nil
      }
    guard let found, isOwn(found) else { return nil }
    self = found
  }
}

/// Invalid fields and the reasons; only the first is reported.
private struct FieldFaults {
  private var all: [(field: Field, words: String)] = []

  /// `words` is nil if the field's last value is valid.
  mutating func set(_ field: Field, _ words: String?) {
    if !all.isEmpty { all.removeAll { $0.field == field } }
    if let words { all.append((field, words)) }
  }

  /// The first in the order of `Field`, not of the stream entry.
  var first: String? {
    if all.isEmpty { return nil }
    return Field.allCases.lazy.compactMap { field in
      all.first { $0.field == field }.map { "\(field.name) \($0.words)" }
    }.first
  }
}
