import CAPNS
import Client
import JSON

/// Tokens that results of apns send report as bad (BadDeviceToken, invalid token): they belong to no
/// device, or to another environment or app.
struct RejectedTokens {
  struct Rejection {
    var token: [UInt8]
    var reason: String
    /// UNIX seconds; nil in results of older versions.
    var at: Int64?
    fileprivate var order: Int
  }

  private var last: [[UInt8]: Rejection] = [:]
  /// The numbers of accepted and rejected notifications, which show whether the provider's setup is
  /// correct.
  private(set) var accepted = 0
  private(set) var rejections = 0

  subscript(token: [UInt8]) -> Rejection? { last[token] }

  var all: [Rejection] { last.values.sorted { $0.order < $1.order } }

  /// Counts an outcome in the results. The newest one for a token applies.
  mutating func note(_ outcome: JSONValue, of token: [UInt8]) {
    guard let kind = outcome["outcome"]?.string.flatMap(SendOutcome.Kind.init(rawValue:)) else {
      return
    }
    switch kind {
    case .accepted:
      accepted += 1
      if !last.isEmpty { last[token] = nil }
    case .rejected:
      guard outcome["status"]?.number == Double(APNS_REJECT_INVALID_TOKEN.rawValue) else { return }
      rejections += 1
      last[token] = Rejection(
        token: token, reason: outcome["reason"]?.string ?? "",
        at: outcome["time"]?.integer.map { Int64($0) }, order: rejections)
    case .unknown, .expired, .refused: break
    }
  }

  /// True if a wrong provider setup is more likely than this number of bad tokens.
  var isDoubtful: Bool { rejections > accepted }
}

extension RejectedTokens.Rejection {
  /// The reason in the results.
  var json: String {
    JSONMembers.object([
      "token": .text(DeviceToken.hex(of: token)),
      "outcome": .text(SendOutcome.Kind.rejected.rawValue), "reason": .text(reason),
      "status": .number(APNS_REJECT_INVALID_TOKEN.rawValue), "time": .number(at),
    ])
  }
}
