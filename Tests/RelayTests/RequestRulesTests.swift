import Foundation
import Testing

@testable import Relay

/// A listener's handling of a request, without a network.
@Suite struct RequestRulesTests {
  private static let token = String(repeating: "0f", count: 32)
  private static let payload = Array(#"{"aps":{"alert":"Hello"}}"#.utf8)

  private static func app(_ name: String, _ topic: String?) -> AppConfiguration {
    var app = AppConfiguration()
    app.name = name
    app.topic = topic
    return app
  }

  private static let shop = [app("shop", "com.example.shop")]
  private static let two = shop + [app("news", "com.example.news")]

  private func order(
    _ request: ListenerRequest, _ apps: [AppConfiguration] = shop, app: String? = nil
  ) throws(ListenerResponse) -> RequestRules.Order {
    try RequestRules(apps: ServedApps(apps), app: app, waitMS: 30_000).order(request)
  }

  private func entry(
    _ headers: [(name: String, value: String)] = [], _ apps: [AppConfiguration] = shop,
    app: String? = nil, token: String = RequestRulesTests.token,
    body: [UInt8] = RequestRulesTests.payload
  ) throws(ListenerResponse) -> NewEntry {
    let request = ListenerRequest("POST", "/3/device/\(token)", headers, body: body)
    guard case .push(let entry, _) = try order(request, apps, app: app) else {
      throw .refusal(500, "no push")
    }
    return entry
  }

  private func reason(
    _ status: Int, _ act: () throws(ListenerResponse) -> Void,
    sourceLocation: SourceLocation = #_sourceLocation
  ) -> String? {
    do throws(ListenerResponse) {
      try act()
      Issue.record("it is taken", sourceLocation: sourceLocation)
      return nil
    } catch {
      #expect(error.status == status, sourceLocation: sourceLocation)
      return error.body.split(separator: "\"").dropFirst(3).first.map(String.init)
    }
  }

  private func refused(
    _ status: Int, _ wanted: String, _ headers: [(name: String, value: String)] = [],
    _ apps: [AppConfiguration] = shop, token: String = RequestRulesTests.token,
    body: [UInt8] = RequestRulesTests.payload, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let said = reason(
      status,
      { () throws(ListenerResponse) in
        _ = try entry(headers, apps, token: token, body: body)
      }, sourceLocation: sourceLocation)
    #expect(said == wanted, sourceLocation: sourceLocation)
  }

  @Test func aPushWithAllItsHeaders() throws {
    let id = "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"
    let entry = try entry(
      [
        ("apns-id", id), ("apns-topic", "com.example.shop.voip"), ("apns-push-type", "voip"),
        ("apns-priority", "5"), ("apns-expiration", "0"), ("apns-collapse-id", "c"),
        ("authorization", "bearer whatever"), ("user-agent", "old"),
      ], token: Self.token.uppercased())
    #expect(entry.app == "shop")
    #expect(entry.id == id.lowercased())
    #expect(entry.token == Self.token)
    #expect(entry.topic == "com.example.shop.voip")
    #expect(entry.pushType == "voip")
    #expect(entry.priority == 5)
    #expect(entry.expiry == 0)
    #expect(entry.collapseID == "c")
    #expect(Array(entry.payload.utf8) == Self.payload)
  }

  @Test func aPushWithoutHeaders() throws {
    let (one, other) = (try entry(), try entry())
    #expect(one.id != other.id)
    #expect(UUID(uuidString: one.id) != nil)
    #expect(one.app == "shop")
    for value in [one.topic, one.pushType, one.collapseID] { #expect(value == nil) }
    #expect(one.expiry == nil)
    #expect(one.priority == nil)
  }

  @Test func whatAPNsWouldRefuse() {
    refused(400, "BadDeviceToken", token: "xyz")
    refused(400, "BadDeviceToken", token: "0f0")
    refused(400, "MissingDeviceToken", token: "")
    refused(400, "PayloadEmpty", body: [])
    refused(400, "BadPayload", body: [0xFF, 0xFE])
    refused(400, "BadPayload", body: [0x7B, 0, 0x7D])
    refused(413, "PayloadTooLarge", body: [UInt8](repeating: 0x20, count: 4097))
    refused(400, "BadMessageId", [("apns-id", "7")])
    refused(400, "BadPriority", [("apns-priority", "7")])
    refused(400, "BadExpirationDate", [("apns-expiration", "-1")])
    refused(400, "BadExpirationDate", [("apns-expiration", "tomorrow")])
    refused(400, "BadExpirationDate", [("apns-expiration", "+5")])
    refused(400, "DuplicateHeaders", [("relay-app", "shop"), ("relay-app", "other")])
    refused(400, "BadCollapseId", [("apns-collapse-id", String(repeating: "x", count: 65))])
    refused(400, "BadCollapseId", [("apns-collapse-id", "")])
    refused(400, "InvalidPushType", [("apns-push-type", "postcard")])
    refused(400, "DuplicateHeaders", [("apns-priority", "5"), ("apns-priority", "5")])
    refused(400, "MissingTopic", [], Self.two)
    refused(400, "TopicDisallowed", [("apns-topic", "com.example.other")])
    refused(400, "TopicDisallowed", [("relay-app", "other")])
    refused(400, "BadRequest", [("relay-lane", "fast")])
    refused(400, "BadRequest", [("relay-lane", "")])
    refused(400, "DuplicateHeaders", [("relay-lane", "bulk"), ("relay-lane", "bulk")])
  }

  @Test func theDueTime() throws {
    let now = RelayClock.now
    #expect(try entry([("relay-due", "\(now + 1000)")]).due == now + 1000)
    for wrong in ["", "tomorrow", "-1", "\(now / 1000)", "\(now + 400 * 86_400_000)"] {
      refused(400, "BadRequest", [("relay-due", wrong)])
    }
  }

  @Test func theCampaign() throws {
    #expect(try entry([("relay-campaign", "sale 1")]).campaign == "sale 1")
    #expect(try entry([]).campaign == nil)
    for wrong in ["", String(repeating: "x", count: 65)] {
      refused(400, "BadRequest", [("relay-campaign", wrong)])
    }
  }

  @Test func theTrace() throws {
    #expect(
      try entry([("traceparent", TraceParentTests.valid)]).traceparent == TraceParentTests.valid)
    #expect(try entry([]).traceparent == nil)
    for wrong in ["", "00-0"] { refused(400, "BadRequest", [("traceparent", wrong)]) }
    let twice = [("traceparent", TraceParentTests.valid), ("traceparent", TraceParentTests.valid)]
    refused(400, "DuplicateHeaders", twice)
  }

  @Test(arguments: Lane.allCases) func theLane(_ lane: Lane) throws {
    #expect(try entry([("relay-lane", lane.rawValue)]).lane == lane)
    #expect(try entry([]).lane == .normal)
  }

  @Test func sizesAreThoseOfTheKind() throws {
    let most = [UInt8](repeating: 0x20, count: 5120)
    #expect(try entry([("apns-push-type", "voip")], body: most).payload.utf8.count == 5120)
    #expect(
      try entry([("apns-topic", "com.example.shop.voip")], body: most).payload.utf8.count == 5120)
    refused(413, "PayloadTooLarge", [("apns-push-type", "voip")], body: most + [0x20])
    refused(413, "PayloadTooLarge", [("apns-push-type", "alert")], body: most)
    #expect(try entry(body: Array(most.prefix(4096))).payload.utf8.count == 4096)
  }

