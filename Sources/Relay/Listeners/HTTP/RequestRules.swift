import Foundation

/// Parses Apple's requests as APNs does: a request that APNs would reject by itself never reaches
/// the queue.
struct RequestRules {
  /// The parsed request.
  enum Order: Sendable {
    case push(NewEntry, Answering)
    case channels(ManagementRequest)
    case entries(EntryBatch)
  }

  /// When a push gets its response.
  struct Answering: Equatable, Sendable {
    /// The longest wait for the outcome once the push is queued.
    var waitMS: Int64
    /// Whether the request wants a response before the outcome (RFC 7240, 4.1).
    var isPreferred = false
  }

  let apps: ServedApps
  /// The app of all requests; nil if each names its own.
  let app: String?
  /// The apps that the client may push for; nil for all.
  var clientApps: Set<String>?
  let waitMS: Int64

  func order(_ request: ListenerRequest) throws(ListenerResponse) -> Order {
    if let name = request.repeated {
      throw .refusal(400, "DuplicateHeaders", "\(name) appears twice")
    }
    if let name = request.unreadable { throw .refusal(400, "BadRequest", "\(name) is not UTF-8") }
    try Self.codings(request)
    let path = request.target.prefix { $0 != "?" }
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
      .map(String.init)
    switch (parts.count, parts.first) {
    case (2...3, "3") where parts[1] == "device":
      try Self.method(request, ["POST"])
      guard parts.count == 3, !parts[2].isEmpty else { throw .refusal(400, "MissingDeviceToken") }
      return .push(try push(request, token: parts[2]), try answering(request))
    case (4, "4") where parts[1] == "broadcasts" && parts[2] == "apps":
      try Self.method(request, ["POST"])
      return .push(try broadcast(request, bundle: parts[3]), try answering(request))
    case (4, "1") where parts[1] == "apps" && parts[3] == "channels":
      try Self.method(request, ["POST", "GET", "DELETE"])
      return .channels(
        try ManagementRequest(request, app: try app(request, bundle: parts[2]), bundle: parts[2]))
    case (4, "1") where parts[1] == "apps" && parts[3] == "all-channels":
      try Self.method(request, ["GET"])
      return .channels(
        ManagementRequest(wish: .list, app: try app(request, bundle: parts[2]), bundle: parts[2]))
    case (4, "v1") where parts[1] == "apps" && parts[3] == "entries":
      try Self.method(request, ["POST"])
      return .entries(try batch(request, for: parts[2]))
    default: throw .refusal(404, "BadPath", "there is no path \(path)")
    }
  }

  /// Whether the target may name the entries of an app. Cheap, because it runs for pushes too.
  static func mayBeBatch(_ target: String) -> Bool {
    !target.hasPrefix("/3/") && target.contains("/entries")
  }

  private static func method(_ request: ListenerRequest, _ known: [String]) throws(ListenerResponse)
  {
    guard known.contains(request.method) else {
      throw .refusal(405, "MethodNotAllowed").with("allow", known.joined(separator: ", "))
    }
  }

  /// Bodies are used unchanged, so encodings are rejected.
  private static func codings(_ request: ListenerRequest) throws(ListenerResponse) {
    if let other = request.values("transfer-encoding").first(where: { $0.lowercased() != "chunked" }
    ) {
      throw .refusal(501, "NotImplemented", "transfer-encoding is \(other.prefix(40)), not chunked")
    }
    // HTTP/1 has already checked this; HTTP/2 accepts a sign as part of the number.
    let lengths = request.values("content-length")
    guard lengths.count <= 1, lengths.allSatisfy({ Self.number($0) != nil }) else {
      throw .refusal(400, "BadRequest", "content-length is not a number")
    }
    let encodings = request.values("content-encoding")
    if let other = encodings.first(where: { !["", "identity"].contains($0.lowercased()) }) {
      throw .refusal(415, "UnsupportedMediaType", "content-encoding is \(other.prefix(40))")
    }
  }

  // MARK: Pushes

