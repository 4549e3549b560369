/// The Live Activities of all devices.
struct LiveActivities: Sendable {
  /// The key by which an update finds its activities.
  private struct Listener: Hashable {
    var token: [UInt8]
    var app: String
    var channel: String?
  }

  private static let limit = 20_000
  private var all: [Int: LiveActivity] = [:]
  /// The numbers of the activities that have not ended.
  private var running: [Listener: [Int]] = [:]
  private var last = 0

  var count: Int { all.count }

  /// The newest, in the order in which they began.
  func newest(_ limit: Int) -> [LiveActivity] {
    all.keys.sorted().suffix(limit).compactMap { all[$0] }
  }

  /// Applies an update, received through a channel or by token, to one device. An unknown activity
  /// was started by the app itself.
  mutating func take(
    _ update: LiveActivityUpdate, by token: [UInt8], app: String, channel: String?, at now: Int64
  ) {
    let listener = Listener(token: token, app: app, channel: channel)
    let numbers = running[listener] ?? []
    switch update.event {
    case .start:
      begin(update, Listener(token: token, app: app, channel: update.inputChannel), now)
    case .update where numbers.isEmpty: begin(update, listener, now)
    case .update, .end:
      var ended: [Int] = []
      for number in numbers {
        guard all[number]?.take(update, at: now) == true, update.event == .end else { continue }
        ended.append(number)
      }
      if !ended.isEmpty { running[listener]?.removeAll(where: ended.contains) }
    }
    if running[listener]?.isEmpty == true { running[listener] = nil }
  }

  private mutating func begin(_ first: LiveActivityUpdate, _ listener: Listener, _ now: Int64) {
    last += 1
    all[last] = LiveActivity(
      number: last, token: listener.token, app: listener.app, channel: listener.channel, first,
      at: now)
    running[listener, default: []].append(last)
    // Not on every call, because it visits all of them.
    if all.count > Self.limit * 3 / 2 { forgetOldest() }
  }

  private mutating func forgetOldest() {
    let gone = Set(all.keys.sorted().prefix(all.count - Self.limit))
    for number in gone { all[number] = nil }
    for (listener, numbers) in running {
      let left = numbers.filter { !gone.contains($0) }
      running[listener] = left.isEmpty ? nil : left
    }
  }

  /// Whether an activity of the device still depends on the channel.
  func listens(_ token: [UInt8], app: String, to channel: String) -> Bool {
    running[Listener(token: token, app: app, channel: channel)] != nil
  }

  /// Does not restart the numbers, so that the page does not confuse a new activity with an old
  /// one.
  mutating func forget() {
    all = [:]
    running = [:]
  }
}
