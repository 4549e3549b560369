import Foundation
import JSON

/// A batch of entries for an app, as a producer posts it: JSON objects with the columns of the queue.
struct EntryBatch: Sendable {
  /// How the body has the objects.
  enum Form: Sendable {
    /// As one JSON array.
    case array
    /// As lines, each with an object (NDJSON).
    case lines

    /// nil for another content type.
    init?(_ contentType: String) {
      switch contentType.prefix(while: { $0 != ";" }).trimmingCharacters(in: .whitespaces)
        .lowercased()
      {
      case "application/json": self = .array
      case "application/x-ndjson", "application/ndjson", "application/jsonl": self = .lines
      default: return nil
      }
    }
  }

  /// Why a batch is refused, all of it.
  struct Fault: Error {
    /// The entry, counted from 0, and its field; nil if the fault is not about one.
    var index: Int?
    var field: String?
    var message: String

    var response: ListenerResponse {
      var members = ["\"reason\":\"\(index == nil ? "BadBatch" : "BadEntry")\""]
      if let index { members.append("\"index\":\(index)") }
      if let field { members.append("\"field\":\(JSONLiteral.string(field))") }
      members += ["\"message\":\(JSONLiteral.string(message))", "\"added\":0"]
      return .json(400, "{\(members.joined(separator: ","))}")
    }
  }

  static let longestBody = 4 << 20
  static let mostEntries = 1000

  let app: AppConfiguration
  /// All apps of the relay, because a topic belongs to one of them.
  let apps: ServedApps
  let form: Form
  let body: [UInt8]

  /// The response once they are in the queue.
  static func response(added: Int, known: Int) -> ListenerResponse {
    .json(added > 0 ? 201 : 200, "{\"added\":\(added),\"known\":\(known)}")
  }

  func entries() throws(Fault) -> [NewEntry] {
    guard let text = String(validating: body, as: UTF8.self) else {
      throw Fault(message: "the body is not UTF-8")
    }
    var entries: [NewEntry] = []
    func add(_ json: RawJSON, _ place: Range<Int>) throws(Fault) {
      let index = entries.count
      guard index < Self.mostEntries else {
        throw Fault(message: "there are more than \(Self.mostEntries) entries")
      }
      do throws(Fault) {
        entries.append(try EntryReader(json, place).entry(of: app, among: apps))
      } catch {
        throw Fault(index: index, field: error.field, message: error.message)
      }
    }
    switch form {
    case .array:
      let json = RawJSON(text)
      let places: [Range<Int>]
      do throws(RawJSON.Fault) {
        places = try json.elements()
      } catch {
        throw Fault(message: "the body: \(error)")
      }
      for place in places { try add(json, place) }
    case .lines:
      for line in text.split(whereSeparator: { $0 == "\n" || $0 == "\r\n" })
      where !line.allSatisfy({ $0 == " " || $0 == "\t" || $0 == "\r" }) {
        let json = RawJSON(String(line))
        try add(json, json.bytes.indices)
      }
    }
    return entries
  }
}

/// Reads an entry, and refuses what APNs or the relay would refuse later.
private struct EntryReader {
  typealias Fault = EntryBatch.Fault

  private static let fields: Set<String> = [
    "id", "token", "tokens", "channel", "payload", "topic", "push_type", "priority", "expiry",
    "collapse_id", "deadline", "lane", "campaign", "due", "traceparent",
  ]

  private let json: RawJSON
  /// The values as they are written.
  private var values: [String: Range<Int>] = [:]

  init(_ json: RawJSON, _ place: Range<Int>) throws(Fault) {
    self.json = json
    var members: [RawJSON.Member] = []
    do throws(RawJSON.Fault) {
      try json.members(of: place, into: &members)
    } catch {
      throw Fault(message: "\(error)")
    }
    for member in members {
      let name = json.text(member.name) ?? ""
      guard Self.fields.contains(name) else {
        throw Fault(
          field: String(name.prefix(64)),
          message: "unknown field; expected one of \(Self.fields.sorted().joined(separator: ", "))")
      }
      guard values.updateValue(member.value, forKey: name) == nil else {
        throw Fault(field: name, message: "\(name) appears twice")
      }
    }
    values = values.filter { !json.bytes[$0.value].elementsEqual("null".utf8) }
  }

  func entry(of app: AppConfiguration, among apps: ServedApps) throws(Fault) -> NewEntry {
    guard let id = try name("id") else { throw Fault(field: "id", message: "id is missing") }
    var entry = NewEntry(app: app.name, id: id, payload: try payload())
    entry.token = try text("token")?.lowercased()
    entry.tokens = values["tokens"].map { String(decoding: json.bytes[$0], as: UTF8.self) }
    entry.channel = try text("channel")
    entry.topic = try text("topic").flatMap { $0 == app.topic ? nil : $0 }
    entry.pushType = try text("push_type")
    entry.priority = try number("priority").map { Int(clamping: $0) }
    entry.expiry = try number("expiry")
    entry.collapseID = try text("collapse_id")
    entry.deadline = try number("deadline")
    entry.due = try number("due")
    entry.campaign = try name("campaign")
    entry.traceparent = try text("traceparent")
    if let word = try text("lane") {
      guard let lane = Lane(rawValue: word) else {
        throw Fault(field: "lane", message: Lane.fault(word))
      }
      entry.lane = lane
    }
    try checkFields(of: entry, app, apps)
    try checkTargets(of: entry, app)
    return entry
  }

