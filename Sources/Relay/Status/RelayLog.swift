import CAPNS
import Client
import Foundation
import JSON
import Logging

/// Writes log lines to standard error without buffering, as JSON or text.
package struct RelayLog: LogHandler {
  package var metadata: Logger.Metadata = [:]
  package var logLevel: Logger.Level = .info
  private let isJSON: Bool

  package init(level: Logger.Level, isJSON: Bool) {
    self.isJSON = isJSON
    logLevel = level
  }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    let level = event.level
    let message = Redaction.of("\(event.message)")
    let all = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
    let now = TimeText.of(RelayClock.now)
    var text: String
    if isJSON {
      text =
        "{\"time\":\"\(now)\",\"level\":\"\(level)\",\"message\":\(JSONLiteral.string(message))"
      for (key, value) in all {
        text += ",\(JSONLiteral.string(key)):\(Self.json(value))"
      }
      text += "}\n"
    } else {
      // The session's messages contain their numbers already.
      let names = all.filter {
        if case .string = $0.value { !["kind", "cause", "peer"].contains($0.key) } else { false }
      }
      text = "\(now) \(level) " + names.map { "\($0.value): " }.joined() + "\(message)\n"
    }
    // One write, so that lines of different threads do not mix.
    _ = Array(text.utf8).withUnsafeBytes { write(2, $0.baseAddress!, $0.count) }
  }

  /// Numbers, true and false are written without quotes.
  private static func json(_ value: Logger.MetadataValue) -> String {
    if case .stringConvertible(let plain) = value, plain is any BinaryInteger || plain is Bool {
      return "\(plain)"
    }
    return JSONLiteral.string("\(value)")
  }
}

extension Logger.Level {
  /// The level of a session's log line.
  init(_ level: apns_log_level_t) {
    switch level {
    case APNS_LOG_ERROR: self = .error
    case APNS_LOG_WARNING: self = .warning
    case APNS_LOG_NOTICE: self = .notice
    case APNS_LOG_INFO: self = .info
    case APNS_LOG_DEBUG: self = .debug
    default: self = .trace
    }
  }
}
