import Glibc

/// Asks on the terminal, even if the standard streams are redirected.
enum Prompt {
  /// nil without a terminal or an answer.
  static func secret(_ question: String) -> String? {
    let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard terminal >= 0 else { return nil }
    defer { close(terminal) }
    var before = termios()
    guard tcgetattr(terminal, &before) == 0 else { return nil }
    var silent = before
    silent.c_lflag &= ~tcflag_t(ECHO)
    silent.c_lflag |= tcflag_t(ECHONL)
    guard tcsetattr(terminal, TCSAFLUSH, &silent) == 0 else { return nil }
    defer { tcsetattr(terminal, TCSAFLUSH, &before) }
    let bytes = Array(Printable.line(question).utf8)
    _ = write(terminal, bytes, bytes.count)
    var answer: [UInt8] = []
    var byte: UInt8 = 0
    while read(terminal, &byte, 1) == 1, byte != UInt8(ascii: "\n") { answer.append(byte) }
    return answer.isEmpty ? nil : String(decoding: answer, as: UTF8.self)
  }
}
