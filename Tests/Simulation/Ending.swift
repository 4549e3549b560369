/// How an end looks from the session's side.
enum Ending {
  case goodbye
  case broken
  /// An alert that turns the provider's certificate down.
  case refusal
}
