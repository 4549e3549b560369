import Client
import Logging

/// The reason why pushes or records fail now. A failure is logged once, until it is over.
struct WorkerProblem {
  /// The kind of the last failure. While no pushes are sent, it is over when the same call
  /// succeeds.
  enum Cause { case claiming, staying, other }

  /// nil if they succeed.
  private(set) var words: String?
  var standing = StandingProblem()
  private var cause: Cause?
  private var logged: Set<String> = []
  private let log: Logger

  init(_ log: Logger) { self.log = log }

  var isAny: Bool { words != nil || standing.words != nil || standing.isInDoubt }
  var isOfQueue: Bool { words != nil && cause != .other }

  mutating func report(_ words: String, _ cause: Cause) {
    (self.words, self.cause) = (words, cause)
    if logged.count > 100 { logged.removeAll() }
    if logged.insert(words).inserted { log.warning("\(words)") }
  }

  mutating func note(_ error: LibraryError, at now: Int64) {
    guard StandingProblem.isOne(error.cause) else { return report(error.message, .other) }
    let words = StandingProblem.words(error)
    standing.meet(words, error.cause, at: now, log)
    (self.words, cause) = (words, .other)
  }

  /// True if the response shows a problem that stops all work. Any other response ends the problem,
  /// unless outcomes cannot be recorded.
  mutating func receive(_ result: PushResult, at now: Int64, isRecording: Bool) -> Bool {
    if let words = standing.receive(result, at: now, log) {
      (self.words, cause) = (words, .other)
      return true
    }
    if words != nil, result.httpStatus > 0, isRecording { clear() }
    return false
  }

  mutating func clear() {
    words = nil
    logged.removeAll()
  }

  /// True if the problem was of this kind.
  mutating func clear(_ cause: Cause) -> Bool {
    guard self.cause == cause, words != nil else { return false }
    clear()
    return true
  }
}
