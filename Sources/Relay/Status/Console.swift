import Foundation
import Logging

/// The page of a running relay: its files, what it shows, and what it does.
final class Console: Sendable {
  typealias Apps = [(app: String, figures: WorkerFigures)]
  typealias Webhooks = [String: WebhookFigures]

  static let state = "/status.json"

  /// The queue's figures about an app, without a count of its entries.
  struct Facts: Sendable {
    var orders = Orders()
    var outcomes: [String: CampaignOutcomes] = [:]
    var workers: [RegisteredWorker] = []
    var letters: [DeadLetter] = []
    var depth = QueueDepth()
    /// The first outcomes that no relay has told the webhook.
    var untold: OutcomePage?
  }

  /// The devices without an outcome by campaign, and the outcomes at that time.
  struct Count: Sendable {
    var at: Int64
    var left: [String: EntriesLeft]
    var outcomes: [String: CampaignOutcomes]
  }

  /// The console leaves out more campaigns and dead letters than anyone reads.
  private static let mostCampaigns = 200
  static let mostLetters = 20
  private static let mostLines = 20
  /// An urgent entry should not wait for longer.
  private static let urgentS = 30
  private static let certificateS: Int64 = 7 * 86_400

  let queue: any QueueEngine
  private let name: String
  private let leaseMS: Int64
  let log: Logger
  private let access: ConsoleAccess
  let apps: @Sendable () -> Apps
  private let webhooks: @Sendable () -> Webhooks
  /// Wakes the worker of an app.
  let look: @Sendable (String) -> Void
  private let condition: SharedQuery<String?>
  private let facts: SharedQuery<[String: Facts]>
  private let counts: SharedQuery<[String: Count]>
  private let times = RecentResponses()
  private let problems = ProblemTimes()

  init(
    _ configuration: RelayConfiguration, _ status: RelayConfiguration.Status,
    queue: any QueueEngine,
    log: Logger, condition: SharedQuery<String?>, apps: @escaping @Sendable () -> Apps,
    webhooks: @escaping @Sendable () -> Webhooks,
    look: @escaping @Sendable (String) -> Void
  ) throws {
    self.queue = queue
    (name, leaseMS) = (configuration.queue.name, Int64(configuration.queue.leaseS * 1000))
    (self.log, self.apps, self.look, self.condition) = (log, apps, look, condition)
    self.webhooks = webhooks
    access = try ConsoleAccess(status, apps: configuration.apps.map(\.name))
    // At most a twentieth of the time of one connection to the queue.
    facts = SharedQuery(restMS: 500, share: 20) {
      guard let depths = try? queue.depths(at: RelayClock.now) else { return [:] }
      let webhooks = webhooks()
      return apps().reduce(into: [:]) { all, one in
        all[one.app] = try? Self.facts(
          one.app, queue, depths[one.app] ?? QueueDepth(), webhooks[one.app])
      }
    }
    // This reads every entry, so it takes at most a fiftieth.
    counts = SharedQuery(restMS: 2000, share: 50) {
      apps().reduce(into: [:]) { all, one in
        guard let outcomes = try? queue.campaignOutcomes(app: one.app),
          let left = try? queue.left(.all, app: one.app)
        else { return }
        all[one.app] = Count(at: RelayClock.now, left: left, outcomes: outcomes)
      }
    }
  }

  private static func facts(
    _ app: String, _ queue: any QueueEngine, _ depth: QueueDepth, _ webhook: WebhookFigures?
  ) throws -> Facts {
    var facts = Facts(
      orders: try OrderStore(queue, app: app).read(),
      outcomes: try queue.campaignOutcomes(app: app),
      workers: try queue.workers(app: app, at: RelayClock.now),
      letters: depth.dead == 0
        ? [] : try queue.deadLetters(app: app, ids: [], after: "0", most: mostLetters),
      depth: depth)
    if let webhook, let told = try queue.reader(WebhookPlace.reader(of: app), app: app) {
      facts.untold = try queue.outcomes(webhook.filter, app: app, after: told)
    }
    return facts
  }

  /// Remembers response times, and the workers' problems, while nobody looks, until the process ends.
  func start() {
    Thread.begin("console") { [self] in
      while true {
        let (now, all) = (RelayClock.now, apps())
        for one in all { times.note(one.app, session: one.figures.session, at: now) }
        let found = all.flatMap { Self.problems($0.app, $0.figures, at: now) }
        _ = problems.date(
          found + Self.problems(of: webhooks()),
          of: [.stopped, .failing, .disagreement, .certificate, .guarded, .webhook], at: now)
        sleep(10)
      }
    }
  }

