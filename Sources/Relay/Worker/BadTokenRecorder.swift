import CAPNS
import Logging

/// Decides which bad tokens of an app are recorded and reported as feedback. Used by the thread of
/// the app's worker.
struct BadTokenRecorder {
  private let app: String
  private let queue: any BadTokenStore & AppStateStore
  private let badTokens: BadTokens
  private let shared: SharedGuardState
  private let log: Logger
  private let waitMS: Int64
  private var guarding: BadTokenGuard
  /// Bad tokens that count after a while if the guard permits: responses arrive in any order, so a
  /// bad batch may start with good ones.
  private var pending: [(device: GoneToken, due: Int64)] = []
  private static let mostPending = 100_000
  /// The queue does not have the first acceptance yet.
  private var mustWriteAccepted: Bool
  /// The alarm in the queue.
  private var sharedAlarm: String?
  private var loggedKind = 0
  /// The sizes of tokens that APNs accepted.
  private var sizes: TokenSizes = []
  /// The text of the guard's alarm; nil without an alarm.
  private(set) var alarm: String?
  /// Bad tokens that were ignored.
  private(set) var withheld = 0

  /// Begins with the responses in the queue, from other relays and from earlier runs. nil if no listener
  /// uses bad tokens.
  init?(
    _ app: AppConfiguration, _ queue: any BadTokenStore & AppStateStore, _ badTokens: BadTokens?,
    log: Logger
  ) throws {
    guard let badTokens, badTokens.isUsed else { return nil }
    self.app = app.name
    self.queue = queue
    self.badTokens = badTokens
    self.log = log
    waitMS = Int64(app.guarding.waitS * 1000)
    shared = SharedGuardState(queue, app: app.name)
    guarding = BadTokenGuard(app.guarding)
    for response in try queue.lastResponses(app: app.name, most: app.guarding.responses) {
      guarding.count(
        isBad: response.httpStatus == 400 && Self.badReasons.contains(response.reason),
        isAccepted: response.httpStatus == 200)
    }
    let isKnown = try shared.hasAccepted()
    mustWriteAccepted = guarding.hasAccepted && !isKnown
    if isKnown { guarding.hasAccepted = true }
    guarding.overriddenUntil = try shared.overriddenUntil()
    sharedAlarm = try shared.alarm()
    try exchangeSizes()
  }

  private static let badReasons = PushLimits.badTokenReasons.map {
    String(cString: apns_reason_text($0))
  }

  /// Something waits for the next exchange.
  var hasMore: Bool {
    !pending.isEmpty || mustWriteAccepted || (alarm == nil) != (sharedAlarm == nil)
  }

  /// Counts a response, and marks it if its token must be recorded.
  mutating func count(_ result: inout PushResult, at now: Int64) {
    guard result.httpStatus > 0, result.held.entry.content.channel == nil else { return }
    let isBad = result.httpStatus == 400 && PushLimits.badTokenReasons.contains(result.code)
    let hadAccepted = guarding.hasAccepted
    guarding.count(isBad: isBad, isAccepted: result.httpStatus == 200)
    if guarding.hasAccepted, !hadAccepted { mustWriteAccepted = true }
    if result.httpStatus == 200 { take(sizeOf: result) }
    if result.httpStatus == 410 {
      result.badSince = result.goneSince ?? now / 1000
    } else if isBad, pending.count < Self.mostPending {
      let token = result.held.token(at: result.position)
      let device = GoneToken(token: token.text, since: now / 1000)
      pending.append((device, now + waitMS))
    }
    look(at: now)
  }

  private mutating func take(sizeOf result: PushResult) {
    // Nearly all tokens are plain hex.
    let digits = result.held.token(at: result.position).withBytes { bytes in
      bytes.count { $0 &- 0x30 < 10 || ($0 | 0x20) &- 0x61 < 6 }
    }
    let size = TokenSizes(digits / 2)
    guard !sizes.isSuperset(of: size) else { return }
    sizes.formUnion(size)
    badTokens[app]?.accept(size)
  }

  /// Merges the sizes with those of other relays and of earlier runs.
  private mutating func exchangeSizes() throws {
    let known = try shared.sizes()
    if !known.isSuperset(of: sizes) { try shared.setSizes(known.union(sizes)) }
    sizes.formUnion(known)
    // Repeated each time, because a listener may have been opened since.
    badTokens[app]?.accept(sizes)
  }

  /// Logs the start and the end of an alarm.
  private mutating func look(at now: Int64) {
    let withholding = guarding.withholding(at: now)
    let kind =
      switch withholding {
      case .neverAccepted: 1
      case .tooMany: 2
      default: 0
      }
    alarm = withholding?.alarm(app: app)
    guard kind != loggedKind, alarm != nil || loggedKind != 0 else { return }
    if let alarm {
      loggedKind = kind
      log.warning("guard: \(alarm)")
    } else if withholding == nil {
      loggedKind = 0
      log.notice("guard: bad tokens count again")
    }
  }

  /// Records or drops the tokens that have waited long enough. At the end no token waits any
  /// longer.
  private mutating func settle(at now: Int64, isLast: Bool) throws {
    switch guarding.withholding(at: now) {
    case .neverAccepted?, .tooMany?:
      withheld += pending.count
      pending = []
    case .tooFew?: break
    case nil:
      // They are ordered by due time.
      let count = isLast ? pending.count : pending.prefix { $0.due <= now }.count
      guard count > 0 else { return }
      let due = pending.prefix(count).map(\.device)
      try queue.recordBadTokens(due, app: app, at: now)
      for device in due { badTokens.add(device.token, app: app, at: now) }
      pending.removeFirst(count)
    }
  }

  /// Writes the guard's state for other relays, and reads the operator's override.
  mutating func exchange(at now: Int64, isLast: Bool = false) throws {
    if mustWriteAccepted {
      try shared.setAccepted(at: now)
      mustWriteAccepted = false
    }
    try exchangeSizes()
    let overriddenUntil = try shared.overriddenUntil()
    if overriddenUntil != guarding.overriddenUntil {
      guarding.overriddenUntil = overriddenUntil
      if overriddenUntil > now {
        log.notice(
          "guard: bad tokens count until \(TimeText.of(overriddenUntil)), because an operator overrides the guard"
        )
      }
    }
    look(at: now)
    try settle(at: now, isLast: isLast)
    if (alarm == nil) != (sharedAlarm == nil) {
      try shared.setAlarm(alarm)
      sharedAlarm = alarm
    }
  }
}
