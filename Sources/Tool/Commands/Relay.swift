import ArgumentParser
import CommandOptions
import Glibc

/// The program apns-relay, which is built separately because of its additional packages.
enum RelayProgram {
  static let name = "apns-relay"

  /// Replaces this process with that program. Returns only if it is not installed.
  static func become(_ arguments: [String]) -> ExitCode {
    for path in places {
      var words = ([name] + arguments).map { strdup($0) } + [nil]
      execv(path, &words)
      let reason = errno
      for word in words { free(word) }
      if reason != ENOENT, reason != ENOTDIR {
        return Exit.refusal("\(path): \(String(cString: strerror(reason)))")
      }
    }
    return Exit.refusal(
      "\(name) was found neither next to this program nor in the PATH: Sources/compile apns-relay "
        + "builds it")
  }

  /// Next to this program, then the directories of PATH. An empty entry is ignored: a program in
  /// the working directory is not an installed one.
  private static var places: [String] {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    var places: [String] = []
    if count > 0 {
      let own = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
      if let slash = own.lastIndex(of: "/") { places.append("\(own[..<slash])/\(name)") }
    }
    let path = getenv("PATH").map { String(cString: $0) } ?? ""
    return places + path.split(separator: ":").map { "\($0)/\(name)" }
  }
}

struct RelayStart: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "relay",
    abstract: "Deliver notifications from a durable queue.",
    discussion: """
      Starts the separate program apns-relay (Documentation/RELAY.md) with these options:

          apns relay --print-config > relay.yaml
          apns relay --config relay.yaml --check
          apns relay --config relay.yaml

      EXIT STATUS: 0 if it ended normally; 1 if a check found an error; 2 if the command line, the \
      configuration, the credentials or the queue cannot be used, or if apns-relay is missing.
      """)

  @Argument(
    parsing: .captureForPassthrough,
    help: .of("option", "Arguments for apns-relay; see --help."))
  var options: [String] = []

  func run() throws { throw RelayProgram.become(options) }
}
