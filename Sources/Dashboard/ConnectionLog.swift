import JSON
import Logging
import Synchronization

/// The newest lines of the gateway's log about its connections, for the page.
package final class ConnectionLog: Sendable {
  struct Line: Sendable {
    /// Counted from 1.
    var number: Int
    var connection: String?
    var text: String

    var json: String {
      """
      {"connection":\(JSONLiteral.string(connection)),"text":\(JSONLiteral.string(text))}
      """
    }
  }

  private static let keeps = 200

  private let kept = Mutex<(lines: [Line], last: Int)>(([], 0))

  package init() {}

  func lines(after number: Int) -> [Line] {
    kept.withLock { kept in Array(kept.lines.drop { $0.number <= number }) }
  }

  fileprivate func add(_ text: String, connection: String?) {
    kept.withLock { kept in
      kept.last += 1
      kept.lines.append(Line(number: kept.last, connection: connection, text: text))
      // Not on every call, because it moves all remaining elements.
      if kept.lines.count > 2 * Self.keeps { kept.lines.removeFirst(Self.keeps) }
    }
  }

  /// A log handler that writes to the page.
  package func handler() -> some LogHandler { ConnectionLogHandler(log: self) }
}

private struct ConnectionLogHandler: LogHandler {
  let log: ConnectionLog
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.info

  subscript(metadataKey key: String) -> Logger.MetadataValue? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    // A logger passes on every level that one of its handlers logs.
    if event.level < logLevel { return }
    log.add("\(event.message)", connection: metadata["connection"].map { "\($0)" })
  }
}
