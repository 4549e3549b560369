import Foundation
import Synchronization

@testable import Relay

/// A queue in this process's memory. It keeps every rule of a queue except that it survives
/// kill -9.
final class MemoryQueue: QueueEngine {
  /// A call of a worker.
  enum Call: Equatable {
    case heartbeat
    case look(isAnythingThere: Bool)
  }

  /// How often IDs were looked up.
  let lookups = Atomic(0)
  /// Only tests tell of changes.
  let news = QueueNews()
  /// Called at the end of each of these calls.
  let called = Mutex<(@Sendable (Call) -> Void)?>(nil)

  private struct Row {
    var number: Int64
    var content: NewEntry
    var made: Int64
    var worker: Int64?
    /// 0 for an entry that was never deferred.
    var due: Int64 = 0
    var deliveries = 0
    var deferrals = 0
    var crashes = 0
    var history: [String] = []
    /// When it became a dead letter.
    var diedAt: Int64 = 0
    /// Its producer has set `due`, and no worker had it yet.
    var isScheduled = false
    /// It was found behind an earlier entry for one of its devices.
    var isBlocked = false

    var lines: Set<String> {
      EntryTargets.lines(
        token: content.token, tokens: content.tokens, channel: content.channel, lane: content.lane)
    }
  }

  private struct Worker {
    var app: String
    var name: String
    var heard: Int64
    var heldConnections = 0
    var wants: ConnectionQuotas.Want?
  }

  private struct Recorded {
    var number: Int64
    var app: String
    var id: String
    var outcome: PushOutcome
    var deliveries: Int
    var at: Int64
    var traceparent: String?
  }

  private struct State {
    var last: Int64 = 0
    /// By number.
    var rows: [Row] = []
    var dead: [Row] = []
    /// When a gone device was recorded last.
    var gone: [[String]: Int64] = [:]
    var workers: [Int64: Worker] = [:]
    var outcomes: [Recorded] = []
    var campaigns: [String: [String: CampaignOutcomes]] = [:]
    /// App and ID of everything that the queue knows.
    var ids: Set<[String]> = []
    var badTokens: [(app: String, token: BadToken)] = []
    var feedback: [String: [String: Int64]] = [:]
    var values: [[String]: String] = [:]
    /// By app and name.
    var readers: [[String]: String] = [:]
    var tokens: [[String]: SharedToken] = [:]
    var makers: [[String]: (number: Int64, until: Int64)] = [:]

    mutating func next() -> Int64 {
      last += 1
      return last
    }

    func index(_ number: Int64) -> Int? { rows.firstIndex { $0.number == number } }

    mutating func change(_ worker: Int64, _ act: (inout Row) -> Void) -> Int {
      var count = 0
      for index in rows.indices where rows[index].worker == worker {
        act(&rows[index])
        count += 1
      }
      return count
    }

    mutating func release(
      _ worker: Int64, isAlone: Bool, at now: Int64, _ line: String
    ) -> Int {
      let isToBlame =
        isAlone
        && !rows.contains { row in
          row.worker == worker
            && outcomes.contains {
              ($0.app, $0.id, $0.deliveries) == (row.content.app, row.content.id, row.deliveries)
            }
        }
      workers[worker] = nil
      return change(worker) { row in
        if isToBlame {
          let pauseMS = CrashGroup.pauseMS(alone: row.deliveries - row.deferrals - row.crashes)
          if pauseMS > 0 { row.due = ParkedTime.of(now + pauseMS, isGuess: false) }
        } else {
          row.crashes += 1
        }
        row.worker = nil
        row.history.append("\(TimeText.of(now)) \(line)")
      }
    }

    mutating func recordBad(_ device: GoneToken, _ app: String, at now: Int64) {
      badTokens.removeAll { $0.app == app && $0.token.token == device.token }
      badTokens.append((app, BadToken(number: next(), token: device.token, at: now)))
      feedback[app, default: [:]][device.token] = max(
        feedback[app]?[device.token] ?? 0, device.since)
    }
  }

  private let state = Mutex(State())

  // MARK: Workers

  func join(app: String, named name: String, at now: Int64) -> WorkerID {
    state.withLock { state in
      let number = state.next()
      state.workers[number] = Worker(app: app, name: name, heard: now)
      return WorkerID(number: number, app: app)
    }
  }

