import CAPNS

/// The result of a push, from APNs or from the library.
struct PushResult {
  /// `cancelled` means that it was withdrawn, or expired, before it was written.
  enum Kind { case accepted, rejected, unknown, cancelled }

  var held: HeldEntry
  /// The position in the entry's tokens.
  var position: Int
  var kind: Kind
  var reason = ""
  var httpStatus = 0
  /// The seconds after which a retry makes sense; 0 if it makes none.
  var retryAfterS = 0
  /// APNs requested that time; otherwise it is a default.
  var isAsked = true
  var apnsID = PushID()
  var goneSince: Int64?
  /// APNs' reason as a number; 0 without a reason.
  var code = apns_reason_t(rawValue: 0)
  /// If set, the token is recorded as bad, and reported as feedback with this time.
  var badSince: Int64?

  /// APNs has decided about it.
  var isResponse: Bool { kind == .accepted || kind == .rejected }
  /// It was withdrawn from the session while it waited for a retry.
  var isTaken: Bool { kind == .cancelled || kind == .unknown }

  init(_ held: HeldEntry, _ position: Int, _ kind: Kind) {
    self.held = held
    self.position = position
    self.kind = kind
  }

  @inline(__always)
  func outcome(_ kind: PushOutcome.Kind) -> PushOutcome {
    PushOutcome(
      position: position, token: held.token(at: position), kind: kind, reason: reason,
      httpStatus: httpStatus, apnsID: apnsID, goneSince: goneSince, badSince: badSince)
  }
}
