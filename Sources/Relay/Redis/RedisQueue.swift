import Foundation
import JSON
import Synchronization

/// The queue in Redis Streams, for relays and producers on any number of machines. Each change is a
/// script, which Redis runs atomically.
package final class RedisQueue: QueueEngine {
  /// An entry held by a worker.
  private struct Held {
    var place: StreamPlace
    /// The positions that have an outcome in Redis, as far as this relay knows.
    var resolved: PositionSet
  }

  private struct WorkerStates {
    /// The held entries by their local numbers.
    var held: [WorkerID: [Int64: Held]] = [:]
    /// The last number of an entry or a call; they count up.
    var numbers: Int64 = 0
    /// Workers that may hold unknown entries, because a reply was lost.
    var doubtful: Set<WorkerID> = []
    /// `RedisConnections.losses` at the last moment when Redis and the worker agreed about its
    /// entries. After a crash, Redis may assign finished entries to the worker again.
    var losses: [WorkerID: Int] = [:]

    mutating func number() -> Int64 {
      numbers += 1
      return numbers
    }
  }

  private static let mostAttempts = 100

  /// When an app's Redis became reachable again.
  struct Return {
    /// `RedisConnections.outages` at that time.
    var outages = 0
    var since: Int64?
  }

  let connections: RedisConnections
  package let warnings: [String]
  private let states = Mutex(WorkerStates())
  private let returns = Mutex<[String: Return]>([:])
  let apps = Mutex(KnownApps())
  let news = QueueNews()
  /// nil before anyone watches.
  private let follower = Mutex<RedisNews?>(nil)

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
    func command(_ name: String, _ text: String) -> RedisCommand {
      let keys = Self.keys(app)
      var command = RedisCommand(name, text, "\(keys.count)")
      for key in keys { command.add(key) }
      arguments(&command)
      return command
    }
    let byHash = command("EVALSHA", script.hash)
    return try connections.use(Self.key(app), isRepeatable: isRepeatable) { connection in
      let reply = try connection.ask(byHash)
      guard case .error(let words) = reply else { return reply }
      guard words.hasPrefix("NOSCRIPT") else { throw connection.refusal(words) }
      return try connection.demand(command("EVAL", script.text))
    }
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

  // MARK: Workers

  package func join(app: String, named name: String, at now: Int64) throws -> WorkerID {
    try remember(app)
    let time = try shared(now, app)
    let reply = try run(.join, app: app, "\(time) \(ProcessMark.own) \(name)", "\(time)")
    guard let number = reply.number else { throw strange("join") }
    let workerID = WorkerID(number: number, app: app)
    states.withLock { $0.losses[workerID] = connections.losses(of: Self.key(app)) }
    return workerID
  }

  package func renew(_ workerID: WorkerID, at now: Int64) throws -> Bool {
    let time = try shared(now, workerID.app)
    let reply = try run(.renew, app: workerID.app, "\(workerID.number)", "\(time)")
    switch reply.number {
    case 1: return true
    case 0: break
    default: throw strange("renew")
    }
    forget(workerID)
    return false
  }

  package func knows(_ workerID: WorkerID) throws -> Bool {
    try ask([RedisCommand("HEXISTS", "apns:{\(workerID.app)}:workers", "\(workerID.number)")])[0]
      .number
      == 1
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
    guard let count = try run(.bringBack, app: app, "\(time)").count else {
      throw strange("bring back")
    }
    return count
  }

  package func leave(_ workerID: WorkerID, line: String, at now: Int64) throws {
    _ = try release(
      workerID, saidLast: "", isAlone: false, at: now,
      "\(TimeText.of(now)) \(line)")
    forget(workerID)
  }

  private func forget(_ workerID: WorkerID) {
    states.withLock {
      $0.held[workerID] = nil
      $0.doubtful.remove(workerID)
      $0.losses[workerID] = nil
    }
  }

  package func reclaim(silentSince: Int64, at now: Int64) throws -> Int {
    let apps = try knownApps().filter { !connections.isUnreachable(Self.key($0)) }
    let replies = connections.each(apps.map { RedisCommand("HGETALL", "apns:{\($0)}:workers") })
    var (count, fault): (Int, (any Error)?) = (0, nil)
    var heard = 0
    var processes = Processes()
    for (app, reply) in zip(apps, replies) {
      for worker in (try? reply.get().pairs) ?? [] { processes.note(worker, app: app) }
    }
    for (app, reply) in zip(apps, replies) {
      do {
        count += try reclaim(app, reply.get().pairs, &processes, silentSince, now)
        heard += 1
      } catch {
        fault = error
      }
    }
    // Part of a cluster may be unreachable, which the workers of its apps report.
    if heard == 0, let fault { throw fault }
    return count
  }

  private func reclaim(
    _ app: String, _ workers: [(name: String, value: String)], _ processes: inout Processes,
    _ silentSince: Int64, _ now: Int64
  ) throws -> Int {
    var limit = try shared(silentSince, app)
    let outages = connections.outages(of: Self.key(app))
    let backSince = returns.withLock { returns in
      if returns[app, default: Return()].outages != outages {
        returns[app] = Return(outages: outages, since: now)
      }
      return returns[app]?.since
    }
    // After an outage every worker looks silent. Give live workers a full lease to renew before
    // reclaiming.
    if let backSince, silentSince < backSince, backSince <= now { limit = .min }
    var count = 0
    for (number, said) in workers {
      let parts = said.split(separator: " ", maxSplits: 2)
      guard parts.count == 3, let number = Int64(number), let heard = Int64(parts[0])
      else { continue }
      let mark = String(parts[1])
      let isDead = ProcessMark.isDead(mark)
      if !isDead, mark != ProcessMark.own, let process = ProcessMark.process(mark) {
        follower.withLock { $0?.follow(process) }
      }
      guard isDead || heard < limit else { continue }
      count += try release(
        WorkerID(number: number, app: app), saidLast: said,
        isAlone: processes.holding(parts[1...], of: self) <= 1, at: now,
        "\(TimeText.of(now)) worker \(number) (\(parts[2])) "
          + "\(isDead ? "died" : "fell silent") with it")
    }
    return count
  }

  /// Groups workers by process: a process has a worker for each app, and all of them end with it.
  private struct Processes {
    private var workers: [ArraySlice<Substring>: [(app: String, number: String)]] = [:]
    private var counts: [ArraySlice<Substring>: Int] = [:]

    mutating func note(_ worker: (name: String, value: String), app: String) {
      let parts = worker.value.split(separator: " ", maxSplits: 2)
      guard parts.count == 3 else { return }
      workers[parts[1...], default: []].append((app, worker.name))
    }

    /// The number of the process's workers that held entries before any was reclaimed.
    mutating func holding(_ process: ArraySlice<Substring>, of queue: RedisQueue) -> Int {
      if let count = counts[process] { return count }
      let own = workers[process] ?? []
      let streams = ["in", "urgent", "bulk"]
      let replies = queue.connections.each(
        own.flatMap { worker in
          streams.map {
            RedisCommand(
              "XPENDING", "apns:{\(worker.app)}:\($0)", "relay", "-", "+", "1", worker.number)
          }
        })
      let count = stride(from: 0, to: replies.count, by: streams.count).count { first in
        replies[first..<first + streams.count].contains { (try? $0.get().list.isEmpty) == false }
      }
      counts[process] = count
      return count
    }
  }

  private func release(
    _ workerID: WorkerID, saidLast: String, isAlone: Bool, at now: Int64, _ line: String
  ) throws -> Int {
    let time = try shared(now, workerID.app)
    let reply = try run(
      .release, app: workerID.app, "\(workerID.number)", saidLast, line, isAlone ? "1" : "0",
      "\(time)")
    guard let count = reply.count else { throw strange("release") }
    return count
  }

  // MARK: Entries

  package func claim(
    _ workerID: WorkerID, lanes: [Lane], room: Int, inOrder: Bool, isFree: Bool, at now: Int64
  ) throws -> [Entry] {
    guard room > 0 else { return [] }
    let losses = connections.losses(of: Self.key(workerID.app))
    if states.withLock({
      $0.doubtful.contains(workerID) || $0.losses[workerID, default: 0] != losses
    }) {
      try reconcile(workerID)
      states.withLock { $0.losses[workerID] = losses }
    }
    let time = try shared(now, workerID.app)
    var claimed = ClaimedEntries()
    do {
      // Not retried automatically: the first attempt may already have claimed entries.
      let reply = try run(
        .claim, app: workerID.app, isRepeatable: false, "\(workerID.number)", "\(time)", "\(room)",
        inOrder ? "1" : "0", isFree ? "1" : "0", lanes.map(\.rawValue).joined(separator: " "),
        "\(states.withLock { $0.number() })")
      let parts = reply.list
      guard
        try parts.first?.withBytes({
          try claimed.read($0, parts.dropFirst(), app: workerID.app)
        }) != nil
      else { throw strange("claim") }
    } catch {
      // An unreadable reply may have claimed entries too.
      _ = states.withLock { $0.doubtful.insert(workerID) }
      throw error is MessagePack.Reader.Fault ? strange("claim") : error
    }
    guard !claimed.entries.isEmpty else { return [] }
    states.withLock { states in
      var held = states.held.removeValue(forKey: workerID) ?? [:]
      for index in claimed.entries.indices {
        let number = states.number()
        claimed.entries[index].number = number
        claimed.entries[index].made -= time - now
        held[number] = Held(
          place: claimed.places[index], resolved: claimed.entries[index].resolved)
      }
      states.held[workerID] = held
    }
    return claimed.entries
  }

  private func reconcile(_ workerID: WorkerID) throws {
    let (number, places) = states.withLock {
      ($0.number(), $0.held[workerID]?.values.map(\.place) ?? [])
    }
    _ = try run(.reconcile, app: workerID.app) {
      $0.add(workerID.number)
      $0.add(number)
      for place in places { $0.add(place.text) }
    }
    _ = states.withLock { $0.doubtful.remove(workerID) }
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
      guard let added = reply.count else { throw strange("enqueue") }
      count += added
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

  // MARK: Outcomes

  package func record(_ updates: [EntryUpdate], by workerID: WorkerID, at now: Int64) throws {
    let ahead = try shared(0, workerID.app)
    var rest = updates
    var known: [RecordedBatch.Known] = states.withLock { states in
      let held = states.held[workerID] ?? [:]
      return updates.indices.map {
        RecordedBatch.Known(held[updates[$0].number]?.resolved ?? [])
      }
    }
    var attempts = 0
    while true {
      let batch = RecordedBatch(rest, known, ahead: ahead, at: now)
      let reply = try run(.record, app: workerID.app) { command in
        command.add(workerID.number)
        command.add(now)
        command.add(batch.bytes)
        for record in batch.records { command.add(record) }
      }
      // An empty list means success.
      guard case .list(let behind) = reply, behind.count % 2 == 0 else { throw strange("record") }
      if behind.isEmpty { break }
      // Each attempt fails only if other relays have recorded more outcomes of these entries.
      attempts += 1
      guard attempts < Self.mostAttempts else { throw strange("record") }
      // Other relays have recorded some of these outcomes, or Redis has lost some; no update was
      // made.
      for index in stride(from: 0, to: behind.count - 1, by: 2) {
        guard let number = behind[index].count, batch.order.indices.contains(number - 1),
          let text = behind[index + 1].text
        else { throw strange("record") }
        let place = batch.order[number - 1]
        if text == "-" {
          rest[place].dropOrders()
          continue
        }
        let believed = known[place]
        known[place] = RecordedBatch.Known(text: text)
        rest[place].outcomes.removeAll { known[place].has($0.position) }
        // After a crash, Redis may have lost outcomes that it had confirmed. Their notifications
        // are unresolved again, so the entry is not finished but redelivered for them.
        if known[place].lacks(someOf: believed), rest[place].disposition.isEnd {
          rest[place].disposition = .deferred(
            at: now, isRequested: false, line: "the queue has lost outcomes of it")
        }
      }
    }
    states.withLock { states in
      guard var held = states.held.removeValue(forKey: workerID) else { return }
      defer { states.held[workerID] = held }
      for place in updates.indices {
        let number = updates[place].number
        if updates[place].disposition != .held {
          held[number] = nil
        } else if var one = held[number] {
          updates[place].forEachOutcome { one.resolved.insert($0.pointee.position) }
          held[number] = one
        }
      }
    }
  }

  package func trim(before: Int64) throws -> Int {
    var total = 0
    for app in try knownApps() where !connections.isUnreachable(Self.key(app)) {
      var from = "-"
      while true {
        // In parts, so that other clients are served in between.
        let reply = try run(.trim, app: app, "\(before)", from).list
        guard reply.count == 2, let count = reply[0].count, let last = reply[1].text,
          from != "(\(last)"
        else { throw strange("trim") }
        total += count
        if last.isEmpty { break }
        from = "(\(last)"
      }
      _ = try run(.trimCampaigns, app: app, "\(before)")
    }
    return total
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

  func strange(_ what: String) -> RelayFault {
    RelayFault("\(connections.address.name): invalid reply to \(what): not a relay's queue")
  }
}
