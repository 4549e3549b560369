import APNSLibrary
import CAPNS
import Logging

/// Writes what an app's session says into the relay's log. Belongs to the thread of the app's worker.
final class ForwardedLines {
  private let log: Logger
  /// Why nothing is pushed has been said, and each further try is no news.
  var isQuiet = false

  init(_ log: Logger) { self.log = log }

  func tell(_ line: SessionLine) {
    log.log(
      level: level(of: line), "\(line.text)",
      metadata: [
        "kind": "\(String(cString: apns_log_kind_name(line.kind)))",
        "cause": "\(String(cString: apns_cause_name(line.cause)))",
        "connection": .stringConvertible(line.connection),
        "count": .stringConvertible(line.count),
      ])
  }

  private func level(of line: SessionLine) -> Logger.Level {
    let level = Logger.Level(line.level)
    if isQuiet { return min(level, .debug) }
    // The worker says it, and for how long.
    switch line.kind {
    case APNS_LOGGED_REFUSED, APNS_LOGGED_TOKEN:
      return StandingProblem.isOne(line.cause) ? min(level, .info) : level
    default: return level
    }
  }
}
