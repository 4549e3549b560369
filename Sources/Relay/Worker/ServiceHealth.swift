/// Whether APNs is healthy, so that entries deferred by its errors can be sent.
struct ServiceHealth {
  /// APNs counts as healthy after it has accepted a notification and returned no server error for
  /// this long.
  private static let wellMS: Int64 = 1000
  private static let everyMS: Int64 = 10_000

  private var next: Int64 = 0
  private var lastServerError: Int64 = 0
  private var hasAccepted = false

  mutating func receive(_ result: PushResult, at now: Int64) {
    if result.kind == .accepted { hasAccepted = true }
    if result.httpStatus >= 500 {
      hasAccepted = false
      lastServerError = now
      next = min(next, now + Self.wellMS)
    }
  }

  /// When it may be healthy again, if no response comes.
  var mayBeHealthyAt: Int64 { hasAccepted ? max(next, lastServerError + Self.wellMS) : .max }

  /// True once for each time that it is healthy again.
  mutating func bringsBack(at now: Int64) -> Bool {
    guard hasAccepted, now >= next, now - lastServerError >= Self.wellMS else { return false }
    hasAccepted = false
    next = now + Self.everyMS
    return true
  }
}
