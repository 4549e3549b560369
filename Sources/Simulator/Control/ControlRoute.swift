/// A request that the control API takes. The service answers those of `all` and no others; the tool's
/// help and `/openapi.json` list them.
package struct ControlRoute: Sendable {
  /// A member of the request's JSON object, or of its query.
  struct Field {
    var name: String
    /// As in a JSON schema; nil for any.
    var type: String?
    var text: String
    var isRequired: Bool

    static func required(_ name: String, _ type: String, _ text: String = "") -> Field {
      Field(name: name, type: type, text: text, isRequired: true)
    }
    static func optional(_ name: String, _ type: String?, _ text: String = "") -> Field {
      Field(name: name, type: type, text: text, isRequired: false)
    }
  }

  package let method: String
  /// A number stands for `{number}`.
  package let path: String
  /// An example of its query, or empty.
  package let query: String
  package let text: String
  let call: ControlCall
  let fields: [Field]
  /// nil without a body.
  let body: [Field]?
  let status: Int
  /// The whole simulator has it, but none of its other worlds.
  let isOfSimulator: Bool

  private init(
    _ call: ControlCall, _ method: String, _ path: String, query: String = "",
    fields: [Field] = [], body: [Field]? = nil, status: Int = 200, isOfSimulator: Bool = false,
    _ text: String
  ) {
    self.call = call
    self.method = method
    self.path = path
    self.query = query
    self.fields = fields
    self.body = body
    self.status = status
    self.isOfSimulator = isOfSimulator
    self.text = text
  }

  static let number = "{number}"

  private static let token = Field.required("token", "string", "hex")
  private static let subscription = [token, .required("channel", "string", "its ID in base64")]
  private static let everyFault = FaultField.all.map {
    Field.optional($0.name, nil, "\($0.value): \($0.text)")
  }

  package static let all: [ControlRoute] = [
    ControlRoute(.counters, "GET", "/counters", "the totals so far"),
    ControlRoute(
      .accepted, "GET", "/accepted", query: "?from=0&limit=1000",
      fields: [.optional("from", "integer"), .optional("limit", "integer")],
      "accepted notifications; \"next\" is the start of the next page"),
    ControlRoute(
      .connections, "GET", "/connections",
      "open connections to the gateway, with their protocol and their counts"),
    ControlRoute(
      .endConnection, "DELETE", "/connections/{number}", query: "?end=fin",
      fields: [.optional("end", "string")],
      "ends this connection: close_notify, fin, reset or stall; default: fin"),
    ControlRoute(
      .channels, "GET", "/channels",
      "the broadcast channels, with their subscribers and stored messages"),
    ControlRoute(
      .subscriptions, "GET", "/subscriptions", "the channels to which devices subscribe"),
    ControlRoute(
      .subscribe, "POST", "/subscriptions", body: subscription,
      """
      subscribes a device to a channel, {"token": hex, "channel": ID}, and delivers the channel's \
      stored message
      """),
    ControlRoute(
      .unsubscribe, "DELETE", "/subscriptions", body: subscription, "ends the subscription"),
    ControlRoute(
      .activities, "GET", "/activities",
      """
      the Live Activities of all devices: state, content, and numbers of updates and of outdated \
      ones
      """),
    ControlRoute(.faults, "GET", "/faults", "the faults in force, and the seed"),
    ControlRoute(
      .replaceFaults, "PUT", "/faults", body: everyFault,
      "replaces the faults: an object, or an array of rules"),
    ControlRoute(
      .changeFaults, "PATCH", "/faults", body: everyFault,
      "adds these faults to those in force; null removes one"),
    ControlRoute(
      .removeFaults, "DELETE", "/faults",
      "removes all faults: closed ports open, stalled connections continue"),
    ControlRoute(
      .unregistered, "GET", "/unregistered", "the devices that the feedback service will send"),
    ControlRoute(
      .unregister, "POST", "/unregistered",
      body: [
        token, .optional("timestamp", "integer", "UNIX seconds"),
        .optional("reason", "string", "Unregistered or ExpiredToken"),
      ],
      """
      adds a device, {"token": hex, "timestamp": UNIX seconds}, default: now; over the binary \
      interface pushes to it are accepted; over HTTP/2 they are rejected with "reason", \
      Unregistered (default) or ExpiredToken
      """),
    ControlRoute(.forgetUnregistered, "DELETE", "/unregistered", "removes all of them"),
    ControlRoute(
      .rejections, "GET", "/rejections", "the devices whose pushes are rejected over HTTP/2"),
    ControlRoute(
      .reject, "POST", "/rejections",
      body: [
        token, .required("reason", "string", "Apple's word, or \"STATUS WORD\""),
        .optional("times", "integer", "how many pushes; default: every push"),
      ],
      """
      adds a device, {"token": hex, "reason": Apple's word or "STATUS WORD", "times": n}; \
      default: every push
      """),
    ControlRoute(.forgetRejections, "DELETE", "/rejections", "removes all of them"),
    ControlRoute(
      .reset, "POST", "/reset",
      """
      clears counters, accepted, unregistered, rejections and Live Activities; faults and \
      channels stay
      """),
    ControlRoute(.description, "GET", "/openapi.json", "this API as OpenAPI 3.1, with every fault"),
    ControlRoute(.worlds, "GET", Worlds.path, isOfSimulator: true, "the worlds, with their ports"),
    ControlRoute(
      .makeWorld, "POST", Worlds.path, body: Worlds.options, status: 201, isOfSimulator: true,
      """
      makes a world: ports with their own faults, devices, counters, connections and channels, \
      and this API below its path; it starts with the simulator's options, or with some of \
      \(Worlds.options.map(\.name).joined(separator: ", "))
      """),
    ControlRoute(
      .world, "GET", "\(Worlds.path)/{number}", isOfSimulator: true, "the ports of this world"),
    ControlRoute(
      .endWorld, "DELETE", "\(Worlds.path)/{number}", isOfSimulator: true,
      "ends this world and its connections, and returns its totals"),
    ControlRoute(.shutdown, "POST", "/shutdown", status: 202, isOfSimulator: true, "ends the run"),
  ]

  /// Whether it is for this path.
  func fits(_ path: String) -> Bool {
    guard let place = self.path.firstRange(of: Self.number) else { return self.path == path }
    let start = self.path[..<place.lowerBound]
    return path.hasPrefix(start) && !path.dropFirst(start.count).contains("/")
  }
}

/// The answers of the control API.
enum ControlCall {
  case counters, accepted, connections, endConnection, channels, subscriptions, subscribe
  case unsubscribe, activities, faults, replaceFaults, changeFaults, removeFaults, unregistered
  case unregister, forgetUnregistered, rejections, reject, forgetRejections, reset, description
  case worlds, makeWorld, world, endWorld, shutdown
}
