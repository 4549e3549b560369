/// A request that the control API takes. The service answers those of `all` and no others; the tool's
/// help and `/openapi.json` list them.
package struct ControlRoute: Sendable {
  /// A member of the request's JSON object, or of its query.
  struct Field {
    var name: String
    /// As in a JSON schema; nil for any.
    var type: String?
    var text = ""
    var isRequired = false

    static func required(_ name: String, _ type: String, _ text: String = "") -> Field {
      Field(name: name, type: type, text: text, isRequired: true)
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

  fileprivate init(
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

  package static let all = ControlCall.allCases.map(\.route)

  /// Whether it is for this path.
  func fits(_ path: String) -> Bool {
    guard let place = self.path.firstRange(of: Self.number) else { return self.path == path }
    let start = self.path[..<place.lowerBound]
    return path.hasPrefix(start) && !path.dropFirst(start.count).contains("/")
  }
}

/// The answers of the control API.
enum ControlCall: CaseIterable {
  case counters, accepted, connections, endConnection, channels, subscriptions, subscribe
  case unsubscribe, activities, faults, replaceFaults, changeFaults, removeFaults, unregistered
  case unregister, forgetUnregistered, rejections, reject, forgetRejections, reset, description
  case worlds, makeWorld, world, endWorld, shutdown

  private static let token = ControlRoute.Field.required("token", "string", "hex")
  private static let subscription = [token, .required("channel", "string", "its ID in base64")]
  private static let everyFault = FaultField.all.map {
    ControlRoute.Field(name: $0.name, text: "\($0.value): \($0.text)")
  }

  fileprivate var route: ControlRoute {
    switch self {
    case .counters: ControlRoute(self, "GET", "/counters", "the totals so far")
    case .accepted:
      ControlRoute(
        self, "GET", "/accepted", query: "?from=0&limit=1000",
        fields: [
          ControlRoute.Field(name: "from", type: "integer"),
          ControlRoute.Field(name: "limit", type: "integer"),
        ],
        "accepted notifications; \"next\" is the start of the next page")
    case .connections:
      ControlRoute(
        self, "GET", "/connections",
        "open connections to the gateway, with their protocol and their counts")
    case .endConnection:
      ControlRoute(
        self, "DELETE", "/connections/{number}", query: "?end=fin",
        fields: [ControlRoute.Field(name: "end", type: "string")],
        "ends this connection: close_notify, fin, reset or stall; default: fin")
    case .channels:
      ControlRoute(
        self, "GET", "/channels",
        "the broadcast channels, with their subscribers and stored messages")
    case .subscriptions:
      ControlRoute(self, "GET", "/subscriptions", "the channels to which devices subscribe")
    case .subscribe:
      ControlRoute(
        self, "POST", "/subscriptions", body: Self.subscription,
        """
        subscribes a device to a channel, {"token": hex, "channel": ID}, and delivers the channel's \
        stored message
        """)
    case .unsubscribe:
      ControlRoute(
        self, "DELETE", "/subscriptions", body: Self.subscription, "ends the subscription")
    case .activities:
      ControlRoute(
        self, "GET", "/activities",
        """
        the Live Activities of all devices: state, content, and numbers of updates and of outdated \
        ones
        """)
    case .faults: ControlRoute(self, "GET", "/faults", "the faults in force, and the seed")
    case .replaceFaults:
      ControlRoute(
        self, "PUT", "/faults", body: Self.everyFault,
        "replaces the faults: an object, or an array of rules")
    case .changeFaults:
      ControlRoute(
        self, "PATCH", "/faults", body: Self.everyFault,
        "adds these faults to those in force; null removes one")
    case .removeFaults:
      ControlRoute(
        self, "DELETE", "/faults",
        "removes all faults: closed ports open, stalled connections continue")
    case .unregistered:
      ControlRoute(
        self, "GET", "/unregistered", "the devices that the feedback service will send")
    case .unregister:
      ControlRoute(
        self, "POST", "/unregistered",
        body: [
          Self.token, ControlRoute.Field(name: "timestamp", type: "integer", text: "UNIX seconds"),
          ControlRoute.Field(
            name: "reason", type: "string", text: "Unregistered or ExpiredToken"),
        ],
        """
        adds a device, {"token": hex, "timestamp": UNIX seconds}, default: now; over the binary \
        interface pushes to it are accepted; over HTTP/2 they are rejected with "reason", \
        Unregistered (default) or ExpiredToken
        """)
    case .forgetUnregistered:
      ControlRoute(self, "DELETE", "/unregistered", "removes all of them")
    case .rejections:
      ControlRoute(
        self, "GET", "/rejections", "the devices whose pushes are rejected over HTTP/2")
    case .reject:
      ControlRoute(
        self, "POST", "/rejections",
        body: [
          Self.token, .required("reason", "string", "Apple's word, or \"STATUS WORD\""),
          ControlRoute.Field(
            name: "times", type: "integer", text: "how many pushes; default: every push"),
        ],
        """
        adds a device, {"token": hex, "reason": Apple's word or "STATUS WORD", "times": n}; \
        default: every push
        """)
    case .forgetRejections: ControlRoute(self, "DELETE", "/rejections", "removes all of them")
    case .reset:
      ControlRoute(
        self, "POST", "/reset",
        """
        clears counters, accepted, unregistered, rejections and Live Activities; faults and \
        channels stay
        """)
    case .description:
      ControlRoute(
        self, "GET", "/openapi.json", "this API as OpenAPI 3.1, with every fault")
    case .worlds:
      ControlRoute(
        self, "GET", Worlds.path, isOfSimulator: true, "the worlds, with their ports")
    case .makeWorld:
      ControlRoute(
        self, "POST", Worlds.path, body: Worlds.options, status: 201, isOfSimulator: true,
        """
        makes a world: ports with their own faults, devices, counters, connections and channels, \
        and this API below its path; it starts with the simulator's options, or with some of \
        \(Worlds.options.map(\.name).joined(separator: ", "))
        """)
    case .world:
      ControlRoute(
        self, "GET", "\(Worlds.path)/{number}", isOfSimulator: true, "the ports of this world")
    case .endWorld:
      ControlRoute(
        self, "DELETE", "\(Worlds.path)/{number}", isOfSimulator: true,
        "ends this world and its connections, and returns its totals")
    case .shutdown:
      ControlRoute(self, "POST", "/shutdown", status: 202, isOfSimulator: true, "ends the run")
    }
  }
}
