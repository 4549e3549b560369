import CAPNS

/// How the service, or the library, answered.
struct Answer {
  /// Cancelled is what the worker took back before it was written.
  enum Kind { case accepted, rejected, unknown, cancelled }

  var held: HeldEntry
  /// Its place in the entry's tokens.
  var position: Int
  var kind: Kind
  var reason = ""
  var httpStatus = 0
  /// After so many seconds it may be sent again; 0: there is no point in it.
  var retryAfterS = 0
  /// The service says so; otherwise it is what is usual.
  var isAsked = true
  var apnsID = PushID()
  var goneSince: Int64?
  /// The service's reason as a number; 0: there is none.
  var code = apns_reason_t(rawValue: 0)
  /// The token is remembered as refused, and told as feedback with this time.
  var refusedSince: Int64?

  /// It was taken from the session while it waited for another try.
  var isTaken: Bool { kind == .cancelled || kind == .unknown }

  init(_ held: HeldEntry, _ position: Int, _ kind: Kind) {
    self.held = held
    self.position = position
    self.kind = kind
  }

  @inline(__always)
  func outcome(_ end: PushOutcome.End) -> PushOutcome {
    PushOutcome(
      position: position, token: held.token(at: position), end: end, reason: reason,
      httpStatus: httpStatus, apnsID: apnsID, goneSince: goneSince, refusedSince: refusedSince)
  }
}
