import Testing

@testable import APNS

@Suite struct TokenPolicyTests {
  private let start: Int64 = 1_700_000_000
  private func time(_ seconds: Int64, unix shift: Int64 = 0) -> TokenTime {
    TokenTime(unix: start &+ seconds &+ shift, monotonic: 5000 + seconds)
  }

  private func fresh(_ chance: UInt32 = 0) -> TokenPolicy {
    var policy = TokenPolicy()
    policy.replaced(at: time(0), chance: chance)
    return policy
  }

  @Test func theFirst() {
    let policy = TokenPolicy()
    #expect(policy.generation == 0)
    #expect(policy.decision(at: time(0)) == .replace)
    #expect(policy.decision(refused: 0, at: time(0)) == .replace)
    #expect(policy.decision(refused: 7, at: time(0)) == .replace)
    #expect(fresh().generation == 1)
    #expect(fresh().decision(at: time(0)) == .keep)
  }

  /// A token is replaced when it is 45 to 55 minutes old, at random.
  @Test func oldEnough() {
    for chance: UInt32 in [0, 1, 300, 600, 601, 1_000_000, .max] {
      let policy = fresh(chance)
      let ripe = 45 * 60 + Int64(chance % 601)
      for second in stride(from: Int64(0), through: 56 * 60, by: 1) {
        #expect(policy.decision(at: time(second)) == (second < ripe ? .keep : .replace))
      }
    }
    #expect(fresh(600).decision(at: time(55 * 60)) == .replace)
  }

