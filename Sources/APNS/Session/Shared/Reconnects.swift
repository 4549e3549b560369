/// When the next connection may be made. To the gateway, rapid reconnects look like an attack
/// (Apple's advice: keep connections open).
struct Reconnects {
  /// Unproductive connections in a row, made or not.
  private(set) var unproductive = 0
  /// Connections begun, for the log, and where that is.
  private var count: UInt32 = 0
  let log: UnsafeMutablePointer<SessionLog>?
  /// The end of the pause that was last logged.
  var toldPause: Nanoseconds = 0
  /// When the next may be made.
  private var notBefore: Nanoseconds = 0
  /// Why the last unproductive connection was abandoned, if known. A caller that waits for the next
  /// connection gets it.
  private(set) var reason = LastFailure()
  /// Why the last connection ended or was not made, for the events of unknown notifications.
  private(set) var lastEnd = Message()
  private let maxPause: Nanoseconds
  /// With a cap, half of a minute's connections may be made at once; the other half is spread over
  /// the minute, so that no minute sees more. How far apart those are; 0: no cap.
  private let spacing: Nanoseconds
  private let burst: Int64
  /// When the whole burst may be used again.
  private var wholeAt: Nanoseconds = 0

  private static let firstPause: Nanoseconds = 50_000_000
  private static let minute: Nanoseconds = 60_000_000_000

  /// `perMinute` 0: any number.
  init(
    maxPause: Nanoseconds, perMinute: Int64, log: UnsafeMutablePointer<SessionLog>? = nil
  ) {
    self.log = log
    self.maxPause = maxPause
    spacing = perMinute > 0 ? Self.minute / max(perMinute / 2, 1) : 0
    burst = max(perMinute &- perMinute / 2, 1)
  }

  /// When the next connection may be made.
  var earliest: Nanoseconds {
    @inline(never) get {
      guard spacing > 0 else { return notBefore }
      return max(notBefore, wholeAt &- spacing &* (burst &- 1))
    }
  }

  mutating func opened(_ connection: inout SessionLink, at now: Nanoseconds) {
    if spacing > 0 { wholeAt = max(wholeAt, now) &+ spacing }
    count = count == .max ? 1 : count &+ 1
    connection.serial = count
    connection.openedAt = now
  }

  mutating func achieved() {
    unproductive = 0
    notBefore = 0
    reason.forget()
  }

  mutating func note(_ failure: Failure) { reason.note(failure) }

  /// The failure that leaves later outcomes unknown; `otherwise`: the text without a failure.
  @inline(never)
  mutating func ended(_ failure: Failure?, otherwise: StaticString) {
    lastEnd = Message()
    if let failure { failure.append(to: &lastEnd) } else { lastEnd.append(otherwise) }
  }

  /// Forgets the last failure, so that it is not reported as the reason for a later one.
  mutating func forgetReason() { reason.forget() }

  /// Backs off after an unproductive connection: exponentially, with jitter so that providers do
  /// not reconnect in step.
  mutating func achievedNothing(at now: Nanoseconds, random: UInt64) {
    let pause = min(Self.firstPause &<< Int64(min(unproductive, 20)), maxPause)
    unproductive &+= 1
    notBefore = now &+ pause / 2 &+ Int64(random % UInt64(pause / 2 &+ 1))
  }
}
