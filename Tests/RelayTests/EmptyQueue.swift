import Synchronization

@testable import Relay

/// A queue without entries. It reports the calls of a worker, and keeps the apps' values.
final class EmptyQueue: QueueEngine {
  /// A call of a worker.
  enum Call: Equatable {
    case heartbeat
    case look
  }

  /// How often IDs were looked up. All are known, and wait.
  let lookups = Atomic(0)
  /// Only tests report changes.
  let news = QueueNews()
  /// Called at the end of each of these calls.
  let called = Mutex<(@Sendable (Call) -> Void)?>(nil)

  private let values = Mutex<[[String]: String]>([:])

  private func note(_ call: Call) { called.withLock { $0 }?(call) }

  func watch(
    _ part: QueuePart, of app: String, _ tell: @escaping @Sendable () -> Void
  ) -> QueueNews.Watch? { news.watch(part, of: app, tell) }

  func reclaim(silentSince: Int64, at now: Int64) -> Int {
    note(.heartbeat)
    return 0
  }

  func isAnythingThere(app: String, at now: Int64) -> Bool {
    note(.look)
    return false
  }

  func known(_ ids: [String], app: String) -> [String: KnownEntry] {
    lookups.add(1, ordering: .relaxed)
    return Dictionary(uniqueKeysWithValues: ids.map { ($0, KnownEntry(target: "5f79cfda")) })
  }

  // MARK: Values

  func appState(_ name: String, app: String) -> String? { values.withLock { $0[[app, name]] } }

  func setAppState(_ name: String, _ text: String?, app: String) {
    values.withLock { $0[[app, name]] = text }
  }

  func replaceAppState(_ name: String, _ old: String?, by text: String, app: String) -> Bool {
    values.withLock { values in
      guard values[[app, name]] == old else { return false }
      values[[app, name]] = text
      return true
    }
  }

  // MARK: What an empty queue answers

  func check() {}
  func join(app: String, named: String, at now: Int64) -> WorkerID { WorkerID(number: 1, app: app) }
  func renew(_: WorkerID, at _: Int64) -> Bool { true }
  func leave(_: WorkerID, line _: String, at _: Int64) {}
  func workers(app _: String, at _: Int64) -> [RegisteredWorker] { [] }
  func knows(_: WorkerID) -> Bool { true }
  func claim(
    _: WorkerID, lanes _: [Lane], room _: Int, inOrder _: Bool, isFree _: Bool, at _: Int64
  ) -> [Entry] { [] }
  func nextDue(app _: String, lanes _: [Lane], at _: Int64) -> Int64? { nil }
  func bringBack(app _: String, at _: Int64) -> Int { 0 }
  func record(_: [EntryUpdate], by _: WorkerID, at _: Int64) {}
  func enqueue(_: [NewEntry], at _: Int64) -> Int { 0 }
  func trim(before _: Int64) -> Int { 0 }
  func depths(at _: Int64) -> [String: QueueDepth] { [:] }
  func campaignOutcomes(app _: String) -> [String: CampaignOutcomes] { [:] }
  func left(_: EntryChoice, app _: String) -> [String: EntriesLeft] { [:] }
  func advance(app _: String, cancelled _: [EntryChoice], paused _: Set<String>, at _: Int64) -> Int
  { 0 }
  func advance(limited _: String, app _: String, lanes _: [Lane], upTo _: Int) -> Int { 0 }
  func advance(app _: String, exceptLimited _: Set<String>) -> Int { 0 }
  func isServed(_: String, since _: Int64) -> Bool { true }
  func badTokens(app _: String, after _: Int64, most _: Int) -> [BadToken] { [] }
  func recordBadTokens(_: [GoneToken], app _: String, at _: Int64) {}
  func forgetBadTokens(before _: Int64) -> Int { 0 }
  func feedback(app _: String, most _: Int) -> [GoneToken] { [] }
  func forgetFeedback(_: [GoneToken], app _: String) {}
  func lastResponses(app _: String, most _: Int) -> [RecordedResponse] { [] }
  func reader(_: String, app _: String) -> String? { nil }
  func moveReader(_: String, app _: String, from _: String?, to _: String?) -> Bool { true }
  func lastOutcome(app _: String) -> String { "0" }
  func leaseConnections(
    _: WorkerID, held _: Int, wanted: Int, isNeeded _: Bool, of _: Int
  ) -> Int? { wanted }
  func providerToken(
    team _: String, key _: String, madeAfter _: Int64, at _: Int64, within _: Int64,
    make: () throws -> SharedToken
  ) throws -> SharedToken { try make() }
  func outcomes(_: OutcomeFilter, app _: String, after number: String) -> OutcomePage {
    OutcomePage(last: number, isEnd: true)
  }
  func deadLetters(app _: String, ids _: Set<String>, after _: String, most _: Int)
    -> [DeadLetter]
  { [] }
  func retry(_: [DeadLetter], app _: String, at _: Int64) -> [String: Int] { [:] }
  func discard(_: [DeadLetter], app _: String) -> Int { 0 }
  func trimDeadLetters(before _: Int64) -> Int { 0 }
  func trimGone(before _: Int64, at _: Int64) -> Int { 0 }
}
