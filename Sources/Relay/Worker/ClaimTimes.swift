/// When a worker looks at its queue. All times are monotonic.
final class ClaimTimes {
  /// How long a worker with an expired lease finishes what it has before it claims: it would get
  /// the same entries again, and push them twice.
  private static let finishMS: Int64 = 5000
  /// How often a worker with notifications in hand looks for entries that overtake them.
  private static let lookMS: Int64 = 10
  /// How often it looks for entries without news of them: others may have returned some, or they
  /// wait for more than a time.
  static let lookAgainMS: Int64 = 50
  /// It leaves a queue that fails alone for this long.
  private static let troubleMS: Int64 = 1000

  var nextClaim: Int64 = 0
  /// When it looks for entries of other lanes than those that it has.
  private(set) var nextLook: Int64 = 0
  /// Before this time, claims no entries while it has notifications in hand.
  private(set) var finishesUntil: Int64 = 0
  /// The engine reports changes of the queue.
  var hasWatch = false
  /// When it reported the last one.
  private(set) var newsAt: Int64 = 0
  private var turnedAt: Int64 = 0
  /// When the worker last had looked at what other relays have in the queue.
  var lookedAt: Int64 = -1

  /// Other relays may have changed something since it looked.
  var hasNews: Bool { newsAt > lookedAt }

  func beginPass(at now: Int64, isNews: Bool, _ problem: WorkerProblem) {
    defer { turnedAt = now }
    guard isNews else { return }
    // Later than what it did in the same millisecond.
    newsAt = max(now, turnedAt + 1)
    if problem.words == nil { (nextClaim, nextLook) = (0, 0) }
    claim(by: newsAt + (problem.isOfQueue ? Self.troubleMS : Self.lookAgainMS))
  }

  func claim(by time: Int64) { nextClaim = min(nextClaim, time) }

  /// It has looked for other lanes. While all entries wait for the limits of their campaigns, it looks
  /// as often as without any.
  func looked(at now: Int64, arePaced: Bool) {
    nextLook = now + (arePaced ? Self.lookAgainMS : Self.lookMS)
  }

  /// The queue has failed.
  func fail(at now: Int64) { (nextClaim, nextLook) = (now + Self.troubleMS, now + Self.troubleMS) }

  /// The lease has expired.
  func loseLease(at now: Int64) { (finishesUntil, newsAt) = (now + Self.finishMS, now) }
}
