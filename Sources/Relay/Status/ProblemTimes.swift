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

  enum Kind: String, Encodable, Sendable {
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
  }

  private let seen = Mutex<[String: Int64]>([:])

  /// Dates all problems of now; a problem that is missing has ended.
  func date(_ problems: [Problem], at now: Int64) -> [Problem] {
    seen.withLock { seen in
      let dated = problems.map { problem in
        var dated = problem
        dated.since = seen[Self.key(problem)] ?? now
        return dated
      }
      seen = Dictionary(dated.map { (Self.key($0), $0.since) }, uniquingKeysWith: min)
      return dated
    }
  }

  /// The words may change while a problem stands.
  private static func key(_ problem: Problem) -> String {
    "\(problem.kind.rawValue == "stopped" ? "failing" : problem.kind.rawValue) \(problem.app ?? "")"
  }
}
