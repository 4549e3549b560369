import JSON
import NIOConcurrencyHelpers

/// All channels, the devices that subscribe to them, and the Live Activities that these devices
/// show.
package final class Broadcasts: Sendable {
  private struct State {
    var generator: SplitMix64
    var channels: [String: BroadcastChannel] = [:]
    /// Identifiers in the order of creation, by app.
    var order: [String: [String]] = [:]
    /// By channel. A device may subscribe before the channel exists, and is not informed when it is
    /// deleted.
    var subscribers: [String: Subscribers] = [:]
    var activities = LiveActivities()
  }

  private let state: NIOLockedValueBox<State>
  private let channelsMax: Int
  /// Apps whose topics are not enabled for broadcasts.
  private let disabled: Set<String>

  package init(
    seed: UInt64, channelsMax: Int = 10_000, disabled: [String] = [],
    subscriptions: [Subscription] = []
  ) {
    self.channelsMax = channelsMax
    self.disabled = Set(disabled)
    var state = State(generator: SplitMix64(seed: SplitMix64.mix(seed &+ 3)))
    for subscription in subscriptions {
      _ = state.subscribers[subscription.channel, default: Subscribers()]
        .insert(subscription.token)
    }
    self.state = NIOLockedValueBox(state)
  }

  // MARK: Management

  /// The reason to reject an app's channel management requests; nil if they are allowed.
  func fault(ofApp app: String) -> PushReason? {
    disabled.contains(app) ? .featureNotEnabled : nil
  }

  /// The reason to reject the request; nil if it can be carried out.
  func fault(of request: ChannelManagementRequest) -> PushReason? {
    state.withLockedValue { fault(of: request, $0) }
  }

  private func fault(of request: ChannelManagementRequest, _ state: State) -> PushReason? {
    switch request {
    case .create(let app, _):
      state.order[app, default: []].count >= channelsMax ? .cannotCreateChannelConfig : nil
    case .show(let app, let channel), .delete(let app, let channel):
      state.channels[channel]?.app == app ? nil : .channelNotRegistered
    case .list: nil
    }
  }

  func carryOut(_ request: ChannelManagementRequest) -> Result<ChannelResult, PushFault> {
    state.withLockedValue { state in
      if let reason = fault(of: request, state) { return .failure(PushFault(reason: reason)) }
      switch request {
      case .create(let app, let storage):
        var identifier = ChannelIdentifier.make(&state.generator)
        while state.channels[identifier] != nil {
          identifier = ChannelIdentifier.make(&state.generator)
        }
        state.channels[identifier] = BroadcastChannel(
          identifier: identifier, app: app, storage: storage)
        state.order[app, default: []].append(identifier)
        return .success(ChannelResult(status: 201, channel: identifier))
      case .show(_, let channel):
        let storage = state.channels[channel]?.storage ?? .none
        return .success(
          ChannelResult(
            status: 200,
            body:
              "{\"message-storage-policy\":\(storage.rawValue),\"push-type\":\"LiveActivity\"}"))
      case .delete(let app, let channel):
        state.channels[channel] = nil
        state.order[app]?.removeAll { $0 == channel }
        return .success(ChannelResult(status: 204))
      case .list(let app):
        let all = state.order[app, default: []].map(JSONLiteral.string)
        return .success(
          ChannelResult(status: 200, body: "{\"channels\":[\(all.joined(separator: ","))]}"))
      }
    }
  }

  // MARK: Messages

  /// The reason to reject a broadcast; nil if it is accepted.
  func fault(ofBroadcast request: ReceivedPush) -> PushReason? {
    state.withLockedValue { fault(ofBroadcast: request, $0) }
  }

  private func fault(ofBroadcast request: ReceivedPush, _ state: State) -> PushReason? {
    guard let channel = request.channel.flatMap({ state.channels[$0] }),
      channel.app == request.broadcastApp.map(String.init)
    else { return .channelNotRegistered }
    let isOnce = request.expiration.flatMap { Int64($0) } == 0
    return isOnce || channel.storage == .newest ? nil : .badExpirationDate
  }

  /// Delivers a broadcast to all subscribers. Returns their number, or the reason for a rejection.
  func send(_ request: ReceivedPush) -> Result<Int, PushFault> {
    let update = request.payload.withUnsafeReadableBytes { LiveActivityUpdate($0) }
    let now = WallClock.milliseconds
    return state.withLockedValue { state in
      if let reason = fault(ofBroadcast: request, state) {
        return .failure(PushFault(reason: reason))
      }
      guard let name = request.channel, let app = state.channels[name]?.app else {
        return .success(0)
      }
      state.channels[name]?.broadcasts += 1
      if let expiration = request.expiration.flatMap({ Int64($0) }), expiration > now / 1000 {
        state.channels[name]?.stored = BroadcastChannel.StoredMessage(
          payload: Array(request.payload.readableBytesView), expiration: expiration)
      }
      let tokens = state.subscribers[name]?.tokens ?? []
      if let update {
        for token in tokens {
          Self.hand(update, to: token, app: app, channel: name, at: now, &state)
        }
      }
      return .success(tokens.count)
    }
  }

  /// Applies a push to one device that concerns a Live Activity. A start may also subscribe the
  /// device to a channel.
  func push(_ payload: UnsafeRawBufferPointer, to token: [UInt8], topic: String) {
    guard let update = LiveActivityUpdate(payload) else { return }
    let app = TopicKind.app(ofLiveActivities: topic)
    let now = WallClock.milliseconds
    state.withLockedValue { state in
      state.activities.take(update, by: token, app: app, channel: nil, at: now)
      if update.event == .start, let channel = update.inputChannel {
        Self.subscribe(Subscription(token: token, channel: channel), at: now, &state)
      }
    }
  }

  /// The end of its activity ends the device's subscription.
  private static func hand(
    _ update: LiveActivityUpdate, to token: [UInt8], app: String, channel: String, at now: Int64,
    _ state: inout State
  ) {
    let didListen = state.activities.listens(token, app: app, to: channel)
    state.activities.take(update, by: token, app: app, channel: channel, at: now)
    if didListen, !state.activities.listens(token, app: app, to: channel) {
      state.subscribers[channel]?.remove(token)
    }
  }

  // MARK: Subscriptions

  /// False if the device is already subscribed.
  @discardableResult
  private static func subscribe(
    _ subscription: Subscription, at now: Int64, _ state: inout State
  ) -> Bool {
    let (token, name) = (subscription.token, subscription.channel)
    guard state.subscribers[name, default: Subscribers()].insert(token) else { return false }
    if let channel = state.channels[name], let stored = channel.stored(at: now / 1000),
      let update = stored.withUnsafeBytes({ LiveActivityUpdate($0) })
    {
      hand(update, to: token, app: channel.app, channel: name, at: now, &state)
    }
    return true
  }

  /// A new subscriber gets the channel's stored message.
  func subscribe(_ subscription: Subscription) {
    let now = WallClock.milliseconds
    state.withLockedValue { _ = Self.subscribe(subscription, at: now, &$0) }
  }

  /// False if the device is not subscribed.
  func unsubscribe(_ subscription: Subscription) -> Bool {
    state.withLockedValue {
      $0.subscribers[subscription.channel]?.remove(subscription.token) == true
    }
  }

  /// Clears the Live Activities and the stored messages. Channels and subscriptions stay, because
  /// providers and devices know them.
  func reset() {
    state.withLockedValue { state in
      state.activities.forget()
      for name in state.channels.keys {
        state.channels[name]?.broadcasts = 0
        state.channels[name]?.stored = nil
      }
    }
  }

  // MARK: State for the page

  /// The newest channels of each app, with their newest subscribers.
  package func channelList(newest limit: Int = .max, subscribers subscriberLimit: Int = .max)
    -> String
  {
    let now = WallClock.milliseconds / 1000
    let (channels, count) = state.withLockedValue { state in
      let shown = state.order.sorted { $0.key < $1.key }.flatMap { $0.value.suffix(limit) }
      let texts = shown.compactMap { name in
        state.channels[name].map {
          Self.json($0, state.subscribers[name]?.tokens ?? [], newest: subscriberLimit, at: now)
        }
      }
      return (texts, state.channels.count)
    }
    return "{\"count\":\(count),\"channels\":[\(channels.joined(separator: ","))]}"
  }

  private static func json(
    _ channel: BroadcastChannel, _ subscribers: [[UInt8]], newest limit: Int, at now: Int64
  ) -> String {
    let tokens = subscribers.suffix(limit).map { "\"\(TokenField.hex($0))\"" }
    let stored = channel.stored(at: now).map {
      JSONLiteral.string(String(decoding: $0, as: UTF8.self))
    }
    return """
      {"channel":\(JSONLiteral.string(channel.identifier)),\
      "app":\(JSONLiteral.string(channel.app)),"message_storage_policy":\(channel.storage.rawValue),\
      "broadcasts":\(channel.broadcasts),"stored":\(stored ?? "null"),\
      "subscriber_count":\(subscribers.count),"subscribers":[\(tokens.joined(separator: ","))]}
      """
  }

  /// All subscriptions, including those to channels that do not exist.
  func subscriptionList() -> String {
    let lines = state.withLockedValue { state in
      state.subscribers.sorted { $0.key < $1.key }.flatMap { channel, subscribers in
        subscribers.tokens.map {
          "{\"token\":\"\(TokenField.hex($0))\",\"channel\":\(JSONLiteral.string(channel))}"
        }
      }
    }
    return "{\"subscriptions\":[\(lines.joined(separator: ","))]}"
  }

  package func activityList(newest limit: Int = .max) -> String {
    let now = WallClock.milliseconds
    let (activities, count) = state.withLockedValue {
      ($0.activities.newest(limit), $0.activities.count)
    }
    let texts = activities.map { $0.json(at: now) }
    return "{\"count\":\(count),\"activities\":[\(texts.joined(separator: ","))]}"
  }
}
