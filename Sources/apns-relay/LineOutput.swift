import Foundation
import Relay

/// Lines for standard output. A closed pipe ends the process with status 0. So do
/// SIGINT and SIGTERM with endless output, between two lines if the reader takes them.
final class LineOutput {
  nonisolated(unsafe) private static var isWriting: sig_atomic_t = 0
  nonisolated(unsafe) private static var isEnded: sig_atomic_t = 0

  private var bytes: [UInt8] = []

  init(isEndless: Bool = false) {
    signal(SIGPIPE, SIG_IGN)
    guard isEndless else { return }
    (Self.isWriting, Self.isEnded) = (0, 0)
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { _ in
      if LineOutput.isWriting == 0 { _exit(0) }
      LineOutput.isEnded = 1
    }
    // Without SA_RESTART, so that a write to a full pipe ends.
    for number in [SIGINT, SIGTERM] { sigaction(number, &action, nil) }
  }

  func add(_ line: String) {
    bytes += line.utf8
    bytes.append(UInt8(ascii: "\n"))
  }

  /// Writes the lines.
  func write() throws {
    Self.isWriting = 1
    defer {
      Self.isWriting = 0
      bytes.removeAll(keepingCapacity: true)
    }
    var start = 0
    while start < bytes.count {
      let count = bytes[start...].withUnsafeBytes {
        Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count)
      }
      if count >= 0 {
        start += count
      } else if errno == EPIPE || (errno == EINTR && Self.isEnded != 0) {
        _exit(0)
      } else if errno == EAGAIN {
        watch(POLLOUT, -1)
      } else if errno != EINTR {
        throw RelayFault("standard output: \(String(cString: strerror(errno)))")
      }
    }
    if Self.isEnded != 0 { _exit(0) }
  }

  /// Waits. Ends the process if the reader of the pipe ends meanwhile.
  func wait(_ milliseconds: Int32) {
    if watch(0, milliseconds) & (POLLERR | POLLHUP | POLLNVAL) != 0 { _exit(0) }
  }

  @discardableResult private func watch(_ events: Int32, _ milliseconds: Int32) -> Int32 {
    var output = pollfd(fd: STDOUT_FILENO, events: Int16(events), revents: 0)
    return poll(&output, 1, milliseconds) > 0 ? Int32(output.revents) : 0
  }

  /// A text without characters that a terminal would obey.
  static func shown(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { scalar in
          switch scalar.properties.generalCategory {
          case .control, .format, .lineSeparator, .paragraphSeparator: "\u{FFFD}"
          default: scalar
          }
        }))
  }
}