  func renew(_ workerID: WorkerID, at now: Int64) -> Bool {
    state.withLock { state in
      state.workers[workerID.number]?.heard = now
      return state.workers[workerID.number] != nil
    }
  }

  func leave(_ workerID: WorkerID, line: String, at now: Int64) {
    _ = state.withLock { $0.release(workerID.number, isAlone: false, at: now, line) }
  }

  func knows(_ workerID: WorkerID) -> Bool {
    state.withLock { $0.workers[workerID.number] != nil }
  }

  func watch(
    _ part: QueuePart, of app: String, _ tell: @escaping @Sendable () -> Void
  ) -> QueueNews.Watch? { news.watch(part, of: app, tell) }

  private func note(_ call: Call) { called.withLock { $0 }?(call) }

  func reclaim(silentSince: Int64, at now: Int64) -> Int {
    defer { note(.heartbeat) }
    return state.withLock { state in
      var together: [String: Int] = [:]
      for row in state.rows {
        if let name = row.worker.flatMap({ state.workers[$0]?.name }) {
          together[name, default: 0] += 1
        }
      }
      return state.workers.filter { $0.value.heard < silentSince }.reduce(0) {
        $0
          + state.release(
            $1.key, isAlone: together[$1.value.name] == 1, at: now,
            "worker \($1.key) (\($1.value.name)) fell silent with it")
      }
    }
  }

  // MARK: Entries

  func enqueue(_ entries: [NewEntry], at now: Int64) throws -> Int {
    if let fault = entries.lazy.compactMap({ $0.fault ?? $0.dueFault(at: now) }).first {
      throw fault
    }
    return state.withLock { state in
      entries.count { entry in
        guard state.ids.insert([entry.app, entry.id]).inserted else { return false }
        var content = entry
        content.due = nil
        state.rows.append(
          Row(
            number: state.next(), content: content, made: max(now, entry.due ?? 0),
            due: entry.due ?? 0,
            isScheduled: entry.due != nil))
        return true
      }
    }
  }

  func claim(
    _ workerID: WorkerID, lanes: [Lane], room: Int, inOrder: Bool, isFree: Bool, at now: Int64
  ) -> [Entry] {
    state.withLock { state in
      guard state.workers[workerID.number] != nil else { return [] }
      let own = state.rows.filter { $0.content.app == workerID.app }
      var firsts: [String: Int64] = [:]
      if inOrder || own.contains(where: \.isBlocked) {
        for row in own.reversed() where !row.isScheduled || row.due <= now {
          for line in row.lines { firsts[line] = row.number }
        }
      }
      var left = room
      var taken: [Row] = []
      func take(_ rows: [Row], areSuspects: Bool = false) {
        for row in rows where left > 0 {
          if areSuspects, taken.count >= CrashGroup.most(after: row.crashes) { break }
          let weight =
            row.content.tokens.map { max(1, min(NewEntry.mostTokens, $0.utf8.count / 67)) } ?? 1
          if weight > left, !taken.isEmpty { break }
          if inOrder || row.isBlocked, row.lines.contains(where: { firsts[$0] != row.number }) {
            state.rows[state.index(row.number)!].isBlocked = true
            continue
          }
          left -= weight
          taken.append(row)
        }
      }
      let free = own.filter { $0.worker == nil && $0.due <= now }
      let suspects = free.filter { $0.crashes >= CrashGroup.apart }
      if !suspects.isEmpty, !isFree { return [] }
      take(suspects.sorted { ($0.crashes, $0.number) < ($1.crashes, $1.number) }, areSuspects: true)
      if taken.isEmpty {
        for lane in lanes {
          let own = free.filter { $0.content.lane == lane }
          take(own.filter { $0.due > 0 }.sorted { ($0.due, $0.number) < ($1.due, $1.number) })
          take(own.filter { $0.due == 0 })
        }
      }
      return taken.map { row in
        let index = state.index(row.number)!
        state.rows[index].worker = workerID.number
        state.rows[index].isScheduled = false
        state.rows[index].deliveries += 1
        var resolved = PositionSet()
        if row.content.tokens != nil {
          for one in state.outcomes where one.app == row.content.app && one.id == row.content.id {
            resolved.insert(one.outcome.position)
          }
        }
        return Entry(
          number: row.number, content: row.content, deliveries: row.deliveries + 1,
          deferrals: row.deferrals, crashes: row.crashes, made: row.made, resolved: resolved)
      }
    }
  }

