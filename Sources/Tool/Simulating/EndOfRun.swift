import Dispatch
import Glibc

/// Waits for SIGINT, SIGTERM or the end of the process in --parent.
struct EndOfRun {
  private let reasons: AsyncStream<String>
  /// Ends the run for a reason other than a signal.
  let request: @Sendable (String) -> Void
  private let signals: [SignalWatch]
  private let timer: (any DispatchSourceTimer)?

  /// From here on, these signals no longer end the process.
  init(parent: pid_t?) {
    let (stream, continuation) = AsyncStream.makeStream(of: String.self)
    let queue = DispatchQueue(label: "end")
    reasons = stream
    request = { continuation.yield($0) }
    // If the output's reader has ended, the run still ends with totals.
    signal(SIGPIPE, SIG_IGN)
    signals = [(SIGINT, "SIGINT"), (SIGTERM, "SIGTERM")].map { number, name in
      SignalWatch(number, on: queue) { continuation.yield(name) }
    }
    timer = parent.map { parent in
      let watched = WatchedProcess(parent)
      let timer = DispatchSource.makeTimerSource(queue: queue)
      timer.schedule(deadline: .now(), repeating: .milliseconds(100))
      timer.setEventHandler {
        if !watched.isAlive { continuation.yield("process \(parent) has ended") }
      }
      timer.activate()
      return timer
    }
  }

  func wait() async -> String {
    for await reason in reasons { return reason }
    return "the process does not exist"
  }
}

/// Distinguishes a process from a later one with the same number.
struct WatchedProcess: Sendable {
  private let pid: pid_t
  private let started: Substring?

  init(_ pid: pid_t) {
    self.pid = pid
    started = Self.status(pid)?.started
  }

  var isAlive: Bool {
    guard let started else { return false }
    errno = 0
    guard let status = Self.status(pid) else {
      // Without a free descriptor the process cannot be checked, which is not a reason to end.
      return errno == EMFILE || errno == ENFILE
    }
    // A zombie process is still listed.
    return status.started == started && status.state != "Z" && status.state != "X"
  }

  private static func status(_ pid: pid_t) -> (state: Substring, started: Substring)? {
    let descriptor = open("/proc/\(pid)/stat", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var text = [UInt8](repeating: 0, count: 1024)
    let count = read(descriptor, &text, text.count)
    guard count > 0 else { return nil }
    // The program's name is in parentheses and may contain anything.
    guard let name = text[..<count].lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let fields = String(decoding: text[(name + 1)..<count], as: UTF8.self).split(separator: " ")
    guard fields.count > 19 else { return nil }
    return (fields[0], fields[19])
  }
}
