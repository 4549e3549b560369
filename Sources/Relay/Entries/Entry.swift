/// A queue entry as a producer writes it: one notification, or one payload for many devices. It has
/// exactly one of `token`, `tokens` and `channel`.
package struct NewEntry: Equatable, Sendable {
  package static let longestID = 64
  package static let mostTokens = 1000

  package var app: String
  package var id: String
  /// The device token in hex.
  package var token: String?
  /// A JSON array. Each element is a token in hex, or an object with "token" and values to fill in.
  package var tokens: String?
  /// The channel of a broadcast, in base64.
  package var channel: String?
  package var payload: String
  package var topic: String?
  package var pushType: String?
  package var priority: Int?
  /// The expiry in UNIX seconds; 0 if APNs tries once.
  package var expiry: Int64?
  package var collapseID: String?
  /// The UNIX second after which the entry is not sent.
  package var deadline: Int64?
  package var lane = Lane.normal
  /// The UNIX millisecond before which no worker gets it; nil for none.
  package var due: Int64?
  /// The campaign that it is counted, paused and cancelled with; nil for none.
  package var campaign: String?
  /// The trace that outcomes are part of; nil for none.
  package var traceparent: String?
}

extension NewEntry {
  /// The reason why no queue accepts it; nil if it is valid.
  package var fault: RelayFault? {
    if let fault = Self.fault(of: id, "the id") { return fault }
    if let campaign, let fault = Self.fault(of: campaign, "the campaign") { return fault }
    if let traceparent, TraceParent.valid(traceparent) == nil {
      return RelayFault("\(id): traceparent \(TraceParent.fault)")
    }
    guard (token == nil ? 0 : 1) + (tokens == nil ? 0 : 1) + (channel == nil ? 0 : 1) == 1 else {
      return RelayFault("\(id): give one of token, tokens and channel")
    }
    return nil
  }

  /// The reason why this is no ID or campaign; nil if it is one.
  package static func fault(of name: String, _ what: StaticString) -> RelayFault? {
    // Bytes are cheaper to count than characters, and few bytes are few characters.
    guard !name.isEmpty, name.utf8.count <= longestID || name.unicodeScalars.count <= longestID
    else {
      return RelayFault("\(what) '\(name)' does not have 1 to \(longestID) characters")
    }
    // SQLite ends a text at a NUL, and would ignore the entry silently.
    guard !name.utf8.contains(0) else {
      return RelayFault("\(what) '\(name)' contains a NUL")
    }
    return nil
  }

  /// A time in seconds.
  static let dueSeconds: Range<Int64> = 1_000_000_000..<100_000_000_000
  static let longestWaitMS: Int64 = 366 * 86_400_000

  /// The reason why it cannot wait until `due`; nil if it can.
  package func dueFault(at now: Int64) -> RelayFault? {
    guard let due,
      due < 0 || Self.dueSeconds.contains(due) || due > now + Self.longestWaitMS
    else { return nil }
    return RelayFault("\(id): due is in UNIX milliseconds, at most a year ahead, not \(due)")
  }
}

/// An entry as a worker receives it.
package struct Entry: Equatable, Sendable {
  package var number: Int64
  package var content: NewEntry
  /// The number of times that a worker received it, this time included.
  package var deliveries: Int
  /// The number of those deliveries that ended with a response that requested a later retry.
  package var deferrals: Int
  /// The number of those deliveries that ended in a crash while other entries were held too.
  package var crashes = 0
  /// When it was added, or is due if that is later, in UNIX milliseconds.
  package var made: Int64 = 0
  /// The positions in `tokens` that have an outcome.
  package var resolved: PositionSet
  /// The reason why it is unreadable; nil if it is readable.
  package var fault: String?

  /// The last UNIX second in which sending makes sense; nil if it always does.
  package var lastSecond: Int64? {
    let expiry = content.expiry.flatMap { $0 > 0 ? $0 : nil }
    guard let deadline = content.deadline, let expiry else { return content.deadline ?? expiry }
    return min(deadline, expiry)
  }
}