  func hasEntries(app: String) -> Bool {
    state.withLock { $0.rows.contains { $0.content.app == app } }
  }

  func isAnythingThere(app: String, at now: Int64) -> Bool {
    let isThere = state.withLock { state in
      state.rows.contains { $0.content.app == app && $0.worker == nil && $0.due <= now }
    }
    note(.look(isAnythingThere: isThere))
    return isThere
  }

  func nextDue(app: String, lanes: [Lane], at now: Int64) -> Int64? {
    state.withLock { state in
      state.rows.filter {
        $0.content.app == app && lanes.contains($0.content.lane) && $0.worker == nil
          && $0.due < PausedTime.due
      }.map(\.due).min()
    }
  }

  func bringBack(app: String, at now: Int64) -> Int {
    state.withLock { state in
      var count = 0
      for (index, row) in state.rows.enumerated()
      where row.content.app == app && row.worker == nil && row.due > now && row.due % 1000 == 999
        && row.deferrals > 0
      {
        state.rows[index].due = 1
        count += 1
      }
      return count
    }
  }

  func known(_ ids: [String], app: String) -> [String: KnownEntry] {
    lookups.add(1, ordering: .relaxed)
    return state.withLock { state in
      var all: [String: KnownEntry] = [:]
      for id in ids {
        let recorded = state.outcomes.first {
          ($0.app, $0.id, $0.outcome.position) == (app, id, 0)
        }
        if var outcome = recorded?.outcome {
          outcome.badSince = nil
          all[id] = KnownEntry(outcome: outcome)
        } else if let row = state.rows.first(where: { ($0.content.app, $0.content.id) == (app, id) }
        ) {
          all[id] = KnownEntry(target: row.content.token ?? row.content.channel)
        }
      }
      return all
    }
  }

  // MARK: Outcomes

  func record(_ updates: [EntryUpdate], by workerID: WorkerID, at now: Int64) {
    state.withLock { state in
      for var update in updates {
        func isHeld(_ row: Row) -> Bool {
          (row.number, row.worker, row.deliveries)
            == (update.number, workerID.number, update.deliveries)
        }
        if update.isByOrder, !state.rows.contains(where: isHeld) { update.dropOrders() }
        for outcome in update.outcomes {
          let isKnown = state.outcomes.contains {
            ($0.app, $0.id, $0.outcome.position) == (update.app, update.id, outcome.position)
          }
          if !isKnown {
            state.outcomes.append(
              Recorded(
                number: state.next(), app: update.app, id: update.id, outcome: outcome,
                deliveries: update.deliveries,
                at: now, traceparent: update.traceparent))
            if let campaign = update.campaign {
              var all = state.campaigns[update.app] ?? [:]
              outcome.forEachCount { all[campaign, default: CampaignOutcomes()].add($0, 1) }
              all[campaign]?.changed = now
              state.campaigns[update.app] = all
            }
          }
          if outcome.goneSince != nil {
            state.gone[[update.app, outcome.token.text]] = now
          }
          if let since = outcome.badSince {
            let device = GoneToken(token: outcome.token.text, since: since)
            state.recordBad(device, update.app, at: now)
          }
        }
        if update.disposition == .finished {
          state.rows.removeAll { $0.number == update.number }
        }
        guard let index = state.rows.firstIndex(where: isHeld) else { continue }
        switch update.disposition {
        case .held, .finished: continue
        case .deferred(let due, let isRequested, let line):
          state.rows[index].due = max(1, due)
          state.rows[index].deferrals += isRequested ? 1 : 0
          state.rows[index].history.append("\(TimeText.of(now)) \(line)")
        case .released(let due):
          state.rows[index].due = due ?? state.rows[index].due
          state.rows[index].deliveries -= 1
        case .dead(let line):
          var row = state.rows.remove(at: index)
          row.history.append("\(TimeText.of(now)) \(line)")
          row.diedAt = now
          state.dead.append(row)
          continue
        }
        state.rows[index].worker = nil
      }
    }
  }

