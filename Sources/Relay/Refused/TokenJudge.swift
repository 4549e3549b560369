import CAPNS
import Logging

/// Decides for one app which refused tokens are remembered and told as feedback. Belongs to the
/// thread of the app's worker.
struct TokenJudge {
  private let app: String
  private let queue: any QueueEngine
  private let refused: RefusedTokens
  private let notes: GuardNotes
  private let log: Logger
  private let waitMS: Int64
  private var guarding: PurgeGuard
  /// Bad tokens that count if the guard lets them once their time has come: answers of one moment come
  /// in any order, so that the good ones of a bad lot may be the first.
  private var pending: [(device: GoneToken, due: Int64)] = []
  private static let mostPending = 100_000
  /// The queue does not know yet that a push was accepted.
  private var owesAccepted: Bool
  /// What the queue has as the alarm.
  private var notedAlarm: String?
  private var saidKind = 0
  /// Lengths of tokens that the service accepted.
  private var sizes: TokenSizes = []
  /// Why bad tokens do not count at present, in words; nil: there is no alarm.
  private(set) var alarm: String?
  /// Bad tokens that did not count.
  private(set) var withheld = 0

  /// Begins with the answers that the queue has of others, and of this relay before it was started.
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
    for answer in try queue.lastAnswers(app: app.name, most: app.guarding.answers) {
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

  /// Takes note of an answer, and says in it whether its token is remembered.
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
    // Nearly always hex and nothing else.
    let digits = answer.held.token(at: answer.position).withBytes { bytes in
      bytes.count { $0 &- 0x30 < 10 || ($0 | 0x20) &- 0x61 < 6 }
    }
    let size = TokenSizes(digits / 2)
    guard !sizes.isSuperset(of: size) else { return }
    sizes.formUnion(size)
    refused[app]?.accept(size)
  }

  /// With other relays, and with this one before it was started.
  private mutating func exchangeSizes() throws {
    let noted = try notes.sizes()
    if !noted.isSuperset(of: sizes) { try notes.setSizes(noted.union(sizes)) }
    sizes.formUnion(noted)
    // Each time: the door may ask for them since.
    refused[app]?.accept(sizes)
  }

  /// Says it when an alarm begins and when it ends.
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

  /// What waited for its time counts, or is dropped. At the end nothing waits any longer.
  private mutating func settle(at now: Int64, isLast: Bool) throws {
    switch guarding.hold(at: now) {
    case .neverAccepted?, .tooMany?:
      withheld += pending.count
      pending = []
    case .tooFew?: break
    case nil:
      // They are in the order in which their time comes.
      let count = isLast ? pending.count : pending.prefix { $0.due <= now }.count
      guard count > 0 else { return }
      let due = pending.prefix(count).map(\.device)
      try queue.refuse(due, app: app, at: now)
      for device in due { refused.add(device.token, app: app, at: now) }
      pending.removeFirst(count)
    }
  }

  /// Tells others, and hears what the one who runs the relay says.
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
