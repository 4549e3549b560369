import BinaryServer
import JSON

/// The control API without HTTP.
package struct ControlService: Sendable {
  package struct Response: Sendable {
    package var status: Int
    package var json: String
    /// The run ends once the response is sent.
    package var endsRun = false

    static func ok(_ json: String) -> Response { Response(status: 200, json: json) }

    static func fault(_ status: Int, _ message: String) -> Response {
      Response(status: status, json: "{\"error\":\(JSONLiteral.string(message))}")
    }
  }

  package struct Request: Sendable {
    var method: String
    var path: String
    var query: [String: String]
    var body: [UInt8]

    package init(method: String, path: String, query: [String: String] = [:], body: [UInt8] = []) {
      self.method = method
      self.path = path
      self.query = query
      self.body = body
    }
  }

  static let pageMax = 10_000

  package let ledger: Ledger
  let feedback: FeedbackList
  let unregistered: RejectedDevices
  let rejections: RejectedDevices
  package let broadcasts: Broadcasts
  let faults: FaultsInForce
  let listeners: [Listener]
  let gatewayChannels: OpenChannels
  let feedbackChannels: OpenChannels
  /// Connections to the control API.
  let controlChannels = OpenChannels()
  let pendingResponses = PendingResponses()
  let requestShutdown: @Sendable () -> Void
  /// Other worlds on the same simulator; nil in one of those.
  let worlds: Worlds?

  package func response(to request: Request) async -> Response {
    if let worlds, let path = Worlds.Path(request.path), path.rest != nil {
      return await worlds.response(to: request, path)
    }
    let fitting = routes.filter { $0.fits(request.path) }
    if fitting.isEmpty {
      let paths = Set(routes.map { $0.path.replacing(ControlRoute.number, with: "N") }).sorted()
      return .fault(404, "not found; there are \(paths.joined(separator: ", "))")
    }
    guard let route = fitting.first(where: { $0.method == request.method }) else {
      let methods = fitting.map(\.method).joined(separator: ", ")
      return .fault(405, "\(request.path) takes \(methods)")
    }
    do throws(JSONError) {
      return try await response(to: request, route.call)
    } catch {
      let place = error.place(in: request.body)
      return .fault(
        400,
        request.body.isEmpty
          ? error.message : "body:\(place.line):\(place.column): \(error.message)")
    }
  }

  private var routes: [ControlRoute] {
    ControlRoute.all.filter { worlds != nil || !$0.isOfSimulator }
  }

  private func response(to request: Request, _ call: ControlCall) async throws(JSONError)
    -> Response
  {
    switch call {
    case .accepted: return try accepted(request.query)
    case .activities: return .ok(broadcasts.activityList())
    case .channels: return .ok(broadcasts.channelList())
    case .subscriptions: return .ok(broadcasts.subscriptionList())
    case .subscribe:
      broadcasts.subscribe(try subscription(request))
      return .ok(broadcasts.subscriptionList())
    case .unsubscribe:
      let subscription = try subscription(request)
      if broadcasts.unsubscribe(subscription) { return .ok(broadcasts.subscriptionList()) }
      return .fault(404, "the device is not subscribed to \(subscription.channel)")
    case .connections: return .ok(connections())
    case .endConnection: return end(request)
    case .counters: return .ok(counters)
    case .description:
      return .ok(ControlDescription(routes: routes).json)
    case .faults: return faultList
    case .replaceFaults:
      return try await set(FaultRules(try JSONParser.read(request.body)), reopens: true)
    case .changeFaults:
      let changes = try JSONParser.read(request.body)
      var wanted = faults.rules
      wanted.forgetRefusal()
      try wanted.adopt(changes)
      return try await set(wanted, reopens: changes["refuse_ms"] != nil)
    case .removeFaults: return try await set(FaultRules(), reopens: true)
    case .rejections: return .ok(rejectionList())
    case .reject:
      try reject(try JSONParser.read(request.body))
      return .ok(rejectionList())
    case .forgetRejections:
      rejections.forget()
      return .ok(rejectionList())
    case .reset:
      ledger.reset()
      _ = feedback.takeAll()
      unregistered.forget()
      rejections.forget()
      broadcasts.reset()
      return .ok(counters)
    case .shutdown: return Response(status: 202, json: counters, endsRun: true)
    case .unregistered: return .ok(unregisteredList())
    case .unregister:
      try unregister(try JSONParser.read(request.body))
      return .ok(unregisteredList())
    case .forgetUnregistered:
      _ = feedback.takeAll()
      unregistered.forget()
      return .ok(unregisteredList())
    case .worlds, .makeWorld, .world, .endWorld:
      guard let worlds else { return .fault(404, "a world has no worlds") }
      if let path = Worlds.Path(request.path) { return await worlds.response(to: request, path) }
      return try await worlds.response(to: request)
    }
  }

  package var counters: String { String(ledger.totals.json.dropLast()) }

  package func connections(newest limit: Int = .max) -> String {
    let open = ledger.connections.suffix(limit).map { connection in
      """
      {"number":\(connection.number),"protocol":"\(connection.service.rawValue)",\
      "peer":\(JSONLiteral.string(connection.peer)),\
      "since":\(connection.since),\
      "tls":\(JSONLiteral.string(connection.tls)),\
      "subject":\(JSONLiteral.string(connection.subject)),\
      "bytes":\(connection.bytes),\
      "accepted":\(connection.accepted),"rejected":\(connection.rejected),\
      "discarded":\(connection.discarded)}
      """
    }
    return "{\"connections\":[\(open.joined(separator: ","))]}"
  }

  /// One page, from an index on. `next` is where the next page begins.
  private func accepted(_ query: [String: String]) throws(JSONError) -> Response {
    let from = try number("from", in: query) ?? 0
    let limit = min(try number("limit", in: query) ?? 1000, Self.pageMax)
    let page = ledger.accepted(from: from, limit: limit)
    let lines = page.lines.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ",")
    return .ok(
      """
      {"total":\(page.total),"first":\(page.first),"next":\(page.first + page.lines.count),\
      "notifications":[\(lines)]}
      """)
  }

  private func number(_ name: String, in query: [String: String]) throws(JSONError) -> Int? {
    guard let text = query[name] else { return nil }
    guard let number = Int(text), number >= 0 else {
      throw JSONError("\(name)=\(text) is not a number", at: 0)
    }
    return number
  }

  /// Closes the connection with that number.
  private func end(_ request: Request) -> Response {
    let text = request.path.dropFirst("/connections/".count)
    let word = request.query["end"] ?? Faults.Ending.fin.rawValue
    guard let ending = Faults.Ending(rawValue: word) else {
      let words = Faults.Ending.allCases.map(\.rawValue).joined(separator: ", ")
      return .fault(400, "end=\(word): expected one of \(words)")
    }
    guard let number = Int(text), gatewayChannels.send(.cut(ending), to: number) else {
      return .fault(404, "no connection \(text) is open")
    }
    return .ok("{\"number\":\(number),\"end\":\"\(word)\"}")
  }

  private var faultList: Response {
    .ok("{\"seed\":\(faults.seed),\"faults\":\(faults.rules.json)}")
  }

  /// The faults are in force when it returns, on open connections too.
  private func set(_ wanted: FaultRules, reopens: Bool) async throws(JSONError) -> Response {
    do {
      try faults.set(wanted)
    } catch let error as JSONError {
      throw error
    } catch {
      throw JSONError("\(error)", at: 0)
    }
    gatewayChannels.send(.changed)
    feedbackChannels.send(.changed)
    for listener in listeners {
      if let time = wanted.refuseTime, time > 0 {
        await listener.refuse(for: time)
      } else if reopens {
        await listener.reopen()
      }
    }
    return faultList
  }

  private func subscription(_ request: Request) throws(JSONError) -> Subscription {
    let json = try JSONParser.read(request.body)
    let expected = "expected {\"token\": hex, \"channel\": identifier}"
    let token = try token(in: json, beside: ["channel"], expected)
    guard let channel = json["channel"]?.string else { throw JSONError(expected, at: json.offset) }
    if ChannelIdentifier.bytes(of: channel) == nil {
      throw JSONError(
        "channel: \(channel) is not a channel ID", at: json["channel"]?.offset ?? 0)
    }
    return Subscription(token: token, channel: channel)
  }

  /// A gone device is in the feedback once. Only HTTP/2 rejects pushes to it.
  private func unregister(_ json: JSONValue) throws(JSONError) {
    let entry = try entry(json)
    let reason = try goneReason(json)
    feedback.append(entry)
    unregistered.add(entry.token, RejectedDevices.Entry(reason: reason, time: entry.milliseconds))
  }

  /// HTTP/2 rejects pushes to the device.
  private func reject(_ json: JSONValue) throws(JSONError) {
    let token = try token(
      in: json, beside: ["reason", "times"], "expected {\"token\": hex, \"reason\": word}")
    guard let reason = json["reason"]?.string.flatMap(PushReason.init(text:)) else {
      throw JSONError(
        "reason: expected one of Apple's, or \"STATUS WORD\"",
        at: json["reason"]?.offset ?? json.offset)
    }
    let times = json["times"]
    if let times, times.integer ?? 0 < 1 {
      throw JSONError("times: expected a number of pushes", at: times.offset)
    }
    rejections.add(
      token,
      RejectedDevices.Entry(reason: reason, time: WallClock.milliseconds, times: times?.integer))
  }

  private func rejectionList() -> String {
    let all = rejections.all.map { token, entry in
      let times = entry.times.map { ",\"times\":\($0)" } ?? ""
      let reason = JSONLiteral.string(entry.reason.text)
      return "{\"token\":\"\(TokenField.hex(token))\",\"reason\":\(reason)\(times)}"
    }
    return "{\"rejections\":[\(all.joined(separator: ","))]}"
  }

  /// The newest entries that the feedback service will list.
  package func unregisteredList(newest limit: Int = .max) -> String {
    let entries = feedback.all.suffix(limit).map {
      "{\"timestamp\":\($0.timestamp),\"token\":\"\(TokenField.hex($0.token))\"}"
    }
    return "{\"unregistered\":[\(entries.joined(separator: ","))]}"
  }

  /// The reason with which HTTP/2 rejects pushes to a gone device; nil if the device is not gone.
  package func reasonGone(_ token: [UInt8]) -> String? { unregistered[token]?.reason.word }

  private func goneReason(_ json: JSONValue) throws(JSONError) -> PushReason {
    guard let given = json["reason"] else { return .unregistered }
    guard let reason = given.string.flatMap(PushReason.init(text:)), reason.tellsTime else {
      throw JSONError("reason: expected Unregistered or ExpiredToken", at: given.offset)
    }
    return reason
  }

  private func entry(_ json: JSONValue) throws(JSONError) -> FeedbackEntry {
    let token = try token(
      in: json, beside: ["timestamp", "reason"], "expected {\"token\": hex, \"timestamp\": seconds}"
    )
    var timestamp = WallClock.seconds
    if let given = json["timestamp"] {
      guard let seconds = given.integer.flatMap(UInt32.init(exactly:)) else {
        throw JSONError("timestamp: expected UNIX seconds, 0 to \(UInt32.max)", at: given.offset)
      }
      timestamp = seconds
    }
    return FeedbackEntry(timestamp: timestamp, token: token)
  }

  /// The device token of a JSON object with no members but these.
  private func token(
    in json: JSONValue, beside names: [String], _ expected: String
  ) throws(JSONError) -> [UInt8] {
    guard case .object(let members) = json.content, let text = json["token"]?.string else {
      throw JSONError(expected, at: json.offset)
    }
    if let other = members.first(where: { $0.name != "token" && !names.contains($0.name) }) {
      throw JSONError("\(other.name) is not allowed here", at: other.offset)
    }
    do throws(TextFault) {
      return try TokenField.bytes(of: text.utf8)
    } catch {
      throw JSONError("token: \(error.message)", at: json["token"]?.offset ?? 0)
    }
  }
}
