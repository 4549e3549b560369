import CAPNS
import Logging

/// Decides which bad tokens of an app are recorded and reported as feedback. Used by the thread of
/// the app's worker.
struct TokenJudge {
  private let app: String
  private let queue: any QueueEngine
  private let refused: RefusedTokens
  private let notes: GuardNotes
  private let log: Logger
  private let waitMS: Int64
  private var guarding: PurgeGuard
  /// Bad tokens that count after a while if the guard permits: responses arrive in any order, so a
  /// bad batch may start with good ones.
  private var pending: [(device: GoneToken, due: Int64)] = []
  private static let mostPending = 100_000
  /// The queue does not have the first acceptance yet.
  private var owesAccepted: Bool
  /// The alarm in the queue.
  private var notedAlarm: String?
  private var saidKind = 0
  /// The sizes of tokens that APNs accepted.
  private var sizes: TokenSizes = []
  /// The text of the guard's alarm; nil without an alarm.
  private(set) var alarm: String?
  /// Bad tokens that were ignored.
  private(set) var withheld = 0

  /// Begins with the responses in the queue, from other relays and from earlier runs.
  init(
    _ app: AppConfiguration, _ queue: any QueueEngine, _ refused: RefusedTokens, log: Logger
  ) throws {
    self.app = app.name
    self.queue = queue
    self.refused = refused
    self.log = log
    waitMS = Int64(app.guarding.waitS * 1000)
    notes = GuardNotes(queue, app: app.name)
    guarding = PurgeGuard(app.guarding)
    for answer in try queue.lastAnswers(app: app.name, most: app.guarding.responses) {
      guarding.count(
        isBad: answer.httpStatus == 400 && Self.badReasons.contains(answer.reason),
        isAccepted: answer.httpStatus == 200)
    }
    let isKnown = try notes.hasAccepted()
    owesAccepted = guarding.hasAccepted && !isKnown
    if isKnown { guarding.hasAccepted = true }
    guarding.letGoUntil = try notes.letGoUntil()
    notedAlarm = try notes.alarm()
    try exchangeSizes()
  }

  private static let badCodes = [
    APNS_REASON_BAD_DEVICE_TOKEN, APNS_REASON_DEVICE_TOKEN_NOT_FOR_TOPIC,
  ]
  private static let badReasons = badCodes.map { String(cString: apns_reason_text($0)) }

  /// Counts a response, and marks it if its token must be recorded.
  mutating func judge(_ answer: inout Answer, at now: Int64) {
    guard answer.httpStatus > 0, answer.held.entry.content.channel == nil else { return }
    let isBad = answer.httpStatus == 400 && Self.badCodes.contains(answer.code)
    let hadAccepted = guarding.hasAccepted
    guarding.count(isBad: isBad, isAccepted: answer.httpStatus == 200)
    if guarding.hasAccepted, !hadAccepted { owesAccepted = true }
    if answer.httpStatus == 200 { take(sizeOf: answer) }
    if answer.httpStatus == 410 {
      answer.refusedSince = answer.goneSince ?? now / 1000
    } else if isBad, pending.count < Self.mostPending {
      let token = answer.held.token(at: answer.position)
      let device = GoneToken(token: token.text, since: now / 1000)
      pending.append((device, now + waitMS))
    }
    look(at: now)
  }

  private mutating func take(sizeOf answer: Answer) {
    // Nearly all tokens are plain hex.
    let digits = answer.held.token(at: answer.position).withBytes { bytes in
      bytes.count { $0 &- 0x30 < 10 || ($0 | 0x20) &- 0x61 < 6 }
    }
    let size = TokenSizes(digits / 2)
    guard !sizes.isSuperset(of: size) else { return }
    sizes.formUnion(size)
    refused[app]?.accept(size)
  }

  /// Merges the sizes with those of other relays and of earlier runs.
  private mutating func exchangeSizes() throws {
    let noted = try notes.sizes()
    if !noted.isSuperset(of: sizes) { try notes.setSizes(noted.union(sizes)) }
    sizes.formUnion(noted)
    // Repeated each time, because a listener may have been opened since.
    refused[app]?.accept(sizes)
  }

  /// Logs the start and the end of an alarm.
  private mutating func look(at now: Int64) {
    let hold = guarding.hold(at: now)
    let kind =
      switch hold {
      case .neverAccepted: 1
      case .tooMany: 2
      default: 0
      }
    alarm = hold?.alarm(app: app)
    guard kind != saidKind, alarm != nil || saidKind != 0 else { return }
    if let alarm {
      saidKind = kind
      log.warning("guard: \(alarm)")
    } else if hold == nil {
      saidKind = 0
      log.notice("guard: tokens that the service calls bad count again")
    }
  }

  /// Records or drops the tokens that have waited long enough. At the end no token waits any
  /// longer.
  private mutating func settle(at now: Int64, isLast: Bool) throws {
    switch guarding.hold(at: now) {
    case .neverAccepted?, .tooMany?:
      withheld += pending.count
      pending = []
    case .tooFew?: break
    case nil:
      // They are ordered by due time.
      let count = isLast ? pending.count : pending.prefix { $0.due <= now }.count
      guard count > 0 else { return }
      let due = pending.prefix(count).map(\.device)
      try queue.refuse(due, app: app, at: now)
      for device in due { refused.add(device.token, app: app, at: now) }
      pending.removeFirst(count)
    }
  }

  /// Writes the guard's state for other relays, and reads the operator's override.
  mutating func exchange(at now: Int64, isLast: Bool = false) throws {
    if owesAccepted {
      try notes.setAccepted(at: now)
      owesAccepted = false
    }
    try exchangeSizes()
    let letGoUntil = try notes.letGoUntil()
    if letGoUntil != guarding.letGoUntil {
      guarding.letGoUntil = letGoUntil
      if letGoUntil > now {
        log.notice("guard: bad tokens count until \(TimeText.of(letGoUntil)), as it was told")
      }
    }
    look(at: now)
    try settle(at: now, isLast: isLast)
    if (alarm == nil) != (notedAlarm == nil) {
      try notes.setAlarm(alarm)
      notedAlarm = alarm
    }
  }
}
