/// A problem or warning, with a remedy.
struct Finding: Error {
  enum Severity: String {
    /// Prevents pushes.
    case problem
    /// Pushes work, or may work, but the setup should be changed.
    case warning
  }

  /// A stable name for scripts, such as "certificate-expired".
  var cause: String
  var severity = Severity.problem
  /// The subject: a file, a name, a service.
  var about: String
  var message: String
  var remedy: String

  static func problem(
    _ cause: String, _ about: String, _ message: String, _ remedy: String
  ) -> Finding {
    Finding(cause: cause, about: about, message: message, remedy: remedy)
  }
  static func warning(
    _ cause: String, _ about: String, _ message: String, _ remedy: String
  ) -> Finding {
    Finding(cause: cause, severity: .warning, about: about, message: message, remedy: remedy)
  }
}