  private func push(_ request: ListenerRequest, token: String) throws(ListenerResponse) -> NewEntry
  {
    if let fault = PushLimits.fault(ofToken: token) {
      throw .refusal(400, "BadDeviceToken", fault)
    }
    let topic = request.header("apns-topic")
    let app = try app(request, topic: topic)
    let type = try Self.pushType(request)
    let isVoIP = type == "voip" || (type == nil && (topic ?? app.topic)?.hasSuffix(".voip") == true)
    var entry = NewEntry(
      app: app.name, id: try Self.identifier(request, "apns-id"), token: token.lowercased(),
      payload: try Self.payload(
        request, most: isVoIP ? PushLimits.longestPayloadOfVoIP : PushLimits.longestPayload))
    entry.topic = topic == app.topic ? nil : topic
    entry.pushType = type
    try Self.times(request, &entry)
    if let collapse = request.header("apns-collapse-id") {
      guard (1...PushLimits.longestCollapseID).contains(collapse.utf8.count) else {
        throw .refusal(
          400, "BadCollapseId",
          "apns-collapse-id has \(collapse.utf8.count) bytes; it needs 1 to \(PushLimits.longestCollapseID)"
        )
      }
      entry.collapseID = collapse
    }
    return entry
  }

  private func broadcast(
    _ request: ListenerRequest, bundle: String
  ) throws(ListenerResponse) -> NewEntry {
    let app = try app(request, bundle: bundle)
    guard let channel = request.header("apns-channel-id"), !channel.isEmpty else {
      throw .refusal(400, "MissingChannelId")
    }
    guard Data(base64Encoded: channel) != nil else {
      throw .refusal(400, "BadChannelId", "apns-channel-id is not base64")
    }
    guard let type = try Self.pushType(request) else { throw .refusal(400, "MissingPushType") }
    guard type == "liveactivity" else {
      throw .refusal(400, "InvalidPushType", "a broadcast has the push type liveactivity")
    }
    var entry = NewEntry(
      app: app.name, id: try Self.identifier(request, "apns-request-id"), channel: channel,
      payload: try Self.payload(request, most: PushLimits.longestPayloadOfVoIP))
    entry.topic = app.topic == bundle ? nil : bundle
    entry.pushType = type
    try Self.times(request, &entry)
    return entry
  }

  private static func payload(
    _ request: ListenerRequest, most: Int
  ) throws(ListenerResponse) -> String {
    if request.body.isEmpty { throw .refusal(400, "PayloadEmpty") }
    guard request.body.count <= most else {
      throw .refusal(
        413, "PayloadTooLarge",
        "the payload has \(request.body.count) bytes; the limit is \(most)")
    }
    guard let text = String(validating: request.body, as: UTF8.self), !text.utf8.contains(0) else {
      throw .refusal(400, "BadPayload", "the payload is not UTF-8")
    }
    return text
  }

  private static func identifier(
    _ request: ListenerRequest, _ name: String
  ) throws(ListenerResponse) -> String {
    guard let id = request.header(name), !id.isEmpty else {
      return UUID().uuidString.lowercased()
    }
    guard PushLimits.isUUID(id) else {
      throw .refusal(400, "BadMessageId", "\(name) is not a UUID")
    }
    return id.lowercased()
  }

  private static func pushType(_ request: ListenerRequest) throws(ListenerResponse) -> String? {
    guard let type = request.header("apns-push-type") else { return nil }
    guard PushLimits.pushTypes[type] != nil else {
      throw .refusal(400, "InvalidPushType", "there is no push type '\(type.prefix(40))'")
    }
    return type
  }

  private static func times(
    _ request: ListenerRequest, _ entry: inout NewEntry
  ) throws(ListenerResponse) {
    if let text = request.header("apns-priority") {
      entry.priority = PushLimits.priorities.first { "\($0)" == text }
      if entry.priority == nil {
        throw .refusal(400, "BadPriority", "apns-priority is 10, 5 or 1")
      }
    }
    if let text = request.header("apns-expiration") {
      guard let time = Self.number(text) else {
        throw .refusal(400, "BadExpirationDate", "apns-expiration is a time in UNIX seconds, or 0")
      }
      entry.expiry = time
    }
    if let word = request.header("relay-lane") {
      guard let lane = Lane(rawValue: word) else {
        throw .refusal(400, "BadRequest", "relay-\(Lane.fault(word))")
      }
      entry.lane = lane
    }
    if let text = request.header("relay-due") {
      entry.due = Self.number(text)
      guard entry.due != nil, entry.dueFault(at: RelayClock.now) == nil else {
        throw .refusal(
          400, "BadRequest", "relay-due is in UNIX milliseconds, at most a year ahead")
      }
    }
    if let campaign = request.header("relay-campaign") {
      guard NewEntry.fault(of: campaign, "relay-campaign") == nil else {
        throw .refusal(
          400, "BadRequest", "relay-campaign has 1 to \(NewEntry.longestID) characters")
      }
      entry.campaign = campaign
    }
    if let trace = request.header("traceparent") {
      entry.traceparent = TraceParent.valid(trace)
      if entry.traceparent == nil {
        throw .refusal(400, "BadRequest", "traceparent \(TraceParent.fault)")
      }
    }
  }

