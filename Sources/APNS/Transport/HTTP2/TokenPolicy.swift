/// Two clocks, in seconds: that of everybody, since 1970, which may be set, and one that
/// never goes back.
struct TokenTime {
  var unix: Int64
  var steady: Int64
}

/// When a provider token is replaced. APNs refuses one that is older than an hour, and
/// whoever makes another within 20 minutes (Establishing a token-based connection to APNs).
/// Touches nothing, and knows nothing of what is in the token.
struct TokenPolicy {
  /// A token is not replaced sooner, but for once in that time where it is of no use, and
  /// once more where its time is yet to come: a clock that was wrong and is set right makes
  /// a token too many by going wrong and another by going right.
  static let leastAge: Int64 = 20 * 60
  /// It is at this age, or by chance up to ten minutes later, lest many do so at once.
  static let ripeAge: Int64 = 45 * 60
  private static let spread: UInt32 = 10 * 60
  /// A clock that goes back by less is only put right.
  private static let slack: Int64 = 60

  enum Verdict { case keep, replace }

  /// Counts the tokens made; 0: none yet.
  private(set) var generation: UInt32 = 0
  private var exists = false
  private var made = TokenTime(unix: 0, steady: 0)
  private var lifetime = Self.ripeAge
  /// When one was last replaced before its time, and when one that was made too late.
  private var hurriedAt: Int64?
  private var correctedAt: Int64?

  /// What to do with the token, of which APNs has said nothing.
  func verdict(at now: TokenTime) -> Verdict {
    guard exists else { return .replace }
    let age = max(now.unix &- made.unix, now.steady &- made.steady)
    // Made at a time that is yet to come, it is as good as none.
    guard age >= lifetime || isOfTomorrow(now) else { return .keep }
    return mayReplace(at: now) ? .replace : .keep
  }

  /// What to do with the token after APNs took the one of that generation for expired:
  /// where another session has had it replaced since, the new one serves.
  func verdict(refused generation: UInt32, at now: TokenTime) -> Verdict {
    guard exists, generation == self.generation else { return verdict(at: now) }
    return mayReplace(at: now) ? .replace : .keep
  }

  private func isEarly(_ now: TokenTime) -> Bool {
    exists && now.steady &- made.steady < Self.leastAge
  }

  /// The clock was set back behind the time at which it was made: APNs refuses it until
  /// that has come.
  private func isOfTomorrow(_ now: TokenTime) -> Bool {
    exists && made.unix &- now.unix > Self.slack
  }

  private func mayReplace(at now: TokenTime) -> Bool {
    !isEarly(now) || mayCorrect(at: now) || Self.isLongAgo(hurriedAt, now)
  }

  private func mayCorrect(at now: TokenTime) -> Bool {
    isOfTomorrow(now) && Self.isLongAgo(correctedAt, now)
  }

  private static func isLongAgo(_ time: Int64?, _ now: TokenTime) -> Bool {
    guard let time else { return true }
    return now.steady &- time >= leastAge
  }

  /// There is a new token; `chance` is any number.
  mutating func replaced(at now: TokenTime, chance: UInt32) {
    if isEarly(now) {
      if mayCorrect(at: now) { correctedAt = now.steady } else { hurriedAt = now.steady }
    }
    generation = generation == .max ? 1 : generation &+ 1
    exists = true
    made = now
    lifetime = Self.ripeAge &+ Int64(chance % (Self.spread &+ 1))
  }

  /// There is none any more.
  mutating func forget() { exists = false }
}
