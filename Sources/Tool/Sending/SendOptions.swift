import ArgumentParser
import CAPNS
import Client
import CommandOptions
import Glibc
import Simulator

/// The options of `apns send`, and what follows from them.
struct SendOptions: ParsableArguments {
  @OptionGroup(title: "Provider") var provider: ProviderOptions
  @OptionGroup(title: "Service") var service: PeerOptions
  @OptionGroup(title: "Payload") var payload: PayloadOptions
  @OptionGroup(title: "Live Activity") var activity: LiveActivityOptions

  @Argument(help: .of("token", "Device tokens, in hex."))
  var tokens: [String] = []

  @Option(name: .customLong("tokens"), file: "A list of devices; - reads standard input.")
  var list: String?

  @Option(
    help: .of(
      "id",
      "Instead of tokens: broadcast to all subscribers of this channel; may be repeated. HTTP/2 only."
    ))
  var channel: [String] = []

  @Option(
    name: .customLong("channels"),
    file: "A list of channels instead of devices; - reads standard input.")
  var channelList: String?

  @Option(help: .of("name", "The name of the list's token column."))
  var tokenColumn = "token"

  @Option(
    name: .customLong("protocol"),
    help: "HTTP/2, or the binary interface, which Apple switched off.")
  var wire = WireProtocol.http2

  @Option(
    name: .shortAndLong,
    help: .of("id", "The app's bundle ID, for HTTP/2. Default: the certificate's."))
  var topic: String?

  @Option(help: "The push type. Default: from topic, certificate and payload. HTTP/2 only.")
  var pushType: PushKind?

  @Option(help: .of("n", "10 delivers immediately, 5 saves the device's power, 1 saves more."))
  var priority: UInt8?

  @Option(help: .of("seconds", "How long the service tries to deliver; 0 tries once."))
  var expiresIn: UInt32?

  @Option(help: .of("id", "Replace an earlier notification with the same ID. HTTP/2 only."))
  var collapseID: String?

  @Option(help: .of("uuid", "A UUID for a single notification. HTTP/2 only."))
  var apnsID: String?

  @Option(file: "Write the outcome of each device to this file, as JSON lines.")
  var results: String?

  @Option(file: "Keep the session's metrics in this file, for Prometheus.")
  var metrics: String?

  @Option(
    file: """
      Record the requests, their responses and the ends of connections in this file, with hashed \
      tokens and without payloads, for --replay here and in apns simulate. HTTP/2 only.
      """)
  var record: String?

  @Option(
    file: """
      Instead of tokens and a payload: send what a recording has, at its times and in its sizes, to \
      stand-ins of its devices, which apns simulate --replay knows.
      """)
  var replay: String?

  @Option(help: .of("n", "Play --replay this many times as fast."))
  var speed: Double?

  @Flag(help: "Continue the list where --results ends.")
  var resume = false

  @Flag(help: "Report notifications in doubt as unknown instead of resending them.")
  var atMostOnce = false

  @Flag(
    help: """
      Send notifications to the same device one at a time, each after the outcome of the one before.
      """)
  var keepOrder = false

  @Option(help: .of("n", "Send at most this many per second."))
  var rate: Double?

  @Option(help: .of("n", "Connections in parallel, at most 64."))
  var connections: UInt32 = 1

  @Option(
    help: .of(
      "bytes", "Memory for notifications in flight, which also limits how many may arrive twice."))
  var window: UInt32 = 4 << 20

  @Option(help: .of("bytes", "The largest payload. Default: the protocol's."))
  var payloadMax: UInt32?

  @Option(help: .of("seconds", "How long to keep trying if the service cannot be reached."))
  var patience: Double = 60

  @Option(
    help: ArgumentHelp(
      """
      How long a notification may take to its outcome: expired, if it was not sent by then, or \
      unknown. Default: as long as --patience and --drain allow.
      """, valueName: "seconds"))
  var deadline: Double?

  @Option(help: .of("seconds", "How long to wait at the end for the last outcomes."))
  var drain: Double = 60

  @Option(
    help: .of("seconds", "Seconds between progress lines without a terminal; 0 prints no progress.")
  )
  var progress: Double = 10

  @Flag(
    name: [.customShort("n"), .long],
    help: "Check credentials, payload and the whole list without connecting.")
  var dryRun = false

