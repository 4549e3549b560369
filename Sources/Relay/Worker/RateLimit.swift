/// A limit of notifications a second for all relays on a queue together: each takes a token
/// from a bucket that is in the queue.
///
/// The bucket is the time up to which tokens are taken (GCRA), and the clock of the relay that took
/// the last ones. The relays' clocks may differ: a relay that finds a clock ahead sets its own
/// clock to that. So all have the clock that is furthest ahead, which is as fast as each of them.
struct RateLimit {
  /// The bucket of all notifications of an app.
  static let ofApp = "rate"

  let perSecond: Int
  /// When there may be tokens again (milliseconds of the monotonic clock); 0 if none was missing.
  private(set) var waitsUntil: Int64 = 0
  private let bucket: String
  /// Tokens taken and not used yet.
  private var tokens = 0
  /// The following times are microseconds, of the monotonic clock unless noted.
  ///
  /// Until when the tokens may be used, so that they are not saved up for a burst.
  private var usableUntil: Int64 = 0
  /// Asks the queue for none before this time.
  private var asksFrom: Int64 = 0
  /// The bucket's time is this or later.
  private var taken: Int64 = 0
  /// How far the bucket's clock is ahead of the monotonic one.
  private var ahead: Int64 = 0
  /// Part of the bucket's text. If two relays wrote the same, both would believe that it is theirs.
  private let mark = String(UInt64.random(in: .min ... .max), radix: 36)

  private static let second: Int64 = 1_000_000
  private static let attempts = 3
  /// A relay waits up to this much longer than it must, so that each of them is the first at times.
  private static let mostJitter: Int64 = 5000

  /// nil without a limit.
  init?(_ perSecond: Int, bucket: String) {
    guard perSecond > 0 else { return nil }
    self.perSecond = perSecond
    self.bucket = bucket
  }

  /// How many are taken at once, 2 % of a second's: a killed relay loses no more.
  private var chunk: Int { max(1, perSecond / 50) }

  /// The time of this many tokens, rounded up.
  private func time(of count: Int) -> Int64 {
    (Int64(count) * Self.second + Int64(perSecond) - 1) / Int64(perSecond)
  }

  /// The time whose tokens an idle bucket keeps. It is longer than a chunk's, so that a relay that
  /// wakes up late loses none.
  private var kept: Int64 { max(time(of: 1) + 20_000, 40_000) }

  /// A new attempt to send.
  mutating func begin() { waitsUntil = 0 }

  /// How many of `wanted` notifications may be sent now. Without tokens it takes new ones. `clock` is
  /// the monotonic one, in microseconds.
  mutating func take(
    upTo wanted: Int, _ queue: any AppStateStore, app: String,
    clock: () -> Int64 = { RelayClock.monotonicMicroseconds }
  ) throws -> Int {
    let now = clock()
    if now >= usableUntil { tokens = 0 }
    if tokens == 0, now >= asksFrom { try ask(for: min(wanted, chunk), queue, app, clock) }
    if tokens == 0 { waitsUntil = (asksFrom + 999) / 1000 }
    return min(tokens, wanted)
  }

  mutating func use(_ count: Int) { tokens -= count }

  private mutating func ask(
    for count: Int, _ queue: any AppStateStore, _ app: String, _ clock: () -> Int64
  ) throws {
    // Too early: the queue needs no question.
    guard mayTake(count, clock()) != nil else { return }
    asksFrom = clock() + Self.second
    for _ in 0..<Self.attempts {
      let old = try queue.appState(bucket, app: app)
      let found = old.flatMap(Self.read)
      // Later than the clock in the bucket, which therefore does not gain by being adopted.
      let now = clock()
      taken = found?.taken ?? 0
      ahead = max(ahead, max(taken, found?.clock ?? 0) - now)
      guard let time = mayTake(count, now) else { return }
      let text = "\(time) \(now + ahead) \(mark)"
      if try queue.replaceAppState(bucket, old, by: text, app: app) {
        (taken, tokens) = (time, count)
        (asksFrom, usableUntil) = (0, now + Self.second)
        return
      }
      // Another relay was faster.
      asksFrom = now + 1000
    }
  }

  /// The bucket's time after these tokens; nil if it is too early.
  private mutating func mayTake(_ count: Int, _ now: Int64) -> Int64? {
    let time = max(taken, now + ahead - kept) + time(of: count)
    guard time > now + ahead else { return time }
    asksFrom = time - ahead + .random(in: 0...Self.mostJitter)
    return nil
  }

  private static let latest: Int64 = 1 << 60

  private static func read(_ text: String) -> (taken: Int64, clock: Int64)? {
    let times = text.split(separator: " ").prefix(2).compactMap { Int64($0) }
    guard times.count == 2, times.allSatisfy({ (0...latest).contains($0) }) else { return nil }
    return (times[0], times[1])
  }
}