  // MARK: Values

  private func text(_ field: String) throws(Fault) -> String? {
    guard let place = values[field] else { return nil }
    guard let text = json.text(place) else {
      throw Fault(field: field, message: "\(field) is not a string")
    }
    guard !text.isEmpty else { throw Fault(field: field, message: "\(field) is empty") }
    guard text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
      throw Fault(field: field, message: "\(field) contains a control character")
    }
    return text
  }

  private func name(_ field: String) throws(Fault) -> String? {
    guard let name = try text(field) else { return nil }
    guard NewEntry.fault(of: name, "it") == nil else {
      throw Fault(
        field: field, message: "\(field) does not have 1 to \(NewEntry.longestID) characters")
    }
    return name
  }

  private func number(_ field: String) throws(Fault) -> Int64? {
    guard let place = values[field] else { return nil }
    guard let number = Int64(String(decoding: json.bytes[place], as: UTF8.self)), number >= 0 else {
      throw Fault(field: field, message: "\(field) is not a whole number from 0 on")
    }
    return number
  }

  /// An object, or a text with one: placeholders outside strings make it no JSON.
  private func payload() throws(Fault) -> String {
    func fault(_ message: String) -> Fault { Fault(field: "payload", message: message) }
    guard let place = values["payload"] else { throw fault("payload is missing") }
    if json.bytes[place.lowerBound] == UInt8(ascii: "{") {
      return String(decoding: json.bytes[place], as: UTF8.self)
    }
    guard let text = json.text(place) else {
      throw fault("payload is an object, or a string with one")
    }
    do {
      let sample = PayloadTemplate(text).sample
      _ = try RawJSON(String(decoding: sample, as: UTF8.self)).members()
    } catch {
      throw fault("payload is not a JSON object: \(error)")
    }
    return text
  }

  // MARK: Rules

  private func checkFields(
    of entry: NewEntry, _ app: AppConfiguration, _ apps: ServedApps
  ) throws(Fault) {
    if let topic = entry.topic {
      let owners =
        entry.channel == nil ? apps.owners(of: topic) : apps.owners(ofBundle: topic)
      // As for a push: an app without a topic leaves others to APNs.
      guard owners.contains(where: { $0.name == app.name }) || owners.isEmpty && app.topic == nil
      else { throw Fault(field: "topic", message: "'\(topic.prefix(255))' is not the app's") }
    }
    if let fault = PushLimits.fault(in: entry) {
      throw Fault(field: fault.field, message: fault.message)
    }
    if entry.channel != nil {
      guard entry.pushType ?? "liveactivity" == "liveactivity" else {
        throw Fault(field: "push_type", message: "a broadcast has the push type liveactivity")
      }
      guard entry.collapseID == nil else {
        throw Fault(field: "collapse_id", message: "a broadcast has no collapse_id")
      }
    }
    if let trace = entry.traceparent, TraceParent.valid(trace) == nil {
      throw Fault(field: "traceparent", message: "traceparent \(TraceParent.fault)")
    }
    if entry.dueFault(at: RelayClock.now) != nil {
      throw Fault(field: "due", message: "due is in UNIX milliseconds, at most a year ahead")
    }
  }

  private func checkTargets(of entry: NewEntry, _ app: AppConfiguration) throws(Fault) {
    let isVoIP =
      entry.pushType == "voip"
      || (entry.pushType == nil && (entry.topic ?? app.topic)?.hasSuffix(".voip") == true)
    let longest =
      isVoIP || entry.channel != nil ? PushLimits.longestPayloadOfVoIP : PushLimits.longestPayload
    func checkPayload(_ count: Int) throws(Fault) {
      guard count <= longest else {
        throw Fault(
          field: "payload", message: "the payload has \(count) bytes; the limit is \(longest)")
      }
    }
    switch (entry.token, entry.tokens, entry.channel) {
    case (let token?, nil, nil):
      try checkPayload(entry.payload.utf8.count)
      if let fault = PushLimits.fault(ofToken: token) {
        throw Fault(field: "token", message: fault)
      }
    case (nil, nil, let channel?):
      try checkPayload(entry.payload.utf8.count)
      guard Data(base64Encoded: channel) != nil else {
        throw Fault(field: "channel", message: "channel is not base64")
      }
    case (nil, _?, nil): try checkTokens(of: entry, checkPayload)
    default: throw Fault(field: "token", message: "give one of token, tokens and channel")
    }
  }

  private func checkTokens(
    of entry: NewEntry, _ checkPayload: (Int) throws(Fault) -> Void
  ) throws(Fault) {
    var space: [UInt8] = []
    let targets: EntryTargets
    do throws(RelayFault) {
      targets = try EntryTargets(entry)
    } catch {
      throw Fault(field: "tokens", message: error.description)
    }
    for position in 0..<targets.count {
      func fault(_ message: String) -> Fault {
        Fault(field: "tokens", message: "at position \(position): \(message)")
      }
      let count: Int
      do throws(RelayFault) {
        count = try targets.withPush(at: position, &space) { _, payload in payload.count }
      } catch {
        throw fault(error.description)
      }
      try checkPayload(count)
      if let words = PushLimits.fault(ofToken: targets.token(at: position).text) {
        throw fault(words)
      }
    }
  }
}