  @Flag(help: "Print JSON: each device, unless --results has it, and the totals.")
  var json = false

  @Flag(
    name: .shortAndLong,
    help: """
      Log the session on standard error: connections, resends, and backoff with its reason. Given \
      twice, also every frame, without payloads and with shortened tokens.
      """)
  var verbose: Int

  func validate() throws {
    if isBroadcast {
      try validateBroadcast()
    } else if replay != nil {
      try validateReplay()
    } else if tokens.isEmpty, list == nil {
      throw ValidationError("no devices: give tokens or --tokens")
    } else if !tokens.isEmpty, list != nil {
      throw ValidationError("give either tokens or --tokens, not both")
    }
    if activity.liveActivity != nil { try validateActivity() }
    if resume, results == nil {
      throw ValidationError("--resume needs --results, the file to continue from")
    }
    if resume, listFile == nil { throw ValidationError("--resume needs a list, --tokens") }
    if activity.liveActivity != nil {
      if listFile == "-", activity.readsStandardInput {
        throw ValidationError("standard input cannot be both the list and a part of the payload")
      }
    } else if listFile == "-",
      payload.payload == "-" || (payload.payload == nil && !payload.hasFlags)
    {
      throw ValidationError("standard input cannot be both the list and the payload")
    }
    if record != nil, wire == .binary || isBroadcast {
      throw ValidationError("--record is for notifications to devices over HTTP/2")
    }
    if speed != nil, replay == nil { throw ValidationError("--speed needs --replay") }
    if let speed, !(speed > 0 && speed <= 1e9) {
      throw ValidationError("--speed must be above 0, and at most 1000000000")
    }
    if let rate, !(rate > 0) { throw ValidationError("--rate \(rate) would send nothing") }
    if connections < 1 || connections > 64 {
      throw ValidationError("--connections must be 1 to 64")
    }
    if keepOrder, wire == .binary, connections > 1 {
      throw ValidationError(
        "--keep-order uses one connection over the binary interface: leave out --connections")
    }
    if window < 16384 { throw ValidationError("--window must be at least 16384") }
    if let priority, ![1, 5, 10].contains(priority) {
      throw ValidationError("--priority must be 10, 5 or 1")
    }
    if apnsID != nil, listFile != nil || tokens.count + channel.count > 1 {
      throw ValidationError("--apns-id can only be used with a single notification")
    }
    if wire == .binary {
      if provider.p8 != nil { throw ValidationError(ProviderOptions.p8IsForHTTP2) }
      try refuse([
        "--topic": topic != nil, "--push-type": pushType != nil, "--collapse-id": collapseID != nil,
        "--apns-id": apnsID != nil, "--channel": !channel.isEmpty, "--channels": channelList != nil,
        "--live-activity": activity.liveActivity != nil,
      ]) { "\($0) is for HTTP/2 only: it cannot be used with --protocol binary" }
    }
    for (name, seconds) in [("--patience", patience), ("--drain", drain), ("--progress", progress)]
    where !(seconds >= 0 && seconds <= 1e6) {
      throw ValidationError("\(name) must be 0 to 1000000 seconds")
    }
    if let deadline, !(deadline >= 0.001 && deadline <= 1e6) {
      throw ValidationError("--deadline must be 0.001 to 1000000 seconds")
    }
  }

  private func validateReplay() throws {
    try refuse([
      "a token": !tokens.isEmpty, "--tokens": list != nil, "--rate": rate != nil,
      "a payload": payload.payload != nil || payload.hasFlags, "--apns-id": apnsID != nil,
      "--live-activity": activity.liveActivity != nil, "--push-type": pushType != nil,
      "--protocol binary": wire == .binary, "--results": results != nil,
    ]) { "--replay cannot be used with \($0)" }
  }

  /// A broadcast to channels instead of devices.
  var isBroadcast: Bool { kind == .channel }
  var kind: Addressee.Kind { channel.isEmpty && channelList == nil ? .device : .channel }
  var listFile: String? { list ?? channelList }

