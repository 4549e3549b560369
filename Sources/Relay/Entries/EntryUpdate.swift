/// The final outcome of one notification.
package struct PushOutcome: Equatable, Sendable {
  package enum Kind: String, CaseIterable, Sendable {
    /// APNs answered 200.
    case accepted
    /// APNs rejected it.
    case rejected
    /// It may have arrived, and the app's configuration forbids redelivery.
    case unknown
    /// Its expiry or deadline passed before it was sent.
    case expired
    /// The relay refused it; `reason` has the error of the entry.
    case refused
    /// It was delivered too often. The history is in `dead`.
    case dead
    /// The operator cancelled it before it was sent.
    case cancelled
  }

  /// The position in the entry's tokens; 0 for a single one.
  package var position: Int
  package var token: WrittenToken
  package var kind: Kind
  package var reason = ""
  package var httpStatus = 0
  package var apnsID = PushID()
  /// The UNIX second since when the device is gone (410).
  package var goneSince: Int64?
  /// If set, the token is recorded as bad, and reported as feedback with this time in UNIX seconds.
  package var badSince: Int64?
  /// An operator's order decided it, not a response: it counts only while the worker holds the
  /// delivery.
  package var isByOrder = false
}

/// A worker's update of an entry.
package struct EntryUpdate: Equatable, Sendable {
  package enum Disposition: Equatable, Sendable {
    /// The worker keeps it.
    case held
    /// Every notification has its outcome, and the entry is removed.
    case finished
    /// The entry is deferred until this time. `isRequested` is true if APNs requested that.
    case deferred(at: Int64, isRequested: Bool, line: String)
    /// It returns to the queue as if it had not been claimed, at this time or immediately: it was
    /// not sent, or APNs rejected the provider.
    case released(at: Int64?)
    /// It becomes a dead letter.
    case dead(line: String)

    /// Whether the entry is removed.
    var isEnd: Bool {
      switch self {
      case .finished, .dead: true
      case .held, .deferred, .released: false
      }
    }
  }

  package var number: Int64
  package var app: String
  package var id: String
  package var campaign: String?
  package var traceparent: String?
  package var deliveries: Int
  package var outcomes: [PushOutcome]
  package var disposition: Disposition
  /// Whether some outcomes of this delivery, in this update or before, are by order.
  package var isByOrder = false

  /// For a worker that lost the delivery: otherwise it would end an entry whose outcomes by order did
  /// not count.
  mutating func dropOrders() {
    outcomes.removeAll(where: \.isByOrder)
    (disposition, isByOrder) = (.held, false)
  }

  /// Whether a device is gone, or a token is recorded as bad.
  var hasLostToken: Bool {
    var hasOne = false
    forEachOutcome {
      if $0.pointee.goneSince != nil || $0.pointee.badSince != nil { hasOne = true }
    }
    return hasOne
  }

  /// Whether APNs has responded, which it does only for entries with valid text.
  var wasSent: Bool {
    var wasSent = false
    forEachOutcome { if $0.pointee.httpStatus > 0 { wasSent = true } }
    return wasSent
  }

  /// Passes each outcome by pointer, because a copy would retain its strings.
  @inline(__always)
  func forEachOutcome(_ body: (UnsafePointer<PushOutcome>) -> Void) {
    outcomes.withUnsafeBufferPointer { outcomes in
      guard let first = outcomes.baseAddress else { return }
      for place in outcomes.indices { body(first + place) }
    }
  }
}
