import Foundation
import JSON
import Synchronization

/// The queue in Redis Streams, for relays and producers on any number of machines. Each change is a
/// script, which Redis runs atomically.
package final class RedisQueue: QueueEngine {
  /// When an app's Redis became reachable again.
  struct Return {
    /// `RedisConnections.outages` at that time.
    var outages = 0
    var since: Int64?
  }

  let connections: RedisConnections
  package let warnings: [String]
  let held = RedisHeldEntries()
  let returns = Mutex<[String: Return]>([:])
  let apps = Mutex(KnownApps())
  let news = QueueNews()
  /// nil before anyone watches.
  let follower = Mutex<RedisNews?>(nil)

  package init(_ address: RedisAddress) throws {
    let connections = RedisConnections(address)
    self.connections = connections
    warnings = try RedisCondition(connections).warnings
    // Before anything reads them. An app that is unreachable now follows when a worker joins.
    for app in (try? knownApps()) ?? [] where !connections.isUnreachable(Self.key(app)) {
      try? renameKeys(of: app)
    }
  }

  /// Only for reading.
  init(reading address: RedisAddress) {
    connections = RedisConnections(address)
    warnings = []
  }

  // MARK: Scripts

  static func keys(_ app: String) -> [String] {
    RedisScript.keys.map { "apns:{\(app)}:\($0)" }
  }

  /// A single key stands for all keys of an app, because they are on the same Redis.
  static func key(_ app: String) -> String { "apns:{\(app)}:in" }

  /// `arguments` adds the arguments after the keys.
  func run(
    _ script: RedisScript, app: String, isRepeatable: Bool = true,
    _ arguments: (inout RedisCommand) -> Void
  ) throws -> RedisReply {
    let byHash = Self.command("EVALSHA", script.hash, app: app, arguments)
    return try connections.use(Self.key(app), isRepeatable: isRepeatable) { connection in
      let reply = try connection.ask(byHash)
      guard case .error(let words) = reply else { return reply }
      guard words.hasPrefix("NOSCRIPT") else { throw connection.refusal(words) }
      return try connection.demand(Self.command("EVAL", script.text, app: app, arguments))
    }
  }

  static func command(
    _ name: String, _ script: String, app: String, _ arguments: (inout RedisCommand) -> Void
  ) -> RedisCommand {
    let keys = keys(app)
    var command = RedisCommand(name, script, "\(keys.count)")
    for key in keys { command.add(key) }
    arguments(&command)
    return command
  }

  func run(
    _ script: RedisScript, app: String, isRepeatable: Bool = true, _ words: String...
  ) throws -> RedisReply {
    try run(script, app: app, isRepeatable: isRepeatable) { for word in words { $0.add(word) } }
  }

  /// Converts a time to the clock of the app's Redis, which is the same for all relays. Differences
  /// under a second are ignored.
  func shared(_ time: Int64, _ app: String) throws -> Int64 {
    try connections.use(Self.key(app), isRepeatable: true) { time + (try $0.ahead()) }
  }

  func ask(_ commands: [RedisCommand]) throws -> [RedisReply] {
    try connections.each(commands).map { try $0.get() }
  }

  /// A sorted set's score as an integer; nil for other scores such as inf, which any program may
  /// have written.
  static func whole(_ score: String) -> Int64? {
    Double(score).flatMap { abs($0) <= 0x1p53 ? Int64($0) : nil }
  }

  // MARK: Entries

  package func hasEntries(app: String) throws -> Bool {
    // Entries stay in these until their end.
    let streams = ["in", "urgent", "bulk"].map { RedisCommand("XLEN", "apns:{\(app)}:\($0)") }
    return try ask(streams).contains { $0.number != 0 }
  }

  package func isAnythingThere(app: String, at now: Int64) throws -> Bool {
    try nextDue(app: app, lanes: Lane.allCases, at: now).map { $0 <= now } ?? false
  }

  package func nextDue(app: String, lanes: [Lane], at now: Int64) throws -> Int64? {
    let time = try shared(now, app)
    let reply = try run(
      .nextDue, app: app, "\(time)", lanes.map(\.rawValue).joined(separator: " "))
    guard let text = reply.text else { throw strange("next due") }
    return Self.whole(text).map { $0 - time + now }
  }

  package func watch(
    _ part: QueuePart, of app: String, _ tell: @escaping @Sendable () -> Void
  ) -> QueueNews.Watch? {
    guard part != .badTokens else { return nil }
    let watch = news.watch(part, of: app, tell)
    follower.withLock { follower in
      if follower == nil {
        follower = RedisNews(news)
        follower?.start(self)
      }
      follower?.wake()
    }
    return watch
  }

  package func bringBack(app: String, at now: Int64) throws -> Int {
    let time = try shared(now, app)
    return try count(run(.bringBack, app: app, "\(time)"), "bring back")
  }

  package func claim(
    _ workerID: WorkerID, lanes: [Lane], room: Int, inOrder: Bool, isFree: Bool, at now: Int64
  ) throws -> [Entry] {
    guard room > 0 else { return [] }
    let losses = connections.losses(of: Self.key(workerID.app))
    if held.isInDoubt(workerID, losses: losses) {
      try reconcile(workerID)
      held.agree(workerID, losses: losses)
    }
    let time = try shared(now, workerID.app)
    var claimed = ClaimedEntries()
    do {
      // Not retried automatically: the first attempt may already have claimed entries.
      let reply = try run(
        .claim, app: workerID.app, isRepeatable: false, "\(workerID.number)", "\(time)", "\(room)",
        inOrder ? "1" : "0", isFree ? "1" : "0", lanes.map(\.rawValue).joined(separator: " "),
        "\(held.number())")
      let parts = reply.list
      guard
        try parts.first?.withBytes({
          try claimed.read($0, parts.dropFirst(), app: workerID.app)
        }) != nil
      else { throw strange("claim") }
    } catch {
      // An unreadable reply may have claimed entries too.
      held.doubt(workerID)
      throw error is MessagePack.Reader.Fault ? strange("claim") : error
    }
    guard !claimed.entries.isEmpty else { return [] }
    for index in claimed.entries.indices { claimed.entries[index].made -= time - now }
    held.add(&claimed, of: workerID)
    return claimed.entries
  }

  private func reconcile(_ workerID: WorkerID) throws {
    let (number, places) = (held.number(), held.places(of: workerID))
    _ = try run(.reconcile, app: workerID.app) {
      $0.add(workerID.number)
      $0.add(number)
      for place in places { $0.add(place.text) }
    }
  }

  package func enqueue(_ entries: [NewEntry], at now: Int64) throws -> Int {
    for entry in entries {
      if let fault = entry.fault ?? entry.dueFault(at: now) { throw fault }
    }
    var count = 0
    for (app, entries) in Dictionary(grouping: entries, by: \.app) {
      try remember(app)
      let reply = try run(.enqueue, app: app) {
        for entry in entries { RedisEntry.add(entry, to: &$0) }
      }
      count += try self.count(reply, "enqueue")
    }
    return count
  }

  package func known(_ ids: [String], app: String) throws -> [String: KnownEntry] {
    let reply = try run(.known, app: app) { command in
      for id in ids {
        command.add(id)
        command.add(JSONLiteral.string(id))
      }
    }
    var all: [String: KnownEntry] = [:]
    for one in reply.list {
      let parts = one.list
      guard parts.count == 3, let id = parts[0].text, let json = parts[2].text else {
        throw strange("known")
      }
      let entry = RedisEntry.fields(of: parts[1].list)
      var known = KnownEntry(target: entry["token"] ?? entry["channel"])
      known.outcome = OutcomeList.read("[\(json)]").first
      all[id] = known
    }
    let gone = all.filter { $0.value.outcome?.httpStatus == 410 }
    let times = try ask(
      gone.map { RedisCommand("ZSCORE", "apns:{\(app)}:gone", $0.value.outcome?.token.text ?? "") })
    for (id, time) in zip(gone.keys, times) {
      all[id]?.outcome?.goneSince = time.text.flatMap { Self.whole($0) }
    }
    return all
  }

  // MARK: The rest

  package func depths(at now: Int64) throws -> [String: QueueDepth] {
    var all: [String: QueueDepth] = [:]
    for app in try knownApps() where !connections.isUnreachable(Self.key(app)) {
      let time = try shared(now, app)
      let reply = try run(.depths, app: app, "\(time)").list
      guard reply.count == 5 + 2 * Lane.allCases.count else { throw strange("depths") }
      var depth = QueueDepth()
      depth.deferred = reply[0].count ?? 0
      depth.claimed = reply[1].count ?? 0
      depth.dead = reply[2].count ?? 0
      depth.paused = reply[3].count ?? 0
      depth.paced = reply[4].count ?? 0
      for (place, lane) in Lane.allCases.enumerated() {
        guard let count = reply[5 + 2 * place].count, count > 0 else { continue }
        var waiting = QueueDepth.Waiting(count: count)
        let oldest = reply[6 + 2 * place].text?.drop(while: \.isLetter).prefix { $0 != "-" }
        if let made = oldest.flatMap({ Int64($0) }), made < time {
          waiting.ageS = Int((time - made) / 1000)
        }
        depth.waiting[lane] = waiting
      }
      all[app] = depth
    }
    return all
  }

  package func check() throws {
    // A write that expires immediately.
    _ = try ask(connections.keys("apns:check").map { RedisCommand("SET", $0, "1", "PX", "1") })
  }

  /// The number in a script's reply. Throws for any other reply.
  func count(_ reply: RedisReply, _ what: String) throws -> Int {
    guard let count = reply.count else { throw strange(what) }
    return count
  }

  func strange(_ what: String) -> RelayFault {
    RelayFault("\(connections.address.name): invalid reply to \(what): not a relay's queue")
  }
}