  var limit: Int {
    if let payloadMax { return Int(payloadMax) }
    if wire == .binary { return Int(APNS_PAYLOAD_MAX_FRAMED) }
    if isBroadcast { return Int(APNS_PAYLOAD_MAX_BROADCAST) }
    // A certificate may still change the topic: the session checks the size again.
    let isVoIP = pushType == .voip || pushType == nil && topic?.hasSuffix(".voip") == true
    return Int(isVoIP ? APNS_PAYLOAD_MAX_VOIP : APNS_PAYLOAD_MAX_HTTP2)
  }

  /// Live Activities have a separate topic, derived from the app's. For channels the library
  /// derives it.
  private func topic(_ credentials: ProviderCredentials) -> String? {
    guard pushKind == .liveactivity, !isBroadcast,
      let app = topic ?? (try? credentials.describe())?.topics.first
    else { return topic }
    return app.hasSuffix(Self.activitySuffix) ? app : app + Self.activitySuffix
  }

  private static let activitySuffix = ".push-type.liveactivity"

  private var pushKind: PushKind? { activity.liveActivity == nil ? pushType : .liveactivity }

  func sessionOptions(_ credentials: ProviderCredentials) -> PushSession.Options {
    var options = PushSession.Options()
    options.isHTTP2 = wire == .http2
    options.peer = service.peer
    options.topic = topic(credentials)
    options.windowBytes = window
    options.payloadMax = payloadMax ?? 0
    options.connections = connections
    options.deliversAtMostOnce = atMostOnce
    options.keepsOrder = keepOrder
    if let deadline { options.deadlineMS = Int32(deadline * 1000) }
    return options
  }

  var delivery: Delivery {
    var delivery = Delivery()
    delivery.collapseIdentifier = collapseID
    delivery.apnsIdentifier = apnsID
    delivery.priority = priority ?? 0
    delivery.pushType = pushKind?.pushType ?? APNS_PUSH_TYPE_DEFAULT
    if let expiresIn {
      delivery.expiry =
        expiresIn == 0 ? Int64(APNS_EXPIRY_ONCE) : Int64(time(nil)) + Int64(expiresIn)
    }
    return delivery
  }

  /// For a push of a recording.
  func delivery(of push: Recording.Push) -> Delivery {
    var delivery = delivery
    delivery.priority = priority ?? push.priority ?? 0
    if let kind = push.type.flatMap(PushKind.init(rawValue:)) {
      delivery.pushType = kind.pushType
      delivery.topic = topic.map { TopicKind.topic(of: $0, for: kind.rawValue) }
    }
    return delivery
  }

  func recorder() throws -> Recorder? {
    guard let record, !dryRun else { return nil }
    let delivery = RecordedDelivery(type: pushKind?.rawValue, priority: priority ?? 0)
    return try Exit.refusing("--record") { try Recorder(record, delivery) }
  }

  func template() throws -> Template {
    if replay != nil { return Template([], hasFields: false) }
    if activity.liveActivity != nil { return try activityTemplate() }
    var source: [UInt8]
    if payload.payload == nil, payload.hasFlags {
      source = Array(payload.json.utf8)
    } else {
      if payload.payload == nil, isatty(0) == 1 {
        throw Exit.refusal(
          "no payload: give --alert or another payload option, or --payload FILE"
        )
      }
      source = try Exit.refusing("--payload") { try WholeText.readText(payload.payload ?? "-") }
      while let last = source.last, [0x09, 0x0A, 0x0D, 0x20].contains(last) { source.removeLast() }
      guard !source.isEmpty else {
        let place = payload.payload.map { $0 == "-" ? "standard input" : $0 } ?? "standard input"
        throw Exit.refusal(
          "no payload: \(place) is empty, and no option makes one (--alert TEXT, --badge N, "
            + "--payload FILE)")
      }
    }
    return Template(source, hasFields: listFile != nil)
  }

  private func activityTemplate() throws -> Template {
    func object(_ given: String?, _ option: String) throws -> String? {
      try Exit.refusing(option) {
        try given.map { try ObjectText.read($0, isTemplate: listFile != nil) }
      }
    }
    let state = try object(activity.contentState, "--content-state")
    let attributes = try object(activity.attributes, "--attributes")
    func json(_ now: Int64?) -> [UInt8] {
      Array(activity.json(payload, contentState: state, attributes: attributes, now: now).utf8)
    }
    return Template(json(Int64(time(nil))), identity: json(nil), hasFields: listFile != nil)
  }
}