  @Test func whoseItIs() throws {
    #expect(try entry([("apns-topic", "com.example.news")], Self.two).app == "news")
    #expect(try entry([("apns-topic", "com.example.news")], Self.two).topic == nil)
    #expect(try entry([("apns-topic", "com.example.news.complication")], Self.two).app == "news")
    #expect(try entry([("relay-app", "news")], Self.two).app == "news")
    #expect(try entry([], Self.two, app: "news").app == "news")
    // No header overrides a listener's app.
    #expect(
      reason(400) { () throws(ListenerResponse) in
        _ = try entry([("relay-app", "shop")], Self.two, app: "news")
      } == "TopicDisallowed")
    #expect(
      reason(400) { () throws(ListenerResponse) in
        _ = try entry([("apns-topic", "com.example.shop")], Self.two, app: "news")
      } == "TopicDisallowed")
    // An exact topic belongs to its app.
    let exact = Self.shop + [Self.app("voip", "com.example.shop.voip")]
    #expect(try entry([("apns-topic", "com.example.shop.voip")], exact).app == "voip")
    #expect(try entry([("apns-topic", "com.example.shop.voip-ptt")], exact).app == "shop")
    refused(400, "TopicDisallowed", [("apns-topic", "com.example.shop.bank")], exact)
    // A common prefix does not make it the same app.
    refused(400, "TopicDisallowed", [("apns-topic", "com.example.shopping")], Self.two)
    let both = Self.shop + [Self.app("sandbox", "com.example.shop")]
    refused(400, "TopicDisallowed", [("apns-topic", "com.example.shop")], both)
    #expect(
      try entry([("apns-topic", "com.example.shop"), ("relay-app", "sandbox")], both).app
        == "sandbox")
    // The certificate names the topic.
    #expect(
      try entry([("apns-topic", "com.example.any")], [Self.app("only", nil)]).topic
        == "com.example.any")
  }

  @Test func broadcasts() throws {
    let headers = [
      (name: "apns-channel-id", value: "dHN0LXNyY2gtY2hubA=="),
      (name: "apns-push-type", value: "liveactivity"), (name: "apns-priority", value: "10"),
      (name: "apns-request-id", value: "6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
    ]
    func request(_ headers: [(name: String, value: String)]) -> ListenerRequest {
      ListenerRequest("POST", "/4/broadcasts/apps/com.example.shop", headers, body: Self.payload)
    }
    guard case .push(let entry, _) = try order(request(headers)) else {
      Issue.record("no push")
      return
    }
    #expect(entry.channel == "dHN0LXNyY2gtY2hubA==")
    #expect(entry.token == nil)
    #expect(entry.topic == nil)
    #expect(entry.id == "6ba7b810-9dad-11d1-80b4-00c04fd430c8")
    func said(_ headers: [(name: String, value: String)]) -> String? {
      reason(400) { () throws(ListenerResponse) in _ = try order(request(headers)) }
    }
    #expect(said(Array(headers.dropFirst())) == "MissingChannelId")
    #expect(said([("apns-channel-id", "%")] + headers.dropFirst()) == "BadChannelId")
    #expect(said([headers[0]]) == "MissingPushType")
    #expect(said([headers[0], ("apns-push-type", "alert")]) == "InvalidPushType")
  }

  @Test func pathsAndMethods() {
    func said(_ status: Int, _ method: String, _ path: String) -> String? {
      reason(status) { () throws(ListenerResponse) in
        _ = try order(
          ListenerRequest(method, path, [("apns-topic", "com.example.shop")], body: Self.payload))
      }
    }
    for path in [
      "/", "", "/3", "/3/devices/00", "/3/device/00/", "/4/broadcasts/apps", "//3/device/00",
    ] {
      #expect(said(404, "POST", path) == "BadPath", "\(path)")
    }
    #expect(said(400, "POST", "/3/device") == "MissingDeviceToken")
    #expect(said(405, "GET", "/3/device/00") == "MethodNotAllowed")
    #expect(said(405, "PUT", "/1/apps/com.example.shop/channels") == "MethodNotAllowed")
    #expect(said(405, "POST", "/1/apps/com.example.shop/all-channels") == "MethodNotAllowed")
    #expect(said(404, "GET", "/1/apps//channels") == "BadPath")
  }

  @Test func ordersOfChannels() throws {
    func wish(
      _ method: String, _ path: String, _ headers: [(name: String, value: String)] = [],
      _ body: String = ""
    ) throws(ListenerResponse) -> ManagementRequest.Wish {
      let request = ListenerRequest(
        method, "/1/apps/com.example.shop/\(path)", headers, body: Array(body.utf8))
      guard case .channels(let order) = try order(request) else { throw .refusal(500, "none") }
      return order.wish
    }
    let id = [(name: "apns-channel-id", value: "AQID")]
    let new = #"{"message-storage-policy": 1, "push-type": "LiveActivity"}"#
    #expect(try wish("POST", "channels", [], new) == .create(storage: 1))
    #expect(
      try wish("POST", "channels", [], new.replacingOccurrences(of: "1", with: "0"))
        == .create(storage: 0))
    #expect(try wish("GET", "channels", id) == .describe("AQID"))
    #expect(try wish("DELETE", "channels", id) == .delete("AQID"))
    #expect(try wish("GET", "all-channels") == .list)
    for (body, wanted) in [
      ("", "CannotCreateChannelConfig"), ("[]", "CannotCreateChannelConfig"),
      (#"{"push-type":"LiveActivity"}"#, "CannotCreateChannelConfig"),
      (#"{"message-storage-policy":2,"push-type":"LiveActivity"}"#, "CannotCreateChannelConfig"),
      (#"{"message-storage-policy":1}"#, "MissingPushType"),
      (#"{"message-storage-policy":1,"push-type":"alert"}"#, "InvalidPushType"),
    ] {
      let said = reason(400) { () throws(ListenerResponse) in
        _ = try wish("POST", "channels", [], body)
      }
      #expect(said == wanted, "\(body)")
    }
    let missing = reason(400) { () throws(ListenerResponse) in _ = try wish("GET", "channels") }
    #expect(missing == "MissingChannelId")
  }

  @Test func preferences() throws {
    func answering(_ values: String...) throws -> RequestRules.Answering? {
      let request = ListenerRequest(
        "POST", "/3/device/\(Self.token)", values.map { ("prefer", $0) }, body: Self.payload)
      guard case .push(_, let answering) = try order(request) else { return nil }
      return answering
    }
    #expect(try answering() == .init(waitMS: 30_000, isPreferred: false))
    #expect(try answering("respond-async") == .init(waitMS: 0, isPreferred: true))
    #expect(try answering("Respond-Async, wait=10") == .init(waitMS: 10_000, isPreferred: true))
    #expect(try answering("respond-async", "wait=10") == .init(waitMS: 10_000, isPreferred: true))
    #expect(try answering("wait=5") == .init(waitMS: 5000, isPreferred: false))
    // At most the listener's `wait`.
    #expect(try answering("wait=100") == .init(waitMS: 30_000, isPreferred: false))
    #expect(try answering("wait=-1, handling=strict") == .init(waitMS: 30_000))
    #expect(
      try answering("respond-async, wait=99999999999999999999")
        == .init(waitMS: 0, isPreferred: true))
  }

  @Test func outcomesAsAnswers() {
    func answer(_ kind: PushOutcome.Kind, _ status: Int = 0, since: Int64? = nil)
      -> ListenerResponse
    {
      var outcome = PushOutcome(position: 0, token: "00", kind: kind, reason: "Why")
      outcome.httpStatus = status
      outcome.goneSince = since
      return OutcomeResponse.of(.outcome(outcome), id: "the-id", header: "apns-id")
    }
    #expect(answer(.accepted, 200) == ListenerResponse(200, headers: ["apns-id": "the-id"]))
    let gone = answer(.rejected, 410, since: 1_700_000_000)
    #expect(gone.status == 410)
    #expect(gone.body == #"{"reason":"Why","timestamp":1700000000000}"#)
    // These outcomes do not report a gone device.
    for end in [PushOutcome.Kind.refused, .expired, .unknown, .dead] {
      #expect([400, 502].contains(answer(end).status), "\(end)")
    }
    #expect(OutcomeResponse.of(.none, id: "i", header: "apns-id").status == 202)
    #expect(OutcomeResponse.of(.isAnothers, id: "i", header: "apns-id").status == 400)
  }
}