  func refresh(apps: [String]) throws { try access.refresh(apps: apps) }

  /// After an action.
  func hasten() {
    facts.hasten()
    counts.hasten()
  }

  func response(_ request: StatusServer.Request) -> StatusServer.Response? {
    let file = StatusPage.response(request.path)
    let isOwn = [Self.state, StatusServer.actions].contains(request.path)
    guard file != nil || isOwn else { return nil }
    do throws(StatusServer.Response) {
      let visitor = try access.visitor(request)
      if let file { return file }
      if request.path == Self.state { return .json(shown(to: visitor).json) }
      return ConsoleAction.response(request, by: visitor, self)
    } catch {
      return error
    }
  }

  // MARK: What it shows

  /// The devices of a campaign, or of the whole app, without an outcome.
  func left(_ app: String, _ campaign: String?) -> ConsoleState.Left? {
    guard let count = counts.latest()?[app] else { return nil }
    let outcomes = (facts.latest()?[app]?.outcomes) ?? [:]
    let names = campaign.map { [$0] } ?? Array(count.left.keys)
    return Self.left(names, count, outcomes, isWhole: campaign == nil)
  }

  private static func left(
    _ campaigns: [String], _ count: Count, _ outcomes: [String: CampaignOutcomes], isWhole: Bool
  ) -> ConsoleState.Left {
    var devices = 0
    var isExact = !isWhole
    for campaign in campaigns {
      let left = count.left[campaign] ?? EntriesLeft()
      let ended = (outcomes[campaign]?.total ?? 0) - (count.outcomes[campaign]?.total ?? 0)
      devices += max(0, left.waiting.devices + left.held.devices - ended)
      if ended != 0 || left.held.entries > 0 { isExact = false }
    }
    return ConsoleState.Left(devices: devices, counted: count.at, isExact: isExact)
  }

  private func shown(to visitor: ConsoleAccess.Visitor) -> ConsoleState {
    let now = RelayClock.now
    let known = facts.get().result ?? facts.latest() ?? [:]
    let counted = counts.latest() ?? [:]
    let (all, webhooks) = (apps(), webhooks())
    var found: [ConsoleState.Problem] = []
    let queueFault = condition.get()
    if let fault = queueFault.result ?? "no reply for \(queueFault.silentMS / 1000) s" {
      found.append(.init(kind: .queue, text: fault))
    }
    let shown = all.map { one in
      let facts = known[one.app] ?? Facts()
      found += Self.problems(one.app, one.figures, at: now) + problems(one.app, facts)
      return app(one.app, one.figures, facts, counted[one.app], webhooks[one.app], at: now)
    }
    found += Self.problems(of: webhooks)
    let dated = problems.date(found, of: ProblemTimes.Kind.allCases, at: now)
    return ConsoleState(
      at: now, started: RelayClock.startedAt, queue: name,
      problems: dated.filter { $0.app.map(visitor.sees) ?? true },
      apps: shown.filter { visitor.sees($0.app) })
  }

  /// The problems that need no query.
  private static func problems(_ app: String, _ figures: WorkerFigures, at now: Int64)
    -> [ConsoleState.Problem]
  {
    var all: [ConsoleState.Problem] = []
    func add(_ kind: ProblemTimes.Kind, _ text: String?) {
      if let text { all.append(.init(app: app, kind: kind, text: text)) }
    }
    add(figures.isStopped ? .stopped : .failing, figures.problem)
    add(.disagreement, figures.disagreement)
    if let end = figures.certificateEnd, end - now / 1000 < Self.certificateS {
      add(
        .certificate,
        end * 1000 > now
          ? "the certificate expires in \((end - now / 1000) / 3600) hours"
          : "the certificate has expired")
    }
    add(.guarded, figures.guardAlarm.map { "bad tokens do not count: \($0)" })
    return all
  }

  private static func problems(of webhooks: Webhooks) -> [ConsoleState.Problem] {
    webhooks.sorted { $0.key < $1.key }.compactMap { app, figures in
      figures.problem.map {
        .init(app: app, kind: .webhook, text: "the webhook \(figures.place) fails: \($0)")
      }
    }
  }

  private func problems(_ app: String, _ facts: Facts) -> [ConsoleState.Problem] {
    var all: [ConsoleState.Problem] = []
    let silent = facts.workers.filter { !$0.isRunning || $0.silentMS > leaseMS }.map(\.name)
    if !silent.isEmpty {
      let names = silent.joined(separator: ", ")
      all.append(.init(app: app, kind: .silent, text: "no heartbeat of the relay \(names)"))
    }
    let urgent = facts.depth.waiting[.urgent]?.ageS ?? 0
    if urgent > Self.urgentS, !facts.orders.isPaused {
      all.append(.init(app: app, kind: .waiting, text: "an urgent entry waits for \(urgent) s"))
    }
    return all
  }