  func trim(before: Int64) -> Int {
    state.withLock { state in
      let waiting = Set((state.rows + state.dead).map { [$0.content.app, $0.content.id] })
      let read = state.readers.values.compactMap { Int64($0) }.min() ?? .max
      let old = state.outcomes.filter {
        $0.at < before && $0.number <= read && !waiting.contains([$0.app, $0.id])
      }
      let gone = Set(old.map(\.number))
      state.outcomes.removeAll { gone.contains($0.number) }
      for one in old { state.ids.remove([one.app, one.id]) }
      for (app, all) in state.campaigns {
        state.campaigns[app] = all.filter { $0.value.changed >= before }
      }
      return old.count
    }
  }

  func depths(at now: Int64) -> [String: QueueDepth] {
    state.withLock { state in
      var all: [String: QueueDepth] = [:]
      for row in state.dead { all[row.content.app, default: QueueDepth()].dead += 1 }
      for row in state.rows {
        var depth = all[row.content.app] ?? QueueDepth()
        switch (row.worker, row.due) {
        case (_?, _): depth.claimed += 1
        case (nil, 0):
          let age = QueueDepth.Waiting(ageS: Int((now - row.made) / 1000))
          depth.waiting[row.content.lane, default: age].count += 1
        case (nil, PausedTime.due): depth.paused += 1
        case (nil, let due) where PacedTime.times.contains(due): depth.paced += 1
        default: depth.deferred += 1
        }
        all[row.content.app] = depth
      }
      return all
    }
  }

  // MARK: Campaigns

  func campaignOutcomes(app: String) -> [String: CampaignOutcomes] {
    state.withLock { $0.campaigns[app] ?? [:] }
  }

  private static func isChosen(_ content: NewEntry, _ choice: EntryChoice) -> Bool {
    switch choice {
    case .campaign(let campaign): content.campaign == campaign
    case .campaigns: content.campaign != nil
    case .all: true
    case .id(let id): content.id == id
    }
  }

  func left(_ choice: EntryChoice, app: String) -> [String: EntriesLeft] {
    state.withLock { state in
      var all: [String: EntriesLeft] = [:]
      for row in state.rows where row.content.app == app && Self.isChosen(row.content, choice) {
        let resolved = state.outcomes.count { ($0.app, $0.id) == (app, row.content.id) }
        let devices = ((try? EntryTargets(row.content).count) ?? 1) - resolved
        let place = row.worker == nil ? \EntriesLeft.waiting : \EntriesLeft.held
        all[row.content.campaign ?? "", default: EntriesLeft()][keyPath: place].entries += 1
        all[row.content.campaign ?? ""]?[keyPath: place].devices += max(1, devices)
        if case .id = choice, row.worker == nil { all[row.content.campaign ?? ""]?.due = row.due }
      }
      return all
    }
  }

  func advance(
    app: String, cancelled: [EntryChoice], paused: Set<String>, at now: Int64
  ) -> Int {
    state.withLock { state in
      var count = 0
      for (index, row) in state.rows.enumerated()
      where row.content.app == app && row.worker == nil && row.due > 1 {
        let isPaused = row.due == PausedTime.due && !paused.contains(row.content.campaign ?? "")
        guard isPaused || cancelled.contains(where: { Self.isChosen(row.content, $0) }) else {
          continue
        }
        state.rows[index].due = 1
        count += 1
      }
      return count
    }
  }

  func advance(limited campaign: String, app: String, lanes: [Lane], upTo count: Int) -> Int {
    state.withLock { state in
      let places = lanes.flatMap { lane in
        state.rows.indices.filter { index in
          let row = state.rows[index]
          return row.content.app == app && row.content.lane == lane && row.worker == nil
            && row.due == PacedTime.of(campaign)
        }
      }.prefix(count)
      for place in places { state.rows[place].due = 1 }
      return places.count
    }
  }

  func advance(app: String, exceptLimited limited: Set<String>) -> Int {
    state.withLock { state in
      let times = limited.map(PacedTime.of)
      let places = state.rows.indices.filter { index in
        let row = state.rows[index]
        return row.content.app == app && row.worker == nil && PacedTime.times.contains(row.due)
          && !times.contains(row.due)
      }
      for place in places { state.rows[place].due = 1 }
      return places.count
    }
  }

  func workers(app: String, at now: Int64) -> [RegisteredWorker] {
    state.withLock { state in
      state.workers.filter { $0.value.app == app }.sorted { $0.key < $1.key }.map {
        RegisteredWorker(
          number: $0.key, name: $0.value.name, silentMS: now - $0.value.heard, isRunning: true,
          connections: nil)
      }
    }
  }

