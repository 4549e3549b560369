/// Protects good tokens from programs that delete bad ones. BadDeviceToken and
/// DeviceTokenNotForTopic may only mean the wrong environment, or another app's key. Until the app
/// had its first 200, and while their share of recent responses is too high, such tokens are
/// neither recorded nor reported. A gone device (410) always counts.
struct BadTokenGuard {
  enum Withholding: Equatable {
    /// No push of this app was ever accepted.
    case neverAccepted(bad: Int)
    case tooMany(bad: Int, of: Int)
    /// There were too few responses to judge, which raises no alarm.
    case tooFew(responses: Int)
  }

  private let rules: AppConfiguration.Guard
  /// For each recent response, whether it called the token bad.
  private var responses: [Bool] = []
  private var oldest = 0
  private(set) var bad = 0
  var hasAccepted = false
  /// The operator accepts bad tokens until this time (UNIX milliseconds).
  var overriddenUntil: Int64 = 0

  init(_ rules: AppConfiguration.Guard) { self.rules = rules }

  var count: Int { responses.count }

  mutating func count(isBad: Bool, isAccepted: Bool) {
    if isAccepted { hasAccepted = true }
    if responses.count < rules.responses {
      responses.append(isBad)
    } else {
      if responses[oldest] { bad -= 1 }
      responses[oldest] = isBad
      oldest = (oldest + 1) % responses.count
    }
    if isBad { bad += 1 }
  }

  /// The reason why a bad token does not count now; nil if it does.
  func withholding(at now: Int64) -> Withholding? {
    if now < overriddenUntil { return nil }
    if !hasAccepted { return .neverAccepted(bad: bad) }
    // With fewer than `minResponses`, the share applies to `minResponses`: many bad tokens trip the
    // guard even in a small sample.
    if Double(bad) > rules.share * Double(max(responses.count, rules.minResponses)) {
      return .tooMany(bad: bad, of: responses.count)
    }
    return responses.count < rules.minResponses ? .tooFew(responses: responses.count) : nil
  }
}

extension BadTokenGuard.Withholding {
  /// The text of the alarm; nil if this is not an alarm.
  func alarm(app: String) -> String? {
    let what =
      "such tokens are neither recorded nor reported as feedback. Check the app's environment and "
      + "topic; if they are right: apns-relay guard --override \(app)"
    switch self {
    case .neverAccepted(let bad):
      return bad == 0
        ? nil
        : "\(bad) responses called a token bad, and no push of this app was ever accepted: \(what)"
    case .tooMany(let bad, let count):
      return "\(bad) of the last \(count) responses called a token bad: \(what)"
    case .tooFew: return nil
    }
  }
}
