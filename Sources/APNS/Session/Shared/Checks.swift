/// The checks that each notification of a session must pass.
struct Checks {
  let ofPayload: Bool
  let ofExpiry: Bool
  /// The notification goes into a frame of command 2.
  let isFramed: Bool

  static var none: Checks { Checks(ofPayload: false, ofExpiry: false, isFramed: false) }
  var isNone: Bool { !ofPayload && !ofExpiry }
}
