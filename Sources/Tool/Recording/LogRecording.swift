import CAPNS
import Client

/// Makes a recording of the log in which a program has its session's lines at the level trace.
final class LogRecording {
  private let output: LineFile
  /// UNIX milliseconds of the first line, and of the current one.
  private var began: Int64?
  private var now: Int64 = 0
  /// The highest number of a connection of earlier sessions, and of this one.
  private var before: UInt32 = 0
  private var highest: UInt32 = 0
  private var connected: Set<UInt32> = []
  private var hasFrames = false
  private lazy var recorder = Recorder(output) { [unowned self] in Int(now - (began ?? now)) }

  init(_ output: LineFile) { self.output = output }

  func read(_ path: String) throws(FileFault) {
    let lines = try LineReader(path)
    while let bytes = try lines.next() {
      guard let logged = LoggedLine(bytes) else { continue }
      guard let time = logged.time else {
        throw FileFault(path: path, line: lines.line, message: "has no time: \(Self.form)")
      }
      take(logged.line, at: time)
      if lines.line % 1000 == 0 { try recorder.flush() }
    }
    guard hasFrames else {
      throw FileFault(
        path: path, message: "has no frames of a session at the level trace: \(Self.form)")
    }
    try recorder.finish()
  }

  private static let form =
    "expected lines such as 2026-11-29T14:00:00.043Z connection 1: > HEADERS, stream 1, to 5f79cfda…"

  private func take(_ line: SessionLine, at time: Int64) {
    if began == nil {
      began = time
      output.begin(at: time / 1000)
    }
    // A clock that is set back does not change the order.
    now = max(now, time)
    if line.kind == APNS_LOG_KIND_FRAME { hasFrames = true }
    if line.kind == APNS_LOG_KIND_CONNECTED { begin(line.connection) }
    var line = line
    if line.connection != 0 { line.connection &+= before }
    highest = max(highest, line.connection)
    recorder.take(line)
  }

  /// A session numbers its connections from 1: the same number again is of the next session.
  private func begin(_ connection: UInt32) {
    if !connected.insert(connection).inserted {
      recorder.forget()
      before = highest
      connected = [connection]
    }
  }
}
