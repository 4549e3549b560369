/// Two clocks, in seconds: the time since 1970, which may be set, and one that never goes back.
struct TokenTime {
  var unix: Int64
  var steady: Int64
}

/// When a provider token is replaced. APNs refuses a token that is older than an hour, and a
/// provider that makes another within 20 minutes (Establishing a token-based connection to APNs).
/// Does no I/O and does not know what is in the token.
struct TokenPolicy {
  /// A token is not replaced sooner, with two exceptions in that time: once if it is refused, and
  /// once more if it was made in the future. A clock that was wrong and is set right makes one
  /// token too many by going wrong and another by going right.
  static let leastAge: Int64 = 20 * 60
  /// A token is replaced at this age, or by chance up to ten minutes later, so that many providers
  /// do not do it at once.
  static let ripeAge: Int64 = 45 * 60
  private static let spread: UInt32 = 10 * 60
  /// When the clock goes back by less, nothing is done.
  private static let slack: Int64 = 60

  enum Verdict { case keep, replace }

  /// Counts the tokens made; 0: none yet.
  private(set) var generation: UInt32 = 0
  private var exists = false
  private var made = TokenTime(unix: 0, steady: 0)
  private var lifetime = Self.ripeAge
  /// When one was last replaced before its time, and when one that was made in the future was.
  private var hurriedAt: Int64?
  private var correctedAt: Int64?

  /// What to do with the token if APNs has said nothing about it.
  func verdict(at now: TokenTime) -> Verdict {
    guard exists else { return .replace }
    let age = max(now.unix &- made.unix, now.steady &- made.steady)
    // A token made in the future is as good as none.
    guard age >= lifetime || isOfTomorrow(now) else { return .keep }
    return mayReplace(at: now) ? .replace : .keep
  }

  /// What to do with the token after APNs refused the one of that generation as expired. If another
  /// session has replaced it since, the new one is used.
  func verdict(refused generation: UInt32, at now: TokenTime) -> Verdict {
    guard exists, generation == self.generation else { return verdict(at: now) }
    return mayReplace(at: now) ? .replace : .keep
  }

  private func isEarly(_ now: TokenTime) -> Bool {
    exists && now.steady &- made.steady < Self.leastAge
  }

  /// The clock was set back behind the time at which it was made: APNs refuses it until that time
  /// has come.
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

  /// There is no token any more.
  mutating func forget() { exists = false }
}
