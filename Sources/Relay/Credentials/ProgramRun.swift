import CSystem
import Foundation

/// Runs a program and returns its output: without a shell, with empty standard input, without our
/// open files, and with a time limit.
struct ProgramRun {
  /// More standard output is an error.
  private static let mostOutput = 4096
  /// How much of the end of standard error is kept.
  private static let mostErrors = 4096
  private static let tickMS: Int32 = 20
  /// A longer word may be a secret.
  private static let longestWord = 60
  private static let mostWords = 200

  let words: [String]
  /// Elements have the form NAME=value.
  let environment: [String]
  let limitS: Double
  /// A monotonic clock in milliseconds.
  var clock: () -> Int64 = { RelayClock.monotonic }

  /// The output, without surrounding white space.
  func output() throws(RelayFault) -> String {
    guard let out = OutputPipe(), let errors = OutputPipe() else {
      throw fault("no pipe: \(Self.reason(errno))")
    }
    let limit = clock() + Int64(limitS * 1000)
    let process = try start(out, errors)
    out.closeWriter()
    errors.closeWriter()
    var printed: [UInt8] = []
    var said: [UInt8] = []
    var status: CInt?
    while true {
      out.read(into: &printed, upTo: Self.mostOutput + 1)
      errors.read(into: &said, upTo: .max)
      if said.count > 2 * Self.mostErrors { said.removeFirst(said.count - Self.mostErrors) }
      // One more read after its end, which gets the last output. A child of it may keep the pipe
      // open, so there is no wait for the pipe's end.
      if status != nil { break }
      if printed.count > Self.mostOutput {
        Self.end(process)
        throw fault("it printed more than \(Self.mostOutput) bytes")
      }
      if clock() >= limit {
        Self.end(process)
        throw fault("it did not end within \(DurationText.number(limitS)) s")
      }
      var ended: CInt = 0
      if waitpid(process, &ended, WNOHANG) == process {
        status = ended
      } else {
        Self.wait(out, errors)
      }
    }
    guard let status else { throw fault("it did not end") }
    guard status == 0 else {
      let end =
        status & 0x7F == 0
        ? "it ended with status \(status >> 8 & 0xFF)" : "it was ended by signal \(status & 0x7F)"
      throw fault(end + Self.lastLine(of: said.suffix(Self.mostErrors)))
    }
    guard printed.count <= Self.mostOutput else {
      throw fault("it printed more than \(Self.mostOutput) bytes")
    }
    guard let text = String(validating: printed, as: UTF8.self) else {
      throw fault("its output is not UTF-8")
    }
    let token = text.trimmingCharacters(in: .whitespacesAndNewlines)
    guard !token.isEmpty else { throw fault("its output is empty") }
    return token
  }

  func fault(_ words: String) -> RelayFault {
    RelayFault("\(self.words.first ?? "the program"): \(words)")
  }

  private func start(_ out: OutputPipe, _ errors: OutputPipe) throws(RelayFault) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, out.writer, 1)
    posix_spawn_file_actions_adddup2(&actions, errors.writer, 2)
    _ = csystem_spawn_close_from(&actions, 3)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // The relay blocks signals that it waits for, and ignores SIGPIPE; the program starts with the
    // defaults, as from a shell. It is in a separate process group, so that its children can be
    // killed too.
    var none = sigset_t()
    sigemptyset(&none)
    var all = sigset_t()
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(
      &attributes,
      Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
    var process: pid_t = 0
    let result = Self.withStrings(words) { arguments in
      Self.withStrings(environment) { environment in
        // Searches the PATH if the name has no slash.
        posix_spawnp(&process, arguments[0]!, &actions, &attributes, arguments, environment)
      }
    }
    guard result == 0 else { throw fault("it cannot be started: \(Self.reason(result))") }
    return process
  }

  private static func withStrings<Value>(
    _ texts: [String], _ use: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Value
  ) -> Value {
    var all: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) }
    all.append(nil)
    defer { for one in all { free(one) } }
    return all.withUnsafeMutableBufferPointer { use($0.baseAddress!) }
  }

  private static func end(_ process: pid_t) {
    kill(-process, SIGKILL)
    // It may not have its group yet.
    kill(process, SIGKILL)
    while waitpid(process, nil, 0) < 0, errno == EINTR {}
  }

  private static func wait(_ out: OutputPipe, _ errors: OutputPipe) {
    // poll() ignores negative descriptors: that pipe is at its end.
    var watched = [out, errors].map {
      pollfd(fd: $0.isAtEnd ? -1 : $0.reader, events: Int16(POLLIN), revents: 0)
    }
    _ = poll(&watched, nfds_t(watched.count), tickMS)
  }

  private static func reason(_ error: CInt) -> String { String(cString: strerror(error)) }

  /// The last line of standard error, without possible secrets.
  static func lastLine(of bytes: ArraySlice<UInt8>) -> String {
    let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
    guard let line = lines.last(where: { $0.contains { !$0.isWhitespace } }) else { return "" }
    let words = line.split(whereSeparator: \.isWhitespace).map { word -> Substring in
      word.utf8.count > longestWord ? "…" : word
    }
    let shown = words.joined(separator: " ").unicodeScalars.map { sign in
      sign.properties.generalCategory == .control || sign.properties.generalCategory == .format
        ? "?" : Character(sign)
    }
    return ": " + String(shown.prefix(mostWords))
  }

  private final class OutputPipe {
    let reader: CInt
    private(set) var writer: CInt
    private(set) var isAtEnd = false

    init?() {
      var ends: [CInt] = [-1, -1]
      guard pipe(&ends) == 0 else { return nil }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      // Moves the descriptors above 2, because 0 to 2 are replaced in the program.
      for index in ends.indices where ends[index] <= 2 {
        let higher = fcntl(ends[index], F_DUPFD_CLOEXEC, 3)
        guard higher >= 0 else {
          for end in ends { close(end) }
          return nil
        }
        close(ends[index])
        ends[index] = higher
      }
      reader = ends[0]
      writer = ends[1]
      _ = fcntl(reader, F_SETFL, O_NONBLOCK)
    }

    deinit {
      close(reader)
      closeWriter()
    }

    func closeWriter() {
      if writer >= 0 { close(writer) }
      writer = -1
    }

    /// Reads the available output.
    func read(into bytes: inout [UInt8], upTo limit: Int) {
      var room = [UInt8](repeating: 0, count: 4096)
      defer { csystem_wipe(&room, room.count) }
      // Limited, because a program may print faster than this reads.
      for _ in 0..<16 where !isAtEnd && bytes.count < limit {
        let count = Glibc.read(reader, &room, room.count)
        if count > 0 {
          bytes += room.prefix(count)
        } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
          isAtEnd = true
        } else {
          return
        }
      }
    }
  }
}
