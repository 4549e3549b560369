import Client
import CAPNS
import Logging

/// Forwards an app's session log to the relay's log, on the worker's thread.
final class ForwardedLines {
  private let log: Logger
  /// The reason why all pushes fail is logged already, so further attempts log at debug level.
  var isQuiet = false

  init(_ log: Logger) { self.log = log }

  func report(_ line: SessionLine) {
    log.log(
      level: level(of: line), "\(line.text)",
      metadata: [
        "kind": "\(String(cString: apns_log_kind_name(line.kind)))",
        "cause": "\(String(cString: apns_cause_name(line.cause)))",
        "connection": .stringConvertible(line.connection),
        "count": .stringConvertible(line.count),
        "milliseconds": .stringConvertible(line.milliseconds),
        "left_out": .stringConvertible(line.leftOut),
        "resumed": .stringConvertible(line.isResumed),
        "peer": "\(line.peer)",
      ])
  }

  private func level(of line: SessionLine) -> Logger.Level {
    let level = Logger.Level(line.level)
    if isQuiet { return min(level, .debug) }
    // The worker logs these, with their duration.
    switch line.kind {
    case APNS_LOG_KIND_CONNECT_FAILED, APNS_LOG_KIND_TOKEN:
      return StandingProblem.isOne(line.cause) ? min(level, .info) : level
    default: return level
    }
  }
}
