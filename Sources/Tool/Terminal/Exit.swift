import ArgumentParser
import Client
import Glibc

enum Exit {
  static let someRejected = ExitCode(1)
  static let usage = ExitCode(2)
  static let unreachable = ExitCode(3)

  static let text = """
    EXIT STATUS: 0 if all went well and every notification was accepted; 1 if some were \
    rejected, refused, expired, left unknown or unsent, or if a check found errors; 2 if the command line, \
    a file or the credentials cannot be used; 3 if the service could not be reached.
    """

  static let ofChannels = """
    EXIT STATUS: 0 if everything was done; 1 if the service rejected a request, or if the response \
    for a new channel was lost; 2 if the command line, a file or the credentials cannot be used; 3 \
    if the service could not be reached.
    """

  /// For commands that only print.
  static let ofPrinting =
    "EXIT STATUS: 0 if it was printed; 2 if the command line cannot be used."

  static func end(with status: ExitCode) -> Never { exit(status.rawValue) }

  /// Ends as after a wrong option, but without the usage, which does not help with a wrong file.
  static func refusal(_ message: String) -> ExitCode { report(message, usage) }

  /// An error of `make` is a refusal, after the name of the option if one is given.
  static func refusing<Value>(_ option: String? = nil, _ make: () throws -> Value) throws -> Value {
    do {
      return try make()
    } catch {
      throw refusal((option.map { "\($0): " } ?? "") + "\(error)")
    }
  }

  /// Ends with the library's error about the service, and explains an alert in the handshake.
  static func unreached(_ error: LibraryError, _ shown: AlertCause.Shown) -> ExitCode {
    guard error.isConnection else { return refusal(error.message) }
    let status = report(error.message, unreachable)
    if let words = AlertCause.words(error, shown) {
      StandardStream.error.write("  \(Printable.line(words))\n")
    }
    return status
  }

  static func report(_ message: String, _ status: ExitCode) -> ExitCode {
    StandardStream.error.write("Error: \(Printable.line(message))\n")
    return status
  }
}
