/// An outcome that waits to be taken, from a session of either kind.
struct WaitingOutcome {
  let outcome: Outcome
  let identifier: UInt32
  let userData: UnsafeMutableRawPointer?
  /// HTTP/2 only.
  let response: ServiceResponse?
}

/// APNs' response.
struct ServiceResponse {
  let status: UInt16
  /// A number of `apns_reason_t`.
  let reason: UInt8
  /// As APNs wrote it; the bytes are the session's until the next outcome is taken.
  let reasonText: UnsafeRawBufferPointer
  /// UNIX milliseconds since when the device is gone; 0: unknown.
  let goneSince: Int64
  /// After how many seconds the notification may be sent again; 0: there is no point in it.
  let retryAfter: UInt32
  /// APNs requested it; otherwise it is the usual time.
  let isAsked: Bool
  /// The bytes of the apns-id and of the apns-unique-id; all zero: none.
  let id: (UInt64, UInt64)
  let unique: (UInt64, UInt64)
}

/// How a notification ended.
enum Outcome: Equatable {
  case accepted
  case rejected(status: UInt8)
  case unknown
  /// Cancelled by the caller before it was processed.
  case cancelled
  /// Its deadline passed before the service looked at it.
  case expired

  var isRejected: Bool { if case .rejected = self { true } else { false } }

  var word: UInt32 {
    switch self {
    case .accepted: 1 << 8
    case .rejected(let status): 2 << 8 | UInt32(status)
    case .unknown: 3 << 8
    case .cancelled: 4 << 8
    case .expired: 5 << 8
    }
  }

  init(word: UInt32) {
    switch word >> 8 {
    case 1: self = .accepted
    case 2: self = .rejected(status: UInt8(truncatingIfNeeded: word))
    case 4: self = .cancelled
    case 5: self = .expired
    default: self = .unknown
    }
  }
}