  // MARK: Tokens and values

  func badTokens(app: String, after number: Int64, most: Int) -> [BadToken] {
    state.withLock { state in
      let later = state.badTokens.lazy.filter { $0.app == app && $0.token.number > number }
      return later.prefix(most).map(\.token)
    }
  }

  func recordBadTokens(_ devices: [GoneToken], app: String, at now: Int64) {
    state.withLock { state in for device in devices { state.recordBad(device, app, at: now) } }
  }

  func forgetBadTokens(before: Int64) -> Int {
    state.withLock { state in
      let count = state.badTokens.count
      state.badTokens.removeAll { $0.token.at < before }
      return count - state.badTokens.count
    }
  }

  func feedback(app: String, most: Int) -> [GoneToken] {
    let all = state.withLock { $0.feedback[app] ?? [:] }
    return all.map { GoneToken(token: $0, since: $1) }
      .sorted { ($0.since, $0.token) < ($1.since, $1.token) }.prefix(most).map { $0 }
  }

  func forgetFeedback(_ told: [GoneToken], app: String) {
    state.withLock { state in
      for device in told where state.feedback[app]?[device.token] ?? .max <= device.since {
        state.feedback[app]?[device.token] = nil
      }
    }
  }

  func lastResponses(app: String, most: Int) -> [RecordedResponse] {
    state.withLock { state in
      state.outcomes.filter { $0.app == app && $0.outcome.httpStatus > 0 }.suffix(most).map {
        RecordedResponse(httpStatus: $0.outcome.httpStatus, reason: $0.outcome.reason)
      }
    }
  }

  func appState(_ name: String, app: String) -> String? {
    state.withLock { $0.values[[app, name]] }
  }

  func setAppState(_ name: String, _ text: String?, app: String) {
    state.withLock { $0.values[[app, name]] = text }
  }

  func replaceAppState(_ name: String, _ old: String?, by text: String, app: String) -> Bool {
    state.withLock { state in
      guard state.values[[app, name]] == old else { return false }
      state.values[[app, name]] = text
      return true
    }
  }

  func reader(_ name: String, app: String) -> String? {
    state.withLock { $0.readers[[app, name]] }
  }

  func moveReader(_ name: String, app: String, from old: String?, to number: String?) -> Bool {
    state.withLock { state in
      guard state.readers[[app, name]] == old else { return false }
      state.readers[[app, name]] = number
      return true
    }
  }

  func lastOutcome(app: String) -> String {
    state.withLock { "\($0.outcomes.map(\.number).max() ?? 0)" }
  }

  func leaseConnections(
    _ workerID: WorkerID, held: Int, wanted: Int, isNeeded: Bool, of most: Int
  ) -> Int? {
    state.withLock { state in
      guard state.workers[workerID.number] != nil else { return nil }
      state.workers[workerID.number]?.wants = ConnectionQuotas.Want(
        worker: workerID.number, count: wanted, isNeeded: isNeeded)
      let fleet = state.workers.filter { $0.value.app == workerID.app }
      let others = fleet.reduce(0) {
        $0 + ($1.key == workerID.number ? 0 : $1.value.heldConnections)
      }
      let quotas = ConnectionQuotas(fleet.values.compactMap(\.wants), of: most)
      let quota = min(quotas.quota(of: workerID.number), max(0, most - others))
      state.workers[workerID.number]?.heldConnections = max(held, quota)
      return quota
    }
  }

  func providerToken(
    team: String, key: String, madeAfter oldest: Int64, at now: Int64, within makingMS: Int64,
    make: () throws -> SharedToken
  ) throws -> SharedToken {
    let name = [team, key]
    let began = RelayClock.monotonic
    while RelayClock.monotonic <= began + 2 * makingMS {
      let time = RelayClock.monotonic
      let (token, own) = state.withLock { state -> (SharedToken?, Int64?) in
        if let token = state.tokens[name], token.isFresh(after: oldest, at: now + time - began) {
          return (token, nil)
        }
        if let maker = state.makers[name], maker.until > time { return (nil, nil) }
        let number = state.next()
        state.makers[name] = (number, time + makingMS)
        return (nil, number)
      }
      if let token { return token }
      guard let own else {
        usleep(20_000)
        continue
      }
      let made = Result { try make() }
      let isStored = state.withLock { state in
        guard state.makers[name]?.number == own else { return false }
        state.makers[name] = nil
        state.tokens[name] = (try? made.get()) ?? state.tokens[name]
        return true
      }
      let result = try made.get()
      if isStored { return result }
    }
    throw RelayFault(
      "another relay has been making the provider token for \(2 * makingMS / 1000) s")
  }

