import BinaryServer
import Client
import Foundation
import Logging
import Synchronization

/// The relay: a worker for each app, and the listeners, until a signal ends it.
package final class RelayDaemon: @unchecked Sendable {
  private let file: String
  private let queue: any QueueEngine
  private let log: Logger
  private let sockets: PassedSockets
  private let manager = ServiceManager()
  private var configuration: RelayConfiguration
  private let workers: RunningWorkers
  private let webhooks: RunningWebhooks
  private let listeners: OpenListeners
  private let listenerQueue: ListenerQueue
  private let waits: OutcomeWaits
  private let badTokens: BadTokens
  private let housekeeping: Housekeeping
  private let condition: SharedQuery<String?>
  private let depths: SharedQuery<[String: (depth: QueueDepth, isServed: Bool)]?>
  /// nil without a status server. Set before that starts.
  private var console: Console?

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
    let waits = OutcomeWaits(queue)
    self.waits = waits
    badTokens = BadTokens(queue, log: log)
    let webhooks = RunningWebhooks(queue, log: log)
    self.webhooks = webhooks
    let workers = RunningWorkers(queue, log: log, badTokens) { app, updates in
      waits.report(updates)
      webhooks.look(app)
    }
    self.workers = workers
    listeners = OpenListeners(
      ListenerRelay(
        queue: listenerQueue, waits: waits, badTokens: badTokens, engine: queue, log: log,
        sockets: sockets, apps: { workers.apps }, look: { workers.look($0) }))
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

  /// Runs until SIGTERM or SIGINT.
  package func run(_ signals: RelaySignals) throws {
    // Each app has three, and each of a listener's connections one.
    OpenFiles.raiseLimit()
    for warning in queue.warnings { log.warning("\(warning)") }
    _ = try queue.reclaim(
      silentSince: RelayClock.now - Int64(configuration.queue.leaseS * 1000), at: RelayClock.now)
    try loadBadTokens(configuration)
    try workers.make(configuration)
    if let port = configuration.status.port { try openStatus(port) }
    signals.takeOrders()
    webhooks.use(configuration)
    workers.start()
    listenerQueue.start()
    waits.start()
    do {
      for listener in configuration.listeners { try listeners.open(listener) }
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
      workers.shown.allSatisfy { isAlive($0.figures) }
    }
    housekeeping.use(configuration)
    housekeeping.start()
    while signals.next() == .reload { reload() }
    let lost = end()
    if lost > 0 { throw RelayFault("\(lost) outcomes are not recorded") }
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
      apps: { [workers] in workers.shown }, webhooks: { [webhooks] in webhooks.shown },
      look: { [workers] name in workers.look(name) })
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

  // MARK: Signals

  /// A worker that waits for a queue blocked by another program does not count as hanging.
  private func isAlive(_ figures: WorkerFigures) -> Bool {
    RelayClock.monotonic - figures.heard < 60_000 || queue.isHeldUp
  }

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
    webhooks.use(configuration)
    workers.reload(configuration, sameQueue: sameQueue)
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
    listeners.reopen(wanted.listeners)
    warnOfUnusedSockets(wanted)
    workers.look()
    log.notice("reloaded, with \(workers.count) apps")
  }

  /// Returns the number of outcomes that were not recorded.
  private func end() -> Int {
    manager.say("STOPPING=1")
    queue.hurry()
    log.notice(
      "stops, and waits up to \(DurationText.number(configuration.drainS)) s for responses")
    let listeners = listeners.all
    for listener in listeners { listener.shut() }
    let lost = workers.end(withinMS: configuration.drainMS)
    // Programs may already have a response for queued notifications, so all must be stored.
    listenerQueue.end()
    waits.end()
    badTokens.end()
    for listener in listeners { listener.close() }
    webhooks.end()
    log.notice(lost == 0 ? "stopped" : "stopped, and \(lost) outcomes are not recorded")
    return lost
  }

  // MARK: Status

  private func response(_ request: StatusServer.Request, _ console: Console)
    -> StatusServer.Response?
  {
    let (path, all) = (request.path, workers.shown)
    switch path {
    case "/healthz":
      let silent = all.filter { !isAlive($0.figures) }.map(\.app)
      return silent.isEmpty
        ? StatusServer.Response(body: "ok\n")
        : .refusal(503, "hangs: \(silent.joined(separator: ", "))")
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
          listeners: listeners.all.map { ($0.name, $0.figures) },
          webhooks: webhooks.shown))
    default: return console.response(request)
    }
  }
}
