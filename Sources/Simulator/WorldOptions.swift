import BinaryServer
import JSON

extension SimulatedGateway.Configuration {
  /// Another world on free ports, with the options in a JSON object in place of the simulator's.
  /// The simulator's files and page are not for it.
  func ofWorld(_ options: JSONValue?) throws(JSONError) -> Self {
    var world = self
    world.http2Port = 0
    if gatewayPort != nil { world.gatewayPort = 0 }
    if feedbackPort != nil { world.feedbackPort = 0 }
    if channelsPort != nil { world.channelsPort = 0 }
    (world.record, world.ledger, world.recentPushes) = (nil, nil, nil)
    world.replay = nil
    guard let options else { return world }
    guard case .object(let members) = options.content else {
      throw JSONError("expected an object of options", at: options.offset)
    }
    if let like = options["like"] { try world.imitate(like) }
    world.replay = try Self.replay(options["replay"], options["speed"])
    for member in members where !["like", "replay", "speed"].contains(member.name) {
      try world.adopt(member, changesFaults: options["like"] != nil)
    }
    return world
  }

  private mutating func imitate(_ name: JSONValue) throws(JSONError) {
    guard let preset = name.string.flatMap(Preset.init) else {
      let names = Preset.allCases.map(\.rawValue).joined(separator: " or ")
      throw JSONError("like: expected \(names)", at: name.offset)
    }
    faults = try preset.rules()
    isSandbox = preset != .production
  }

  private static func replay(
    _ recording: JSONValue?, _ speed: JSONValue?
  ) throws(JSONError) -> Replay? {
    if let speed, recording == nil || !(1e-300...1e9).contains(speed.number ?? 0) {
      throw JSONError(
        "speed: expected a number above 0 and at most 1000000000, with replay", at: speed.offset)
    }
    guard let recording else { return nil }
    guard case .array(let lines) = recording.content, !lines.isEmpty else {
      throw JSONError("replay: expected the lines of a recording", at: recording.offset)
    }
    return Replay(try Recording(lines), speed: speed?.number ?? 1)
  }

  private mutating func adopt(
    _ option: JSONValue.Member, changesFaults: Bool
  ) throws(JSONError) {
    func refusal(_ expected: String) -> JSONError {
      JSONError("\(option.name): expected \(expected)", at: option.value.offset)
    }
    func texts() throws(JSONError) -> [String] {
      guard case .array(let elements) = option.value.content else { throw refusal("an array") }
      var texts: [String] = []
      for element in elements {
        guard let text = element.string, !text.isEmpty else { throw refusal("bundle IDs") }
        texts.append(text)
      }
      return texts
    }
    func count() throws(JSONError) -> Int {
      guard let number = option.value.integer, number >= 0 else { throw refusal("a number") }
      return number
    }
    switch option.name {
    case "faults" where changesFaults: try faults.adopt(option.value)
    case "faults": faults = try FaultRules(option.value)
    case "topics":
      let topics = try texts()
      rules.topic = topics.isEmpty ? nil : .only(topics)
    case "team_topics":
      let topics = try texts()
      rules.teamTopics = topics.isEmpty ? nil : topics
    case "no_broadcasts": appsWithoutBroadcasts = try texts()
    case "channels_max": channelsMax = try count()
    case "seed": seed = UInt64(try count())
    case "environment":
      let environments = ["sandbox", "production"]
      guard let name = option.value.string, environments.contains(name) else {
        throw refusal(environments.joined(separator: " or "))
      }
      isSandbox = name == "sandbox"
    case "check_payload":
      guard case .bool(let checks) = option.value.content else { throw refusal("true or false") }
      rules.checksPayloads = checks
    default: throw JSONError("unknown option \(option.name)", at: option.offset)
    }
  }
}

extension World {
  /// Its ports and its seed, as members of a JSON object.
  var members: String {
    let ports = [ListenError.Service.gateway, .feedback, .http2, .channels].map { service in
      "\"\(service.rawValue)_port\":\(port(service).map { "\($0)" } ?? "null")"
    }
    return "\(ports.joined(separator: ",")),\"seed\":\(service.faults.seed)"
  }
}
