import Client
import BinaryServer
import Foundation
import Logging
import Synchronization

/// The relay: a worker for each app, and the listeners, until a signal ends it.
package final class RelayDaemon: @unchecked Sendable {
  private struct Running {
    var worker: AppWorker
    /// The session's current credentials, which may be newer than its first ones.
    var who: AppConfiguration.Credentials
    /// The state of their files, to detect changes.
    var files: [[Int64]]
  }

  private typealias Listening = (
    configuration: ListenerConfiguration, listener: any RelayListener
  )

  /// How long the end waits for a webhook's request.
  private static let webhookWait = DispatchTimeInterval.seconds(2)

  private let file: String
  private let queue: any QueueEngine
  private let log: Logger
  private let sockets: PassedSockets
  private let manager = ServiceManager()
  private var configuration: RelayConfiguration
  /// Also used by the status server's threads.
  private let running = Mutex<[(app: String, worker: AppWorker)]>([])
  private var workers: [Running] = []
  /// Workers of apps that were removed or changed, which are ending.
  private var leaving: [AppWorker] = []
  /// By app. Also used by the status server's threads.
  private let webhooks = Mutex<[String: Webhook]>([:])
  private let listenerQueue: ListenerQueue
  private let waits: OutcomeWaits
  private let badTokens: BadTokens
  private let housekeeping: Housekeeping
  private let condition: SharedQuery<String?>
  private let depths: SharedQuery<[String: (depth: QueueDepth, isServed: Bool)]?>
  /// nil without a status server. Set before that starts.
  private var console: Console?
  /// Also used by the status server's threads.
  private let listeners = Mutex<[Listening]>([])

  package init(
    _ configuration: RelayConfiguration, file: String, queue: any QueueEngine, log: Logger,
    sockets: PassedSockets
  ) {
    _ = RelayClock.startedAt
    self.configuration = configuration
    self.file = file
    self.queue = queue
    self.log = log
    self.sockets = sockets
    listenerQueue = ListenerQueue(queue, log: log)
    waits = OutcomeWaits(queue)
    badTokens = BadTokens(queue, log: log)
    housekeeping = Housekeeping(queue, log: log)
    condition = SharedQuery {
      do {
        try queue.check()
        return nil
      } catch {
        return "\(error)"
      }
    }
    depths = SharedQuery {
      try? queue.depths(at: RelayClock.now).reduce(into: [:]) { all, one in
        try all[one.key] = (one.value, Agreement.isServed(one.key, queue))
      }
    }
  }

  /// The extent of a check.
  package enum Trial: Comparable {
    case files, connection
    /// Pushes to an impossible device.
    case push
  }

  /// Tests the files and services in the configuration. Returns the errors of each app, and
  /// warnings for the operator.
  package static func check(
    _ configuration: RelayConfiguration, trying trial: Trial
  ) -> (faults: [String], warnings: [String]) {
    var faults: [String] = []
    let queue: any QueueEngine
    do {
      queue = try configuration.queue.open()
      try queue.check()
    } catch {
      return (["queue: \(error)"], [])
    }
    for app in configuration.apps {
      do {
        let credentials = try RelayCredentials(app, queue: queue, log: nil)
        try credentials.tryToken()
        _ = try ServiceSession(app, credentials, log: nil)
        let service = ServiceTrial(app, credentials)
        if trial >= .connection { try service.connect() }
        if trial >= .push { try service.push() }
      } catch {
        faults.append("apps.\(app.name): \(error)")
      }
    }
    var warnings = queue.warnings + configuration.status.warnings.map { "status: \($0)" }
    do {
      _ = try ConsoleAccess.list(configuration.status, apps: configuration.apps.map(\.name))
    } catch {
      faults.append("\(error)")
    }
    for app in configuration.apps {
      warnings += app.webhook.warnings.map { "apps.\(app.name).webhook: \($0)" }
    }
    for listener in configuration.listeners {
      do {
        let own: [String]
        switch listener {
        case .http(let http):
          _ = try RequestDesk.authorization(http, configuration.apps)
          own = http.warnings
        case .binary(let binary):
          _ = try ListenerClients(binary)
          // A certificate that the relay creates is not created by a check.
          if binary.tls.certificate != nil { _ = try ListenerTLS(binary) }
          own = ListenerTLS.warnings(binary)
        }
        warnings += own.map { "listeners.\(listener.name): \($0)" }
      } catch {
        faults.append("listeners.\(listener.name): \(error)")
      }
    }
    return (faults, warnings)
  }

  /// Runs until SIGTERM or SIGINT.
  package func run(_ signals: RelaySignals) throws {
    for warning in queue.warnings { log.warning("\(warning)") }
    _ = try queue.reclaim(
      silentSince: RelayClock.now - Int64(configuration.queue.leaseS * 1000), at: RelayClock.now)
    try loadBadTokens(configuration)
    for app in configuration.apps { workers.append(try make(app)) }
    publish()
    if let port = configuration.status.port { try openStatus(port) }
    signals.takeOrders()
    tell(of: configuration)
    for one in workers { one.worker.start() }
    listenerQueue.start()
    waits.start()
    do {
      for listener in configuration.listeners { try open(listener) }
    } catch {
      _ = end()
      throw error
    }
    warnOfUnusedSockets(configuration)
    log.notice(
      "ready, with \(workers.count) apps", metadata: ["queue": "\(configuration.queue.name)"])
    manager.say("READY=1\nSTATUS=\(workers.count) apps")
    signals.watch { [self] in
      // The watchdog exists for workers that hang.
      running.withLock { $0 }.allSatisfy { isAlive($0.worker.shownFigures) }
    }
    housekeeping.use(configuration)
    housekeeping.start()
    while signals.next() == .reload { reload() }
    let lost = end()
    if lost > 0 { throw RelayFault("\(lost) outcomes are not recorded") }
  }

  private func make(_ app: AppConfiguration) throws -> Running {
    let files = app.credentials.files.map(FileMark.of)
    let log = log.of(app)
    do {
      let credentials = try RelayCredentials(app, queue: queue, log: log)
      credentials.prepare()
      let worker = try AppWorker(
        app, configuration.queue, queue: queue, credentials: credentials, log: log,
        badTokens: badTokens,
        recorded: { [weak self, waits] in
          waits.report($0)
          self?.webhooks.withLock { $0[app.name] }?.look()
        })
      return Running(worker: worker, who: app.credentials, files: files)
    } catch {
      throw RelayFault("apps.\(app.name): \(error)")
    }
  }

  private func publish() {
    let all = workers.map { (app: $0.worker.app.name, worker: $0.worker) }
    running.withLock { $0 = all }
  }

  /// Unchanged webhooks continue.
  private func tell(of wanted: RelayConfiguration) {
    let old = webhooks.withLock { $0 }
    var new: [String: Webhook] = [:]
    for app in wanted.apps {
      if let kept = old[app.name], kept.isFor(app, wanted.queue) {
        new[app.name] = kept
      } else {
        old[app.name]?.end()
        new[app.name] = Webhook(app, wanted.queue, queue: queue, log: log.of(app))
        new[app.name]?.start()
        for warning in app.webhook.warnings { log.warning("apps.\(app.name).webhook: \(warning)") }
      }
    }
    for (app, gone) in old where new[app] == nil { gone.end() }
    webhooks.withLock { $0 = new }
  }

  // MARK: Listeners

  private func openStatus(_ wanted: ListeningPort) throws {
    var status = configuration.status
    let bound: [ListeningSocket]
    switch wanted {
    case .number(let number):
      let descriptor = try StatusServer.listen(host: status.host, port: number)
      bound = [ListeningSocket(name: "status", descriptor: descriptor)]
    case .systemd(let name):
      do { bound = try sockets.named(name) } catch { throw RelayFault("status: \(error)") }
      status.host = bound.mostOpenHost ?? status.host
    }
    let console = try Console(
      configuration, status, queue: queue, log: log, condition: condition,
      apps: { [weak self] in self?.shown ?? [] },
      webhooks: { [weak self] in self?.shownWebhooks ?? [] },
      look: { [weak self] name in self?.look(name) })
    self.console = console
    console.start()
    let server = StatusServer(host: status.host, listeners: bound.map(\.descriptor)) {
      [weak self] in self?.response($0, console)
    }
    server.start()
    let port = bound.first?.address?.port ?? 0
    if let file = status.portFile {
      try "\(port)\n".write(toFile: file, atomically: true, encoding: .utf8)
    }
    for warning in status.warnings { log.warning("status: \(warning)") }
    log.info("status at http://\(status.host):\(port)")
  }

  private func warnOfUnusedSockets(_ wanted: RelayConfiguration) {
    for name in Set(sockets.names).subtracting(wanted.socketNames).sorted() {
      log.warning("no listener uses systemd's socket '\(name)': its clients wait in vain")
    }
  }

  /// Bad tokens are kept in memory if a listener uses them.
  private func loadBadTokens(_ wanted: RelayConfiguration) throws {
    let isUsed = wanted.listeners.contains { listener in
      if case .binary = listener { true } else { false }
    }
    if isUsed { try badTokens.load(for: wanted.apps) }
  }

  private func open(_ wanted: ListenerConfiguration) throws {
    OpenFiles.raiseLimit()
    let relay = ListenerRelay(
      queue: listenerQueue, waits: waits, badTokens: badTokens, engine: queue, log: log,
      sockets: sockets,
      apps: { [weak self] in self?.running.withLock { $0.map(\.worker.app) } ?? [] },
      look: { [weak self] name in self?.look(name) })
    let listener: any RelayListener
    switch wanted {
    case .http(let http):
      let opened = try HTTPListener(http, relay)
      for warning in opened.warnings { log.warning("listeners.\(http.name): \(warning)") }
      listener = opened
    case .binary(let binary): listener = try BinaryListener(binary, relay)
    }
    listeners.withLock { $0.append((wanted, listener)) }
    log.notice("the listener \(listener.name) is open", metadata: ["place": "\(listener.place)"])
  }

  private func look(_ app: String) {
    running.withLock { $0.first { $0.app == app }?.worker }?.look()
  }

  /// Unchanged listeners keep their connections.
  private func reopen(_ wanted: [ListenerConfiguration]) {
    let gone = listeners.withLock { listeners in
      defer { listeners.removeAll { !wanted.contains($0.configuration) } }
      return listeners.filter { !wanted.contains($0.configuration) }
    }
    for one in gone {
      one.listener.close()
      log.notice("the listener \(one.listener.name) is closed")
    }
    let kept = listeners.withLock { $0 }
    for one in kept {
      do {
        try one.listener.refresh()
      } catch {
        log.error("the listener \(one.listener.name) keeps its previous configuration: \(error)")
      }
    }
    for one in wanted where !kept.contains(where: { $0.configuration == one }) {
      do {
        try open(one)
      } catch {
        log.error("\(error)")
      }
    }
  }

  // MARK: Signals

  /// A worker that waits for a queue blocked by another program does not count as hanging.
  private func isAlive(_ figures: WorkerFigures) -> Bool {
    RelayClock.monotonic - figures.heard < 60_000 || queue.isHeldUp
  }

  /// Unchanged apps keep their connections. If only the credentials changed, the app keeps its
  /// session.
  private func reload() {
    manager.say("RELOADING=1\nMONOTONIC_USEC=\(RelayClock.monotonic * 1000)")
    defer { manager.say("READY=1") }
    let wanted: RelayConfiguration
    do {
      wanted = try ConfigurationReader.read(file)
    } catch {
      log.error("not reloaded: \(error)")
      return
    }
    if wanted.queue.locations != configuration.queue.locations
      || wanted.queue.sync != configuration.queue.sync
      || wanted.status != configuration.status
      || wanted.log != configuration.log
    {
      let places = wanted.queue.locations.options.map { "queue.\($0.key), " }.joined()
      log.warning("\(places)queue.sync, status and log change only with a restart")
    }
    let sameQueue = wanted.queue == configuration.queue
    configuration.queue = wanted.queue
    configuration.drainS = wanted.drainS
    configuration.apps = wanted.apps
    housekeeping.use(configuration)
    tell(of: configuration)
    var before = workers
    workers = []
    for app in wanted.apps {
      let index = before.firstIndex { $0.worker.app.name == app.name }
      var old = index.map { before.remove(at: $0) }
      var same = app
      if let old {
        (same.credentials, same.webhook) = (old.worker.app.credentials, old.worker.app.webhook)
      }
      do {
        if var kept = old, sameQueue, same == kept.worker.app {
          let files = app.credentials.files.map(FileMark.of)
          if files != kept.files || app.credentials != kept.who {
            let credentials = try RelayCredentials(app, queue: queue, log: log.of(app))
            credentials.prepare()
            kept.worker.use(credentials)
            (kept.who, kept.files) = (app.credentials, files)
          }
          workers.append(kept)
          old = nil
          continue
        }
        let new = try make(app)
        new.worker.start()
        workers.append(new)
        if let old { leave(old.worker) }
      } catch {
        log.error("apps.\(app.name) keeps its previous configuration: \(error)")
        if let old { workers.append(old) }
      }
    }
    for old in before { leave(old.worker) }
    publish()
    do {
      try loadBadTokens(wanted)
    } catch {
      log.error("bad tokens cannot be read: \(error)")
    }
    do {
      try console?.refresh(apps: wanted.apps.map(\.name))
    } catch {
      log.error("the page keeps its previous authorization file: \(error)")
    }
    reopen(wanted.listeners)
    warnOfUnusedSockets(wanted)
    for one in workers { one.worker.look() }
    log.notice("reloaded, with \(workers.count) apps")
  }

  private func leave(_ worker: AppWorker) {
    worker.drain(withinMS: Int64(configuration.drainS * 1000))
    leaving.removeAll { $0.hasEnded }
    leaving.append(worker)
  }

  /// Returns the number of outcomes that were not recorded.
  private func end() -> Int {
    manager.say("STOPPING=1")
    queue.hurry()
    log.notice(
      "stops, and waits up to \(DurationText.number(configuration.drainS)) s for responses")
    let listeners = listeners.withLock { $0.map(\.listener) }
    for listener in listeners { listener.shut() }
    let all = workers.map(\.worker)
    for worker in all { worker.drain(withinMS: Int64(configuration.drainS * 1000)) }
    for worker in all + leaving { worker.wait() }
    // Programs may already have a response for queued notifications, so all must be stored.
    listenerQueue.end()
    waits.end()
    badTokens.end()
    for listener in listeners { listener.close() }
    let webhooks = webhooks.withLock { Array($0.values) }
    for webhook in webhooks { webhook.end() }
    for webhook in webhooks { webhook.wait(upTo: Self.webhookWait) }
    let lost = (all + leaving).reduce(0) { $0 + $1.lostOutcomes }
    log.notice(lost == 0 ? "stopped" : "stopped, and \(lost) outcomes are not recorded")
    return lost
  }

  // MARK: Status

  private var shown: Console.Apps {
    running.withLock { $0 }.map { (app: $0.app, figures: $0.worker.shownFigures) }
  }

  private var shownWebhooks: Console.Webhooks {
    webhooks.withLock { $0.map { ($0.key, $0.value.figures) } }.sorted { $0.0 < $1.0 }
  }

  private func response(_ request: StatusServer.Request, _ console: Console)
    -> StatusServer.Response?
  {
    let (path, all) = (request.path, shown)
    switch path {
    case "/healthz":
      let silent = all.filter { !isAlive($0.figures) }.map(\.app)
      return silent.isEmpty
        ? StatusServer.Response(body: "ok\n")
        : StatusServer.Response(status: 503, body: "hangs: \(silent.joined(separator: ", "))\n")
    case "/readyz":
      var faults = all.flatMap { one in
        [one.figures.problem, one.figures.disagreement].compactMap { $0 }
          .map { "\(one.app): \($0)" }
      }
      let found = condition.get()
      if let fault = found.result ?? "no reply for \(found.silentMS / 1000) s" {
        faults.append("queue: \(fault)")
      }
      return faults.isEmpty
        ? StatusServer.Response(body: "ready\n")
        : StatusServer.Response(status: 503, body: faults.map { "\($0)\n" }.joined())
    case "/metrics", "/status.metrics":
      // Another relay's app is left to that relay.
      let own = Set(all.map(\.app))
      let depths = (depths.get().result ?? nil)?.filter {
        own.contains($0.key) || !$0.value.isServed
      }
      return StatusServer.Response(
        type: "text/plain; version=0.0.4; charset=utf-8",
        body: MetricsText.of(
          all, depths?.mapValues(\.depth), isWhole: path != "/metrics",
          listeners: listeners.withLock { $0.map { ($0.listener.name, $0.listener.figures) } },
          webhooks: shownWebhooks))
    default: return console.response(request)
    }
  }
}

extension Logger {
  /// A logger that names the app in each line.
  fileprivate func of(_ app: AppConfiguration) -> Logger {
    var log = self
    log[metadataKey: "app"] = "\(app.name)"
    return log
  }
}
