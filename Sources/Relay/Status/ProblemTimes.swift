import Synchronization

/// Current problems, and when they began.
final class ProblemTimes: Sendable {
  struct Problem: Encodable, Sendable {
    /// nil if it concerns all apps.
    var app: String?
    var kind: Kind
    var text: String
    /// When it was first seen, in UNIX milliseconds.
    var since: Int64 = 0
  }

  enum Kind: String, Encodable, CaseIterable, Sendable {
    /// Nothing is pushed until an operator acts.
    case stopped
    /// Pushes or records fail.
    case failing
    /// The relays on the queue have different settings.
    case disagreement
    /// The queue cannot be used.
    case queue
    /// A relay of the app sends no heartbeat.
    case silent
    /// Urgent entries wait for too long.
    case waiting
    /// The certificate expires soon.
    case certificate
    /// Bad tokens do not count.
    case guarded
    /// The webhook's receiver does not accept requests.
    case webhook
  }

  private struct Name: Hashable {
    var app: String?
    var kind: Kind

    /// The words may change while a problem stands, and so may `stopped`.
    init(_ problem: Problem) {
      (app, kind) = (problem.app, problem.kind == .stopped ? .failing : problem.kind)
    }
  }

  private let seen = Mutex<[Name: Int64]>([:])

  /// Dates the current problems of these kinds. A missing problem has ended.
  func date(_ problems: [Problem], of kinds: [Kind], at now: Int64) -> [Problem] {
    seen.withLock { seen in
      let dated = problems.map { problem in
        var dated = problem
        dated.since = seen[Name(problem)] ?? now
        return dated
      }
      let others = seen.filter { !kinds.contains($0.key.kind) }
      seen = others.merging(dated.map { (Name($0), $0.since) }, uniquingKeysWith: min)
      return dated
    }
  }
}
