/// Two clocks: the time since 1970, which may be set, and a monotonic one.
struct TokenTime {
  var unix: UNIXSeconds
  var monotonic: MonotonicSeconds
}

/// Times of a token for other processes that share it, in seconds since 1970.
struct SharedTokenTimes {
  var made: Int64
  /// When a token was last replaced before its time; 0: never.
  var forced: Int64
  var chance: UInt32
}

/// When a provider token is replaced. APNs refuses a token that is older than an hour, and a
/// provider that makes another within 20 minutes (Establishing a token-based connection to APNs).
/// Does no I/O and does not know what is in the token.
struct TokenPolicy {
  /// A token is not replaced sooner, with two exceptions in that time: once if it is refused, and
  /// once more if it was made in the future. A clock that was wrong and is set right makes one
  /// token too many by going wrong and another by going right.
  static let minAge: MonotonicSeconds = 20 * 60
  /// A token is replaced at this age, or by chance up to ten minutes later, so that many providers
  /// do not do it at once.
  static let ripeAge: MonotonicSeconds = 45 * 60
  private static let spread: Seconds = 10 * 60
  /// If the clock goes back by less, nothing is done.
  private static let slack: UNIXSeconds = 60

  enum Decision { case keep, replace }

  /// Counts the tokens made; 0: none yet.
  private(set) var generation: UInt32 = 0
  private var exists = false
  private var made = TokenTime(unix: 0, monotonic: 0)
  private var lifetime = Self.ripeAge
  private var chance: UInt32 = 0
  /// The application gave the token and its lifetime, so it must keep the rule of 20 minutes.
  private var isLent = false
  /// When a token was last replaced early, and when a token from the future was.
  private var forcedAt: MonotonicSeconds?
  private var correctedAt: MonotonicSeconds?

  /// Whether to replace the token if APNs has not refused it.
  func decision(at now: TokenTime) -> Decision {
    guard exists else { return .replace }
    let age = max(now.unix &- made.unix, now.monotonic &- made.monotonic)
    // A token made in the future is invalid.
    guard age >= lifetime || isOfTomorrow(now) else { return .keep }
    return mayReplace(at: now) ? .replace : .keep
  }

  /// Whether to replace the token after APNs refused the one of that generation as expired. If
  /// another session has replaced it since, the new one is used.
  func decision(refused generation: UInt32, at now: TokenTime) -> Decision {
    guard exists, generation == self.generation else { return decision(at: now) }
    return mayReplace(at: now) ? .replace : .keep
  }

  private func isEarly(_ now: TokenTime) -> Bool {
    exists && now.monotonic &- made.monotonic < Self.minAge
  }

  /// The clock was set back to before the time at which it was made: APNs refuses it until that
  /// time has come.
  private func isOfTomorrow(_ now: TokenTime) -> Bool {
    exists && made.unix &- now.unix > Self.slack
  }

  private func mayReplace(at now: TokenTime) -> Bool {
    isLent || !isEarly(now) || mayCorrect(at: now) || Self.isLongAgo(forcedAt, now)
  }

  private func mayCorrect(at now: TokenTime) -> Bool {
    isOfTomorrow(now) && Self.isLongAgo(correctedAt, now)
  }

  private static func isLongAgo(_ time: MonotonicSeconds?, _ now: TokenTime) -> Bool {
    guard let time else { return true }
    return now.monotonic &- time >= minAge
  }

  /// A new token was made; `chance` is any number.
  mutating func replaced(at now: TokenTime, chance: UInt32) {
    if isEarly(now) {
      if mayCorrect(at: now) { correctedAt = now.monotonic } else { forcedAt = now.monotonic }
    }
    generation = generation == .max ? 1 : generation &+ 1
    exists = true
    made = now
    self.chance = chance
    lifetime = Self.lifetime(chance)
  }

  private static func lifetime(_ chance: UInt32) -> Int64 {
    ripeAge &+ Int64(chance % (spread &+ 1))
  }

  /// Drops the token.
  mutating func forget() { exists = false }

  // MARK: Tokens of the application

  /// The application gave a token, and wants the next call after `seconds`. `isOther`: it is not
  /// the one before.
  mutating func lent(at now: TokenTime, for seconds: Int64, isOther: Bool) {
    if isOther || generation == 0 { generation = generation == .max ? 1 : generation &+ 1 }
    exists = true
    isLent = true
    made = now
    lifetime = seconds
  }

  /// A token exists, which may be too old.
  var hasToken: Bool { exists }

  // MARK: Tokens that processes share

  /// At this age a token is about to be refused.
  private static let lastAge: Int64 = 58 * 60

  /// Another token is needed now: this one cannot be used for some more seconds.
  func isUrgent(at now: TokenTime) -> Bool {
    !exists || isOfTomorrow(now)
      || max(now.unix &- made.unix, now.monotonic &- made.monotonic) >= Self.lastAge
  }

  /// The token's times for other processes.
  func times(at now: TokenTime) -> SharedTokenTimes {
    var forced: Int64 = 0
    if let forcedAt { forced = now.unix &- (now.monotonic &- forcedAt) }
    return SharedTokenTimes(made: made.unix, forced: forced, chance: chance)
  }

  /// Whether another process's token can be used: it is neither old nor of the future, and not
  /// older than this one.
  func takes(_ other: SharedTokenTimes, at now: TokenTime) -> Bool {
    let age = now.unix &- other.made
    guard age >= -Self.slack, age < Self.lifetime(other.chance) else { return false }
    return !exists || other.made >= made.unix || isOfTomorrow(now)
  }

  /// Another process's token is used from now on.
  mutating func took(_ other: SharedTokenTimes, at now: TokenTime) {
    generation = generation == .max ? 1 : generation &+ 1
    exists = true
    made = TokenTime(unix: other.made, monotonic: now.monotonic &- max(0, now.unix &- other.made))
    chance = other.chance
    lifetime = Self.lifetime(other.chance)
    if other.forced > 0 {
      forcedAt = now.monotonic &- max(0, now.unix &- other.forced)
    }
  }
}