  private func app(
    _ app: String, _ figures: WorkerFigures, _ facts: Facts, _ count: Count?,
    _ webhook: WebhookFigures?, at now: Int64
  ) -> ConsoleState.App {
    let isPaused = facts.orders.isPaused
    var shown = ConsoleState.App(
      app: app, state: figures.problem != nil ? "failing" : isPaused ? "paused" : "ready",
      isPaused: isPaused, perSecond: facts.orders.perSecond, configuredPerSecond: figures.perSecond,
      outcomes: Self.named(figures.outcomes), rejected: figures.reasons,
      inHand: figures.inHand, connections: figures.connections,
      certificateExpiresS: figures.certificateEnd,
      badTokensCount: figures.remembers ? figures.guardAlarm == nil : nil,
      badTokensIgnored: figures.remembers ? figures.withheld : nil)
    shown.left = count.map {
      Self.left(Array($0.left.keys), $0, facts.outcomes, isWhole: true)
    }
    shown.lanes = Lane.allCases.map {
      let waiting = facts.depth.waiting[$0] ?? QueueDepth.Waiting()
      return .init(lane: $0.rawValue, entries: waiting.count, oldestS: waiting.ageS)
    }
    shown.deferredEntries = facts.depth.deferred
    shown.claimedEntries = facts.depth.claimed
    shown.pacedEntries = facts.depth.paced
    shown.webhook = webhook.map { webhook in
      .init(
        receiver: webhook.place, waiting: facts.untold?.rows.count,
        isExact: facts.untold?.isEnd ?? true, oldest: facts.untold?.rows.first?.at,
        problem: webhook.problem, since: webhook.problem.map { _ in webhook.since })
    }
    shown.responses = times.recent(app, session: figures.session).map { since, counts in
      var below = 0
      let buckets = counts.sorted { $0.key < $1.key }.map { bound, upTo in
        defer { below = upTo }
        return ConsoleState.Bucket(
          atMostS: bound.isFinite ? bound : nil, count: max(0, upTo - below))
      }
      return .init(since: since, buckets: buckets)
    }
    shown.relays = facts.workers.map { worker in
      let isThis = worker.name == WorkerLease.name
      return .init(
        name: worker.name, isThis: isThis, isRunning: worker.isRunning, silentMs: worker.silentMS,
        connections: isThis ? shown.connections : worker.connections)
    }
    let names = Set(facts.outcomes.keys).union(facts.orders.campaigns.keys)
      .union((count?.left.keys).map { $0.filter { !$0.isEmpty } } ?? [])
    shown.campaignsInAll = names.count
    let campaigns = names.map { campaign($0, facts, count) }
    shown.campaigns = Array(
      campaigns.sorted {
        (Self.rank($0), -$0.changed, $0.campaign) < (Self.rank($1), -$1.changed, $1.campaign)
      }
      .prefix(Self.mostCampaigns))
    shown.deadLetters = facts.depth.dead
    shown.firstDeadLetters = facts.letters.map { letter in
      .init(
        id: letter.id, lane: letter.lane.rawValue, devices: letter.devices,
        deliveries: letter.deliveries, at: letter.at,
        history: letter.history.split(separator: "\n").suffix(Self.mostLines).map(String.init))
    }
    return shown
  }

  /// Campaigns in progress come first.
  private static func rank(_ campaign: ConsoleState.Campaign) -> Int {
    ["sending": 0, "paused": 1][campaign.state] ?? ((campaign.left?.devices ?? 0) > 0 ? 2 : 3)
  }

  private func campaign(_ name: String, _ facts: Facts, _ count: Count?) -> ConsoleState.Campaign {
    let order = facts.orders.campaigns[name]
    let outcomes = facts.outcomes[name] ?? CampaignOutcomes()
    let left = count.map { Self.left([name], $0, facts.outcomes, isWhole: false) }
    return ConsoleState.Campaign(
      campaign: name, state: order?.state?.rawValue ?? (left?.devices == 0 ? "done" : "sending"),
      perSecond: order?.perSecond, left: left, outcomes: Self.named(outcomes.counts),
      rejected: outcomes.reasons, gone: outcomes.gone,
      changed: max(outcomes.changed, order?.changed ?? 0))
  }

  private static func named(_ counts: [PushOutcome.Kind: Int]) -> [String: Int] {
    Dictionary(uniqueKeysWithValues: counts.map { ($0.key.rawValue, $0.value) })
  }
}
