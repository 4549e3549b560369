import Foundation
import Synchronization

/// Those who wait for the outcome of a notification. Workers of this relay tell them as soon as it
/// is recorded. Another relay may have it, so the queue is asked now and then, too.
package final class OutcomeWaits: @unchecked Sendable {
  package enum End: Sendable {
    case outcome(PushOutcome)
    /// The id is known, but for something else than what waits here.
    case isAnothers
    /// There is none yet, and its time is over or the relay stops. It stays in the queue.
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
    /// When the queue is asked next.
    var askAt: Int64
    /// It waits for no outcome, only for what the queue knows of its id.
    var isImpatient = false
    var tell: @Sendable (End) -> Void
  }

  /// How often another relay's outcomes are looked for.
  private static let pauseMS: Int64 = 500
  private static let lookMS: Int64 = 2000
  private static let mostAtOnce = 200
  /// However many wait, the queue is asked for so many of them in a second, and has time for others.
  private static let mostInSecond = 20_000

  private let queue: any QueueEngine
  private let waits = Mutex<[Key: [Wait]]>([:])
  private let numbers = Atomic(0)
  private let isEnding = Atomic(false)
  /// The thread sleeps until somebody waits for an outcome.
  let isResting = Atomic(false)
  private let news = DispatchSemaphore(value: 0)
  private let ended = DispatchSemaphore(value: 0)

  package init(_ queue: any QueueEngine) { self.queue = queue }

  package func start() {
    let thread = Thread { [self] in
      while !isEnding.load(ordering: .relaxed) {
        rest()
        look()
      }
      ended.signal()
    }
    thread.name = "outcomes"
    thread.stackSize = 1 << 20
    thread.start()
  }

  /// Sleeps until somebody waits for an outcome; if somebody does, until it is time to look again.
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

  /// Whoever waits still is told that there is none: what they wait for has to be in the queue.
  package func end() {
    isEnding.store(true, ordering: .relaxed)
    news.signal()
    ended.wait()
    let rest = waits.withLock { waits in
      defer { waits = [:] }
      return waits
    }
    for wait in rest.values.joined() { wait.tell(.none) }
  }

  package var count: Int { waits.withLock { $0.values.reduce(0) { $0 + $1.count } } }

  /// Before it is put into the queue, so that no outcome is missed. `tell` is called once, on any
  /// thread. The number is for `queued` and `forget`.
  package func wait(
    app: String, id: String, target: String, _ tell: @escaping @Sendable (End) -> Void
  ) -> Int {
    let number = numbers.add(1, ordering: .relaxed).newValue
    let wait = Wait(number: number, target: target, until: .max, askAt: .max, tell: tell)
    waits.withLock { $0[Key(app: app, id: id), default: []].append(wait) }
    if isResting.exchange(false, ordering: .sequentiallyConsistent) { news.signal() }
    return number
  }

  /// It is in the queue: from now on it waits so long. Where the id may have been known before,
  /// what the queue knows of it is looked up at once, and there is time for that.
  package func queued(app: String, id: String, _ number: Int, isNew: Bool, forMS: Int64) {
    let key = Key(app: app, id: id)
    if isNew, forMS == 0 {
      for wait in take(key, { $0.number == number }) { wait.tell(.none) }
      return
    }
    let now = RelayClock.steady
    waits.withLock { waits in
      guard let index = waits[key]?.firstIndex(where: { $0.number == number }) else { return }
      waits[key]![index].until = now + (isNew ? forMS : max(forMS, Self.lookMS))
      waits[key]![index].isImpatient = forMS == 0
      waits[key]![index].askAt = isNew ? now + Self.pauseMS : now
    }
    if !isNew { news.signal() }
  }

  /// It never got into the queue, and is not told anything. False: it was told already.
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

  /// What a worker has recorded.
  func tell(_ verdicts: [Verdict]) {
    guard waits.withLock({ !$0.isEmpty }) else { return }
    for verdict in verdicts {
      guard let outcome = verdict.outcomes.first(where: { $0.position == 0 }) else { continue }
      tell(Key(app: verdict.app, id: verdict.id), outcome)
    }
  }

  private func tell(_ key: Key, _ outcome: PushOutcome) {
    for wait in take(key, { _ in true }) {
      // Whoever waits here has one token, so a later position is a list's. A broadcast's outcome has
      // no token.
      let isOther =
        outcome.position > 0 || !outcome.token.isEmpty && outcome.token.text != wait.target
      wait.tell(isOther ? .isAnothers : .outcome(outcome))
    }
  }

  // MARK: What the queue knows

  private func look() {
    let now = RelayClock.steady
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
    for wait in late { wait.tell(.none) }
    for (app, ids) in asked { ask(app, ids) }
  }

  private func ask(_ app: String, _ ids: [String]) {
    var rest = ids[...]
    while !rest.isEmpty {
      let some = Array(rest.prefix(Self.mostAtOnce))
      rest = rest.dropFirst(some.count)
      // A queue that cannot be read says so elsewhere, and is asked again.
      guard let known = try? queue.known(some, app: app) else { return }
      for (id, one) in known {
        let key = Key(app: app, id: id)
        if let outcome = one.outcome {
          tell(key, outcome)
        } else if let target = one.target {
          for wait in take(key, { $0.target != target || $0.isImpatient }) {
            wait.tell(wait.target == target ? .none : .isAnothers)
          }
        }
      }
    }
  }
}
