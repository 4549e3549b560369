import NIOCore
import NIOHPACK
import Testing

@testable import Simulator

@Suite struct BroadcastTests {
  private static let app = "com.example.app"
  private static let token: [UInt8] = [1, 2, 3]

  private static func request(
    channel: String, expiration: String = "0", payload: String, app: String = app
  ) -> ReceivedPush {
    var request = ReceivedPush(
      HPACKHeaders([
        (":method", "POST"), (":path", "/4/broadcasts/apps/\(app)"), ("apns-channel-id", channel),
        ("apns-push-type", "liveactivity"), ("apns-expiration", expiration),
        ("apns-priority", "10"),
      ]))
    var bytes = ByteBuffer(string: payload)
    request.append(&bytes)
    return request
  }

  private static func payload(_ event: String, _ timestamp: Int, _ score: Int) -> String {
    #"{"aps":{"timestamp":\#(timestamp),"event":"\#(event)","content-state":{"score":\#(score)}}}"#
  }

  private static func create(
    _ broadcasts: Broadcasts, _ storage: BroadcastChannel.Storage = .newest
  ) throws -> String {
    try #require(try broadcasts.carryOut(.create(app: app, storage)).get().channel)
  }

  // MARK: Identifiers

  @Test func readsBase64AsItWritesIt() {
    for count in 0..<40 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 201 &+ count) }
      #expect(Base64.bytes(of: Base64.text(of: bytes)) == bytes)
    }
    for text in ["A", "AA", "AA=", "AB==", "AA===", "A===", "AA==AA==", "-_==", "AA==\n", "A A="] {
      #expect(Base64.bytes(of: text) == nil, "\(text)")
    }
  }

  @Test func knowsWhatIsAnIdentifier() {
    var generator = SplitMix64(seed: 1)
    let made = ChannelIdentifier.make(&generator)
    #expect(ChannelIdentifier.bytes(of: made)?.count == 16)
    #expect(ChannelIdentifier.make(&generator) != made)
    #expect(ChannelIdentifier.bytes(of: "") == nil)
    #expect(ChannelIdentifier.bytes(of: Base64.text(of: Array(repeating: 7, count: 17))) == nil)
  }

  // MARK: Channels

  @Test func countsTheChannelsOfEachApp() throws {
    let broadcasts = Broadcasts(seed: 1, most: 2)
    let first = try Self.create(broadcasts)
    _ = try Self.create(broadcasts)
    #expect(throws: PushFault.self) { try Self.create(broadcasts) }
    #expect(broadcasts.fault(of: .create(app: "other", .none)) == nil)
    #expect(broadcasts.fault(of: .show(app: "other", channel: first)) == .channelNotRegistered)
    _ = try broadcasts.carryOut(.delete(app: Self.app, channel: first)).get()
    #expect(broadcasts.fault(of: .create(app: Self.app, .none)) == nil)
    #expect(broadcasts.fault(of: .delete(app: Self.app, channel: first)) == .channelNotRegistered)
  }

  /// However many create at once, none is one too many and none is there twice.
  @Test func createsFromManyAtOnce() async throws {
    let broadcasts = Broadcasts(seed: 1, most: 500)
    let made = await withTaskGroup(of: [String].self) { group in
      for _ in 0..<8 {
        group.addTask { (0..<100).compactMap { _ in try? Self.create(broadcasts) } }
      }
      return await group.reduce(into: []) { $0 += $1 }
    }
    #expect(made.count == 500 && Set(made).count == 500)
  }

  @Test func expiresOnlyWhereMessagesAreStored() throws {
    let broadcasts = Broadcasts(seed: 1)
    let (once, stored) = (try Self.create(broadcasts, .none), try Self.create(broadcasts))
    let payload = Self.payload("update", 1, 1)
    func fault(_ channel: String, _ expiration: String) -> PushReason? {
      broadcasts.fault(
        ofBroadcast: Self.request(channel: channel, expiration: expiration, payload: payload))
    }
    #expect(fault(once, "0") == nil && fault(once, "00") == nil)
    #expect(fault(once, "1900000000") == .badExpirationDate)
    #expect(fault(stored, "1900000000") == nil)
    #expect(fault("AAAA", "0") == .channelNotRegistered)
  }

  @Test func reachesWhoSubscribes() throws {
    let broadcasts = Broadcasts(seed: 1)
    let channel = try Self.create(broadcasts)
    let subscription = Subscription(token: Self.token, channel: channel)
    func send(_ event: String, _ timestamp: Int) throws -> Int {
      try broadcasts.send(
        Self.request(channel: channel, payload: Self.payload(event, timestamp, timestamp))
      ).get()
    }
    #expect(try send("update", 1) == 0)
    broadcasts.subscribe(subscription)
    broadcasts.subscribe(subscription)
    #expect(try send("update", 2) == 1)
    #expect(broadcasts.unsubscribe(subscription) && !broadcasts.unsubscribe(subscription))
    #expect(try send("update", 3) == 0)
    broadcasts.subscribe(subscription)
    // An end that is older than what the device has does not end anything.
    #expect(try send("end", 1) == 1)
    #expect(try send("end", 4) == 1)
    #expect(try send("update", 5) == 0)
  }

  // MARK: Requests

  @Test func cannotStartAnActivity() {
    for (event, reason) in [("start", PushReason.payloadEmpty), ("update", nil), ("end", nil)] {
      let payload = Array(Self.payload(event, 1, 1).utf8)
      #expect(payload.withUnsafeBytes(BroadcastRules.fault(ofPayload:)) == reason)
    }
    #expect(Array("x".utf8).withUnsafeBytes(BroadcastRules.fault(ofPayload:)) == nil)
  }

  @Test(arguments: [
    ("com.example.app", nil as PushReason?), ("com.example.App", .topicMismatch),
    ("com.example", .topicDisallowed), ("com.example.app.voip", .topicDisallowed),
  ])
  func knowsTheAppsOfACertificate(app: String, reason: PushReason?) {
    #expect(TopicKind.fault(of: app, among: ["org.example", "com.example.app"]) == reason)
  }

  // MARK: Live Activities

  private static func update(_ text: String) throws -> LiveActivityUpdate {
    try #require(Array(text.utf8).withUnsafeBytes { LiveActivityUpdate($0) })
  }

  @Test func readsPayloads() throws {
    let update = try Self.update(
      #"{"aps":{"timestamp":7.9,"event":"start","content-state":{"a":[1.50]},"stale-date":8,"#
        + #""attributes-type":"T","attributes":{ },"input-push-channel":"c","relevance-score":2}}"#)
    #expect(update.event == .start && update.timestamp == 7 && update.staleDate == 8)
    #expect(update.contentState == #"{"a":[1.50]}"# && update.attributes == "{ }")
    #expect(update.attributesType == "T" && update.inputChannel == "c" && update.relevance == 2)
    for other in [
      "", "{}", #"{"aps":{}}"#, #"{"aps":{"event":"begin"}}"#, #"{"aps":{"event":1}}"#,
    ] {
      #expect(Array(other.utf8).withUnsafeBytes { LiveActivityUpdate($0) } == nil)
    }
    // Numbers that are no times.
    let odd = try Self.update(#"{"aps":{"event":"end","timestamp":1e300,"stale-date":"8"}}"#)
    #expect(odd.timestamp == 0 && odd.staleDate == nil)
  }

  @Test func growsStaleAndGoes() throws {
    let now: Int64 = 1_800_000_000_000
    let seconds = now / 1000
    var activity = LiveActivity(
      number: 1, token: Self.token, app: Self.app, channel: nil,
      try Self.update(#"{"aps":{"timestamp":1,"event":"start","stale-date":\#(seconds + 1)}}"#),
      at: now)
    #expect([0, 999, 1000].map { activity.state(at: now + $0) } == [.active, .active, .stale])
    try activity.take(Self.update(#"{"aps":{"timestamp":2,"event":"update"}}"#), at: now)
    #expect(activity.state(at: now + 9_000_000) == .active)
    try activity.take(Self.update(#"{"aps":{"timestamp":2,"event":"end"}}"#), at: now)
    let hours = Int64(4 * 3600_000)
    #expect(activity.state(at: now + hours - 1) == .ended)
    #expect(activity.state(at: now + hours) == .dismissed)
    #expect(activity.updates == 2 && activity.outdated == 0)
  }

  @Test func lingersForFourHoursAtMost() throws {
    let now: Int64 = 1_800_000_000_000
    for (offset, state) in [(-1, LiveActivity.State.dismissed), (60, .ended), (90_000, .ended)] {
      var activity = LiveActivity(
        number: 1, token: Self.token, app: Self.app, channel: nil,
        try Self.update(#"{"aps":{"timestamp":1,"event":"start"}}"#), at: now)
      let date = now / 1000 + Int64(offset)
      try activity.take(
        Self.update(#"{"aps":{"timestamp":2,"event":"end","dismissal-date":\#(date)}}"#), at: now)
      #expect(activity.state(at: now) == state)
      #expect(activity.state(at: now + 4 * 3600_000) == .dismissed)
    }
  }

  @Test func keepsTheNewestActivities() throws {
    var activities = LiveActivities(most: 10)
    let update = try Self.update(Self.payload("update", 1, 1))
    for number in 0..<100 {
      activities.take(update, by: [UInt8(number)], app: Self.app, channel: nil, at: 0)
    }
    #expect((10...15).contains(activities.count))
    #expect(activities.newest(3).map(\.token) == [[97], [98], [99]])
    // What was forgotten begins anew.
    activities.take(update, by: [0], app: Self.app, channel: nil, at: 0)
    #expect(activities.newest(1).map(\.number) == [101])
  }
}
