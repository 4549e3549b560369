import Client
import Glibc

/// A session's metrics for Prometheus' node_exporter, in a file that is always complete.
struct MetricsFile {
  /// Prometheus reads it about every 15 seconds.
  private static let interval = 5.0

  private let path: String
  private var written = -Double.infinity

  init(_ path: String) { self.path = path }

  var isDue: Bool { Clock.now - written >= Self.interval }

  /// Readable by all, because node_exporter runs as another user.
  mutating func write(_ session: PushSession) throws(FileFault) {
    written = Clock.now
    guard let text = session.metrics() else { throw FileFault.system(path, ENOMEM) }
    let file = try OutputFile(path, mode: 0o644)
    try file.write(text)
    try file.finish()
  }
}