  @Test func afterADay() {
    var policy = TokenPolicy()
    var made: [Int64] = []
    var random = SplitMix64(seed: 3)
    for second in 0..<Int64(24 * 3600) where policy.decision(at: time(second)) == .replace {
      policy.replaced(at: time(second), chance: UInt32(truncatingIfNeeded: random.next()))
      made.append(second)
    }
    #expect((26...33).contains(made.count))
    for (one, next) in zip(made, made.dropFirst()) { #expect((2700...3300).contains(next - one)) }
    #expect(policy.generation == UInt32(made.count))
    #expect(Set(zip(made, made.dropFirst()).map { $1 - $0 }).count > 10)
  }

  /// APNs rejects the token as expired: it is replaced immediately, unless another session has
  /// replaced it.
  @Test func rejected() {
    var policy = fresh()
    #expect(policy.decision(refused: 1, at: time(10)) == .replace)
    policy.replaced(at: time(10), chance: 0)
    for second: Int64 in [10, 11, 600, 2699] {
      #expect(policy.decision(refused: 1, at: time(second)) == .keep)
    }
  }

  /// APNs rejects the new token too: no session replaces it again within 20 minutes.
  @Test func rejectedAgain() {
    var policy = fresh()
    policy.replaced(at: time(10), chance: 0)
    #expect(policy.generation == 2)
    for second: Int64 in [10, 11, 600, 1209] {
      #expect(policy.decision(refused: 2, at: time(second)) == .keep)
    }
    #expect(policy.decision(refused: 2, at: time(10 + 1200)) == .replace)
    // A token that is old enough is replaced even if an earlier one was replaced early.
    policy.replaced(at: time(1210), chance: 0)
    #expect(policy.decision(refused: 3, at: time(1211)) == .replace)
    policy.replaced(at: time(1211), chance: 0)
    #expect(policy.decision(refused: 4, at: time(1212)) == .keep)
  }

  /// A gateway rejects every token, and sessions retry every second.
  @Test(arguments: [0, 7200]) func neverMoreThanTwoIn20Minutes(jump: Int64) {
    var policy = TokenPolicy()
    var made: [Int64] = []
    for second in 0..<Int64(12 * 3600) {
      // The clock also jumps back and forth, which allows one more token.
      let now = time(second, unix: second % 7 == 0 ? -jump : second % 5 == 0 ? jump : 0)
      if policy.decision(refused: policy.generation, at: now) == .replace
        || policy.decision(at: now) == .replace
      {
        policy.replaced(at: now, chance: 0)
        made.append(second)
      }
    }
    #expect(made.count > 30)
    let maximum = jump == 0 ? 2 : 3
    for (one, other) in zip(made, made.dropFirst(maximum)) { #expect(other - one >= 1200) }
  }

  @Test func clockSetBack() {
    let policy = fresh()
    // The clock was corrected by a little.
    #expect(policy.decision(at: time(100, unix: -160)) == .keep)
    // The token was issued in the future and is useless, so it is replaced immediately.
    #expect(policy.decision(at: time(100, unix: -161)) == .replace)
    #expect(policy.decision(at: time(100, unix: -86_400)) == .replace)
    // After that everything is as usual.
    var next = policy
    next.replaced(at: time(100, unix: -86_400), chance: 0)
    #expect(next.decision(at: time(200, unix: -86_400)) == .keep)
    #expect(next.decision(at: time(2799, unix: -86_400)) == .keep)
    #expect(next.decision(at: time(2800, unix: -86_400)) == .replace)
    // The clock is set back to its former time. The token is then a day old, and APNs rejects it as
    // expired.
    #expect(next.decision(at: time(200)) == .replace)
    next.replaced(at: time(200), chance: 0)
    #expect(next.decision(at: time(2899)) == .keep)
    #expect(next.decision(at: time(2900)) == .replace)
  }

  /// The clock was a day ahead for a minute and was set right. The token made in that
  /// minute is dated tomorrow, and the one before it is gone.
  @Test func clockThatWasWrong() {
    var policy = fresh()
    #expect(policy.decision(at: time(60, unix: 86_400)) == .replace)
    policy.replaced(at: time(60, unix: 86_400), chance: 0)
    #expect(policy.decision(at: time(61, unix: 86_400)) == .keep)
    #expect(policy.decision(at: time(120)) == .replace)
    #expect(policy.decision(refused: 2, at: time(120)) == .replace)
    policy.replaced(at: time(120), chance: 0)
    for second: Int64 in [120, 121, 1200, 2819] {
      #expect(policy.decision(at: time(second)) == .keep)
    }
    #expect(policy.decision(at: time(2820)) == .replace)
    // A session with a rejected new token must wait, because both early replacements are used up.
    #expect(policy.decision(refused: 3, at: time(121)) == .keep)
    #expect(policy.decision(refused: 3, at: time(1260)) == .replace)
  }

  /// A clock that goes back again and again is followed twice in 20 minutes, not each time.
  @Test func clockThatGoesBackAgainAndAgain() {
    var policy = TokenPolicy()
    var made: [Int64] = []
    for second in 0..<Int64(3600) {
      let now = time(second, unix: -100 * second)
      if policy.decision(at: now) == .replace {
        policy.replaced(at: now, chance: 0)
        made.append(second)
      }
    }
    #expect(made.count >= 6)
    for (one, fourth) in zip(made, made.dropFirst(3)) { #expect(fourth - one >= 1200) }
  }

  /// A clock that stands still or goes back a little repeatedly delays nothing.
  @Test func clockThatStands() {
    let policy = fresh()
    #expect(policy.decision(at: TokenTime(unix: start, monotonic: 5000 + 2699)) == .keep)
    #expect(policy.decision(at: TokenTime(unix: start, monotonic: 5000 + 2700)) == .replace)
    #expect(policy.decision(at: TokenTime(unix: start - 60, monotonic: 5000 + 2700)) == .replace)
  }

  /// The machine sleeps for two hours, which the monotonic clock does not count.
  @Test func sleep() {
    var policy = fresh()
    #expect(policy.decision(at: time(60, unix: 7200)) == .replace)
    policy.replaced(at: time(60, unix: 7200), chance: 0)
    #expect(policy.decision(at: time(120, unix: 7200)) == .keep)
  }

  @Test func extremes() {
    for unix in [Int64.min, -1, 0, .max] {
      for monotonic in [Int64.min, 0, .max] {
        var policy = fresh()
        let now = TokenTime(unix: unix, monotonic: monotonic)
        _ = policy.decision(at: now)
        _ = policy.decision(refused: 1, at: now)
        policy.replaced(at: now, chance: .max)
        #expect(policy.decision(at: now) == .keep)
      }
    }
  }

  @Test func forgotten() {
    var policy = fresh()
    policy.forget()
    #expect(policy.decision(at: time(1)) == .replace)
    policy.replaced(at: time(1), chance: 0)
    // A new number, so that no session takes a token it has for this one.
    #expect(policy.generation == 2)
    #expect(policy.decision(at: time(1)) == .keep)
  }

  // MARK: Shared by processes

  @Test func anotherProcessesToken() {
    let empty = TokenPolicy()
    func other(_ age: Int64, chance: UInt32 = 0) -> SharedTokenTimes {
      SharedTokenTimes(made: start &- age, forced: 0, chance: chance)
    }
    for age: Int64 in [-60, -1, 0, 1, 2699] { #expect(empty.takes(other(age), at: time(0))) }
    for age: Int64 in [-61, -3600, 2700, 3600, .max, .min, .min + 1_700_000_000] {
      #expect(!empty.takes(other(age), at: time(0)))
    }
    #expect(empty.takes(other(3299, chance: 600), at: time(0)))
    #expect(!empty.takes(other(3300, chance: 600), at: time(0)))
    // A token older than the process's own is ignored.
    var policy = TokenPolicy()
    policy.replaced(at: time(0), chance: 0)
    #expect(!policy.takes(other(1), at: time(0)))
    #expect(policy.takes(other(0), at: time(0)))
  }

  /// The rules continue from the state of the other process.
  @Test func stateOfAnotherProcess() {
    var policy = TokenPolicy()
    policy.took(SharedTokenTimes(made: start - 600, forced: start - 600, chance: 0), at: time(0))
    #expect(policy.generation == 1)
    #expect(policy.decision(at: time(2099)) == .keep)
    #expect(policy.decision(at: time(2100)) == .replace)
    #expect(policy.decision(refused: 1, at: time(599)) == .keep)
    #expect(policy.decision(refused: 1, at: time(600)) == .replace)
    let times = policy.times(at: time(100))
    #expect(times.made == start - 600)
    #expect(times.forced == start - 600)
  }

  @Test func urgent() {
    #expect(TokenPolicy().isUrgent(at: time(0)))
    #expect(!fresh().isUrgent(at: time(58 * 60 - 1)))
    #expect(fresh().isUrgent(at: time(58 * 60)))
    #expect(fresh().isUrgent(at: time(100, unix: -161)))
  }

  // MARK: From the application

  /// The application states a token's lifetime and is responsible for the 20 minutes.
  @Test func fromTheApplication() {
    var policy = TokenPolicy()
    policy.lent(at: time(0), for: 10, isOther: true)
    #expect(policy.generation == 1)
    #expect(policy.decision(at: time(9)) == .keep)
    #expect(policy.decision(at: time(10)) == .replace)
    policy.lent(at: time(10), for: 10, isOther: false)
    #expect(policy.generation == 1)
    #expect(policy.decision(at: time(19)) == .keep)
    #expect(policy.decision(at: time(20)) == .replace)
    policy.lent(at: time(20), for: 86_400, isOther: true)
    #expect(policy.generation == 2)
    #expect(policy.decision(at: time(20 + 86_399)) == .keep)
  }
}
