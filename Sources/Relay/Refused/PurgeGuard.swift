/// Keeps programs that delete tokens from deleting good ones. BadDeviceToken and DeviceTokenNotForTopic
/// may only mean the wrong environment, or another app's key: until the app had its first 200, and
/// while more than a share of its last answers say so, such tokens are neither remembered nor told.
/// A device that is gone (410) always counts.
struct PurgeGuard {
  enum Hold: Equatable {
    /// No push of this app was ever accepted.
    case neverAccepted(bad: Int)
    case tooMany(bad: Int, of: Int)
    /// There were too few answers to tell. No reason for an alarm.
    case tooFew(answers: Int)
  }

  private let rules: AppConfiguration.Guard
  /// Of the last answers, whether each said that the token is bad.
  private var answers: [Bool] = []
  private var oldest = 0
  private(set) var bad = 0
  var hasAccepted = false
  /// The one who runs the relay knows that the tokens are bad, until this time (UNIX milliseconds).
  var letGoUntil: Int64 = 0

  init(_ rules: AppConfiguration.Guard) { self.rules = rules }

  var count: Int { answers.count }

  mutating func count(isBad: Bool, isAccepted: Bool) {
    if isAccepted { hasAccepted = true }
    if answers.count < rules.answers {
      answers.append(isBad)
    } else {
      if answers[oldest] { bad -= 1 }
      answers[oldest] = isBad
      oldest = (oldest + 1) % answers.count
    }
    if isBad { bad += 1 }
  }

  /// Why a bad token does not count at present; nil: it does.
  func hold(at now: Int64) -> Hold? {
    if now < letGoUntil { return nil }
    if !hasAccepted { return .neverAccepted(bad: bad) }
    // Of few answers as of the least that tell something: enough bad ones are too many all the same.
    if Double(bad) > rules.share * Double(max(answers.count, rules.least)) {
      return .tooMany(bad: bad, of: answers.count)
    }
    return answers.count < rules.least ? .tooFew(answers: answers.count) : nil
  }
}

extension PurgeGuard.Hold {
  /// Words for an alarm; nil if it is none.
  func alarm(app: String) -> String? {
    let what =
      "such tokens are not remembered and not told as feedback. Look at the app's environment and "
      + "topic; if they are right: apns-relay guard --let-go \(app)"
    switch self {
    case .neverAccepted(let bad):
      return bad == 0
        ? nil
        : "\(bad) answers say that a token is bad, and none of this app was ever accepted: \(what)"
    case .tooMany(let bad, let count):
      return "\(bad) of the last \(count) answers say that a token is bad: \(what)"
    case .tooFew: return nil
    }
  }
}
