import Foundation
import Synchronization

/// Requests that wait for the outcome of a notification. Workers of this relay report outcomes as
/// they record them. Another relay may have the entry, so the queue is read regularly too.
package final class OutcomeWaits: @unchecked Sendable {
  package enum End: Sendable {
    case outcome(PushOutcome)
    /// The ID is known, but for another device or channel.
    case isAnothers
    /// No outcome in time, or the relay stops. The entry stays in the queue.
    case none
  }

  private struct Key: Hashable {
    var app: String
    var id: String
  }

  private struct Wait {
    var number: Int
    /// The token or the channel.
    var target: String
    var until: Int64
    /// When the queue is read next.
    var askAt: Int64
    /// The same, once the queue's record of its ID has been read.
    var knownUntil = Int64.max
    var report: @Sendable (End) -> Void
  }

  /// The interval at which outcomes of other relays are looked up.
  private static let pauseMS: Int64 = 500
  private static let lookMS: Int64 = 2000
  private static let mostAtOnce = 200
  /// The most IDs that are looked up in a second, so that the queue has time for other calls.
  private static let mostInSecond = 20_000

  private let queue: any EntryQueue
  private let waits = Mutex<[Key: [Wait]]>([:])
  private let numbers = Atomic(0)
  private let isEnding = Atomic(false)
  /// Whether the thread sleeps until the next wait begins.
  let isResting = Atomic(false)
  private let news = DispatchSemaphore(value: 0)
  private let ended = DispatchSemaphore(value: 0)

  package init(_ queue: any EntryQueue) { self.queue = queue }

  package func start() {
    Thread.begin("outcomes", stackBytes: 1 << 20) { [self] in
      while !isEnding.load(ordering: .relaxed) {
        rest()
        look()
      }
      ended.signal()
    }
  }

  /// Sleeps until a wait begins or, if some are pending, until the next lookup.
  private func rest() {
    guard count == 0 else {
      _ = news.wait(timeout: .now() + .milliseconds(100))
      return
    }
    isResting.store(true, ordering: .sequentiallyConsistent)
    // A wait that began before the line above did not wake this thread.
    if count == 0, !isEnding.load(ordering: .relaxed) { news.wait() }
    isResting.store(false, ordering: .sequentiallyConsistent)
  }

  /// Completes the remaining waits with `.none`. Everything they wait for must be in the queue by
  /// now.
  package func end() {
    isEnding.store(true, ordering: .relaxed)
    news.signal()
    ended.wait()
    let rest = waits.withLock { waits in
      defer { waits = [:] }
      return waits
    }
    for wait in rest.values.joined() { wait.report(.none) }
  }

  package var count: Int { waits.withLock { $0.values.reduce(0) { $0 + $1.count } } }

  /// Call it before the entry is queued, so that no outcome is missed. `report` is called at most
  /// once, on any thread. Returns a number for `queued` and `forget`.
  package func wait(
    app: String, id: String, target: String, _ report: @escaping @Sendable (End) -> Void
  ) -> Int {
    let number = numbers.add(1, ordering: .relaxed).newValue
    let wait = Wait(number: number, target: target, until: .max, askAt: .max, report: report)
    waits.withLock { $0[Key(app: app, id: id), default: []].append(wait) }
    if isResting.exchange(false, ordering: .sequentiallyConsistent) { news.signal() }
    return number
  }

  /// Starts the wait of `forMS` once the entry is queued. If the ID may have been known, the
  /// queue's record of it is looked up immediately, and the wait does not end before.
  package func queued(app: String, id: String, _ number: Int, isNew: Bool, forMS: Int64) {
    let key = Key(app: app, id: id)
    if isNew, forMS == 0 {
      for wait in take(key, { $0.number == number }) { wait.report(.none) }
      return
    }
    let now = RelayClock.monotonic
    waits.withLock { waits in
      guard let index = waits[key]?.firstIndex(where: { $0.number == number }) else { return }
      waits[key]![index].until = now + (isNew ? forMS : max(forMS, Self.lookMS))
      waits[key]![index].knownUntil = now + forMS
      waits[key]![index].askAt = isNew ? now + Self.pauseMS : now
    }
    if !isNew { news.signal() }
  }

  /// Removes the wait without a report, because the entry was not queued. False if the outcome was
  /// already reported.
  package func forget(app: String, id: String, _ number: Int) -> Bool {
    !take(Key(app: app, id: id)) { $0.number == number }.isEmpty
  }

  private func take(_ key: Key, _ isWanted: (Wait) -> Bool) -> [Wait] {
    waits.withLock { waits in
      guard let all = waits[key] else { return [] }
      let rest = all.filter { !isWanted($0) }
      waits[key] = rest.isEmpty ? nil : rest
      return rest.count == all.count ? [] : all.filter(isWanted)
    }
  }

  /// Reports outcomes that a worker has recorded.
  func report(_ updates: [EntryUpdate]) {
    guard waits.withLock({ !$0.isEmpty }) else { return }
    for update in updates {
      guard let outcome = update.outcomes.first(where: { $0.position == 0 }) else { continue }
      // Only the queue knows whether it counts.
      if outcome.isByOrder { continue }
      report(Key(app: update.app, id: update.id), outcome)
    }
  }

  private func report(_ key: Key, _ outcome: PushOutcome) {
    for wait in take(key, { _ in true }) {
      // Each wait has one target, so a higher position belongs to a list of tokens. The outcome of
      // a broadcast has no token.
      let isOther =
        outcome.position > 0 || !outcome.token.isEmpty && outcome.token.text != wait.target
      wait.report(isOther ? .isAnothers : .outcome(outcome))
    }
  }

  // MARK: Lookups in the queue

  private func look() {
    let now = RelayClock.monotonic
    var late: [Wait] = []
    var asked: [String: [String]] = [:]
    waits.withLock { waits in
      let pause = max(Self.pauseMS, Int64(waits.count) * 1000 / Int64(Self.mostInSecond))
      for (key, list) in waits {
        var rest = list.filter { $0.until > now }
        late += list.filter { $0.until <= now }
        if rest.contains(where: { $0.askAt <= now }) {
          asked[key.app, default: []].append(key.id)
          for index in rest.indices { rest[index].askAt = now + pause }
        } else if rest.count == list.count {
          continue
        }
        waits[key] = rest.isEmpty ? nil : rest
      }
    }
    for wait in late { wait.report(.none) }
    for (app, ids) in asked { ask(app, ids) }
  }

  private func ask(_ app: String, _ ids: [String]) {
    for some in ids.parts(of: Self.mostAtOnce) {
      // A read error is reported elsewhere, and the lookup is repeated.
      guard let known = try? queue.known(Array(some), app: app) else { return }
      for (id, one) in known {
        let key = Key(app: app, id: id)
        if let outcome = one.outcome {
          report(key, outcome)
        } else if let target = one.target {
          let now = RelayClock.monotonic
          for wait in take(key, { $0.target != target || $0.knownUntil <= now }) {
            wait.report(wait.target == target ? .none : .isAnothers)
          }
          waits.withLock { waits in
            for index in waits[key]?.indices ?? 0..<0 {
              let until = waits[key]![index].knownUntil
              waits[key]![index].until = min(waits[key]![index].until, until)
            }
          }
        }
      }
    }
  }
}
