import CAPNS
import CMetrics
import Glibc

/// A session's metrics in the format of `apns send --metrics`.
enum SessionMetrics {
  static func text(of session: OpaquePointer, app: String) -> String {
    var bytes: UnsafeMutablePointer<CChar>?
    var count = 0
    guard let file = open_memstream(&bytes, &count) else { return "" }
    let isWhole = write_metrics(file, MetricsLabels.text([("app", app)]), session) == 0
    let isClosed = fclose(file) == 0
    defer { free(bytes) }
    guard isWhole, isClosed, let bytes else { return "" }
    return String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
  }
}