  // MARK: Dead letters

  func outcomes(_ filter: OutcomeFilter, app: String, after number: String) -> OutcomePage {
    state.withLock { state in
      let later = state.outcomes.filter { $0.number > Int64(number) ?? 0 }
      let part = later.prefix(3)
      let rows = part.filter { $0.app == app && filter.takes($0.id, $0.outcome) }.map { one in
        OutcomeRow(
          number: "\(one.number)", id: one.id, deliveries: one.deliveries, at: one.at,
          outcome: one.outcome, traceparent: one.traceparent)
      }
      return OutcomePage(
        rows: rows, last: part.last.map { "\($0.number)" } ?? number,
        isEnd: part.count == later.count)
    }
  }

  func deadLetters(app: String, ids: Set<String>, after number: String, most: Int) -> [DeadLetter] {
    state.withLock { state in
      state.dead.filter { row in
        row.content.app == app && row.number > Int64(number) ?? 0
          && (ids.isEmpty || ids.contains(row.content.id))
      }.sorted { $0.number < $1.number }.prefix(most).map { row in
        DeadLetter(
          number: "\(row.number)", id: row.content.id, lane: row.content.lane,
          deliveries: row.deliveries, history: row.history.joined(separator: "\n"), at: row.diedAt,
          devices: state.outcomes.count {
            ($0.app, $0.id, $0.outcome.kind) == (app, row.content.id, .dead)
          })
      }
    }
  }

  func retry(_ letters: [DeadLetter], app: String, at now: Int64) -> [String: Int] {
    let found = deadLetters(app: app, ids: [], after: "0", most: .max)
    return state.withLock { state in
      var given: [String: Int] = [:]
      for letter in letters {
        guard let one = found.first(where: { $0.number == letter.number }), one.devices > 0,
          let index = state.dead.firstIndex(where: { "\($0.number)" == letter.number })
        else { continue }
        var row = state.dead.remove(at: index)
        row = Row(
          number: state.next(), content: row.content, made: now,
          history: row.history + ["\(TimeText.of(now)) \(DeadLetter.givenBack)"])
        state.rows.append(row)
        state.outcomes.removeAll {
          ($0.app, $0.id, $0.outcome.kind) == (app, row.content.id, .dead)
        }
        if let campaign = row.content.campaign {
          state.campaigns[app]?[campaign]?.counts[.dead]? -= one.devices
        }
        given[letter.number] = one.devices
      }
      return given
    }
  }

  func discard(_ letters: [DeadLetter], app: String) -> Int {
    let numbers = Set(letters.map(\.number))
    return state.withLock { state in
      let count = state.dead.count
      state.dead.removeAll { $0.content.app == app && numbers.contains("\($0.number)") }
      return count - state.dead.count
    }
  }

  func trimDeadLetters(before: Int64) -> Int {
    state.withLock { state in
      let count = state.dead.count
      state.dead.removeAll { $0.diedAt < before }
      return count - state.dead.count
    }
  }

  func trimGone(before: Int64, at now: Int64) -> Int {
    state.withLock { state in
      let count = state.gone.count
      state.gone = state.gone.filter { $0.value >= before }
      return count - state.gone.count
    }
  }

  func check() {}

  // MARK: For the tests

  var ends: [String] {
    state.withLock { state in
      state.outcomes.map { "\($0.id)/\($0.outcome.position) \($0.outcome.kind.rawValue)" }
    }
  }

  var gone: [String] { state.withLock { $0.gone.keys.map { $0[1] }.sorted() } }

  var laneOfTheDead: String? { state.withLock { $0.dead.first?.content.lane.rawValue } }

  func history(of id: String) -> String {
    state.withLock { state in
      (state.dead.first { $0.content.id == id }?.history ?? []).joined(separator: "\n")
    }
  }
}