  /// Accepts only digits.
  private static func number(_ text: String) -> Int64? {
    text.utf8.allSatisfy { $0 &- 0x30 < 10 } ? Int64(text) : nil
  }

  // MARK: Batches

  private func batch(_ request: ListenerRequest, for name: String) throws(ListenerResponse)
    -> EntryBatch
  {
    let app = try app(named: name.removingPercentEncoding ?? name)
    let type = request.header("content-type") ?? ""
    guard let form = EntryBatch.Form(type) else {
      throw .refusal(
        415, "UnsupportedMediaType",
        "content-type is '\(type.prefix(100))', not application/json or application/x-ndjson")
    }
    return EntryBatch(app: app, apps: apps, form: form, body: request.body)
  }

  private func app(named name: String) throws(ListenerResponse) -> AppConfiguration {
    // The apps of other clients are not revealed.
    guard app ?? name == name, clientApps?.contains(name) ?? true else {
      throw .refusal(403, "Forbidden", "'\(name.prefix(64))' is not an app of yours here")
    }
    guard let found = apps[name] else {
      throw .refusal(404, "UnknownApp", "there is no app '\(name.prefix(64))'")
    }
    return found
  }

  // MARK: The app of a request

  private func app(_ request: ListenerRequest, topic: String?) throws(ListenerResponse)
    -> AppConfiguration
  {
    let names = try names(request)
    guard let topic else {
      let candidates = candidates(names)
      guard candidates.count == 1 else {
        throw .refusal(400, "MissingTopic", "you may push for \(candidates.count) apps")
      }
      return candidates[0]
    }
    return try one(of: names, owners: apps.owners(of: topic), topic)
  }

  private func app(_ request: ListenerRequest, bundle: String) throws(ListenerResponse)
    -> AppConfiguration
  {
    guard !bundle.isEmpty else { throw .refusal(404, "BadPath", "the path names no app") }
    return try one(of: try names(request), owners: apps.owners(ofBundle: bundle), bundle)
  }

  /// The apps that the request may be for, according to the listener, the client and the request; nil
  /// for all.
  private func names(_ request: ListenerRequest) throws(ListenerResponse) -> Set<String>? {
    let named = request.header("relay-app")
    var names = clientApps
    for only in [app, named].compactMap(\.self) { names = names?.intersection([only]) ?? [only] }
    // The apps of other clients are not revealed.
    if let named, candidates(names).isEmpty {
      throw .refusal(400, "TopicDisallowed", "there is no app '\(named.prefix(64))' for you here")
    }
    return names
  }

  private func candidates(_ names: Set<String>?) -> [AppConfiguration] {
    names?.compactMap { apps[$0] } ?? apps.all
  }

  private func one(
    of names: Set<String>?, owners: [AppConfiguration], _ topic: String
  ) throws(ListenerResponse) -> AppConfiguration {
    let found = owners.filter { names?.contains($0.name) ?? true }
    guard let first = found.first else {
      // An app without a configured topic: its certificate has the topics, and APNs checks them.
      let candidates = owners.isEmpty ? candidates(names) : []
      if candidates.count == 1, candidates[0].topic == nil { return candidates[0] }
      throw .refusal(
        400, "TopicDisallowed", "there is no app with the topic '\(topic.prefix(255))' for you here"
      )
    }
    guard found.count == 1 else {
      let names = found.map(\.name).joined(separator: ", ")
      throw .refusal(
        400, "TopicDisallowed", "several apps have this topic: name one in relay-app: \(names)")
    }
    return first
  }

  // MARK: Preferences

  /// Parses `Prefer: respond-async` and `Prefer: wait=10` (RFC 7240). Ignores unknown preferences.
  private func answering(_ request: ListenerRequest) throws(ListenerResponse) -> Answering {
    var answering = Answering(waitMS: waitMS)
    var seconds: Int64?
    for header in request.headers where header.name == "prefer" {
      for preference in header.value.split(whereSeparator: { $0 == "," || $0 == ";" }) {
        let words = preference.split(separator: "=", maxSplits: 1)
          .map { $0.trimmingCharacters(in: .whitespaces) }
        switch words.first?.lowercased() {
        case "respond-async": answering.isPreferred = true
        case "wait":
          guard words.count == 2, let number = Self.number(words[1]) else { continue }
          seconds = min(number, 3600)
        default: break
        }
      }
    }
    if let seconds {
      answering.waitMS = answering.isPreferred ? seconds * 1000 : min(waitMS, seconds * 1000)
    } else if answering.isPreferred {
      answering.waitMS = 0
    }
    return answering
  }
}
