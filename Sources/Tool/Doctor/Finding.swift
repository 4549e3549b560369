/// Something that is wrong, and what to do about it.
struct Finding {
  enum Severity: String {
    /// It cannot work so.
    case problem
    /// It works, or may, and should not stay so.
    case warning
  }

  /// For scripts, such as "certificate-expired"; stays the same.
  var cause: String
  var severity = Severity.problem
  /// The subject: a file, a name, a service.
  var about: String
  var message: String
  var remedy: String
}
