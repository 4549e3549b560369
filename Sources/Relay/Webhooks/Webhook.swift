import Foundation
import Logging
import Synchronization

/// Sends an app's outcomes to a receiver, on its own thread, so that no worker waits for it. One of the
/// relays sends, in the order of the outcomes, each batch until it is accepted.
package final class Webhook: Sendable {
  /// How long outcomes of other relays may wait, if the queue does not report them.
  private static let idleMS: Int64 = 500
  /// After a report it waits for more.
  private static let gatherUS: UInt32 = 20_000
  private static let troubleMS: Int64 = 1000
  /// The pauses between attempts grow from the first to the last of these.
  private static let firstPauseMS: Int64 = 1000
  private static let longestPauseMS: Int64 = 600_000

  private let app: String
  private let wanted: WebhookConfiguration
  private let settings: RelayConfiguration.Queue
  private let queue: any WebhookPlace.Store
  private let log: Logger
  private let state: Mutex<WebhookFigures>
  private let warning = ThrottledWarning()
  private let isEnding = Atomic(false)
  private let wake = Wake()
  private let watch = Mutex<QueueNews.Watch?>(nil)
  private let ended = DispatchSemaphore(value: 0)

  /// nil if the app has no webhook.
  package init?(
    _ app: AppConfiguration, _ settings: RelayConfiguration.Queue,
    queue: any AppStateStore & ReaderStore & QueueWatching, log: Logger
  ) {
    guard app.webhook.url != nil else { return nil }
    self.app = app.name
    wanted = app.webhook
    (self.settings, self.queue, self.log) = (settings, queue, log)
    state = Mutex(
      WebhookFigures(place: app.webhook.address?.shown ?? "", filter: app.webhook.filter))
  }

  package var figures: WebhookFigures { state.withLock { $0 } }

  /// Whether this is the webhook of an app that has such a configuration.
  package func isFor(_ app: AppConfiguration, _ settings: RelayConfiguration.Queue) -> Bool {
    app.name == self.app && app.webhook == wanted && settings == self.settings
  }

  /// Call it before the app's worker starts: outcomes from then on are sent.
  package func start() {
    guard let call = WebhookCall(wanted) else { return }
    // Otherwise the thread does it.
    try? WebhookPlace.begin(queue, app: app)
    watch.withLock { $0 = queue.watch(.outcomes, of: app) { [wake] in wake.signal() } }
    Thread.begin("webhook", stackBytes: 1 << 20) { [self] in
      work(call)
      ended.signal()
    }
  }

  /// There are new outcomes.
  func look() { wake.signal() }

  /// It begins no further request.
  package func end() {
    isEnding.store(true, ordering: .relaxed)
    wake.signal()
  }

  /// A request that takes longer is abandoned, and repeated by the next relay.
  package func wait(upTo time: DispatchTimeInterval) { _ = ended.wait(timeout: .now() + time) }

  // MARK: The thread

  private struct Work {
    var place: WebhookPlace
    var retry = WebhookRetry()
    var reader: (any QueueReading)?
    /// Outcomes that were read and are not delivered yet.
    var page: OutcomePage?
  }

  private func work(_ call: WebhookCall) {
    let leaseMS = Int64(max(settings.leaseS, 2 * wanted.timeoutS) * 1000)
    var work = Work(place: WebhookPlace(queue, app: app, leaseMS: leaseMS))
    while !isEnding.load(ordering: .relaxed) {
      var pauseMS = Self.troubleMS
      do {
        pauseMS = try step(call, &work)
      } catch {
        (work.reader, work.page) = (nil, nil)
        if warning.isDue("\(error)") { log.warning("the webhook cannot use the queue: \(error)") }
      }
      // It renews its lease while it waits.
      pauseMS = min(pauseMS, leaseMS / 8)
      guard pauseMS > 0 else { continue }
      wake.wait(upToMS: pauseMS)
      usleep(Self.gatherUS)
    }
    try? work.place.leave()
    state.withLock { $0.rest() }
  }

  /// How long it waits for outcomes, if none are reported.
  private var restMS: Int64 { watch.withLock { $0 == nil } ? Self.idleMS : .max }

  /// Sends a batch, if there is one. Returns how long to wait before the next step.
  private func step(_ call: WebhookCall, _ work: inout Work) throws -> Int64 {
    guard try work.place.hold(at: RelayClock.monotonic) else {
      state.withLock { $0.rest() }
      (work.retry, work.page) = (WebhookRetry(), nil)
      return restMS
    }
    if let pause = work.retry.pause(at: RelayClock.monotonic) { return pause }
    let page = try page(&work)
    let batch = WebhookBatch(page, after: work.place.from, most: wanted.most, end: work.place.end)
    guard let first = batch.rows.first else {
      if batch.last != batch.from { _ = try work.place.move(to: batch.last) }
      work.page = nil
      if page.isEnd { state.withLock { $0.rest() } }
      return page.isEnd ? restMS : 0
    }
    state.withLock { $0.oldest = first.at }
    guard try work.place.begin(batch, at: RelayClock.monotonic) else { return 0 }
    do throws(WebhookCall.Failure) {
      try call.send(WebhookMessage(batch, app: app, mark: work.place.mark))
    } catch {
      work.retry.fail(error.retryAfterMS, at: RelayClock.monotonic)
      report(error, call, batch)
      return 0
    }
    work.retry = WebhookRetry()
    work.page = batch.rest(of: page)
    if warning.isOver() { log.notice("the webhook's receiver accepts outcomes again") }
    state.withLock { state in
      state.delivered += batch.rows.count
      state.problem = nil
    }
    _ = try work.place.move(to: batch.last)
    return 0
  }

  private func page(_ work: inout Work) throws -> OutcomePage {
    if let page = work.page { return page }
    let reader = try work.reader ?? settings.openForReading()
    let page = try reader.outcomes(wanted.filter, app: app, after: work.place.from)
    (work.reader, work.page) = (reader, page)
    return page
  }

  private func report(_ failure: WebhookCall.Failure, _ call: WebhookCall, _ batch: WebhookBatch) {
    state.withLock { state in
      state.failed += 1
      if state.problem == nil { state.since = RelayClock.now }
      state.problem = failure.words
    }
    let words = "the webhook \(call.place) fails: \(failure.words)"
    guard warning.isDue(words) else { return }
    log.error(
      "\(words); the outcomes wait, and it is tried again",
      metadata: ["kind": "webhook", "number": "\(batch.last)"])
  }

  /// The attempts at a batch.
  private struct WebhookRetry {
    private var failures = 0
    /// Monotonic.
    private var next: Int64 = 0

    /// nil if the next attempt is due.
    func pause(at now: Int64) -> Int64? { now < next ? next - now : nil }

    mutating func fail(_ retryAfterMS: Int64, at now: Int64) {
      let longest = min(Webhook.firstPauseMS << min(failures, 20), Webhook.longestPauseMS)
      failures += 1
      // A part of it is random, so that a receiver that returns does not get all at once.
      next = now + max(.random(in: longest / 2...longest), retryAfterMS)
    }
  }
}

/// A webhook's counters, for metrics.
package struct WebhookFigures: Sendable {
  /// The receiver, without the path of the URL, and what it gets.
  package var place = ""
  package var filter = OutcomeFilter()
  /// Outcomes that the receiver has accepted.
  package var delivered = 0
  /// Requests that it has not.
  package var failed = 0
  /// Why the last request failed; nil if it did not, or if another relay sends.
  package var problem: String?
  /// When requests began to fail, in UNIX milliseconds.
  package var since: Int64 = 0
  /// When the oldest outcome was recorded that waits here, in UNIX milliseconds; nil without one.
  package var oldest: Int64?

  /// How long that has waited.
  package var lagS: Int { oldest.map { max(0, Int((RelayClock.now - $0) / 1000)) } ?? 0 }

  /// Nothing waits here.
  mutating func rest() { (problem, oldest) = (nil, nil) }
}
