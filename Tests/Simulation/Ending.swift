/// How the end of a connection looks to the session.
enum Ending {
  case goodbye
  case broken
  /// A TLS alert that refuses the provider's certificate.
  case refusal
}
