import CAPNS

/// The options that a program gives a session.
struct GivenOptions {
  var session = apns_session_options_t()
  var binary = apns_binary_options_t()
  var tuning = apns_tuning_t()

  func checked() throws(Failure) -> SessionOptions { try SessionOptions(session, binary, tuning) }
}
