import CAPNS

/// The kind of session, service and network in one run over HTTP/2. Each fault occurs in
/// some runs and not in others, so that the effects of a single fault are met too.
struct HTTP2Scenario {
  var given = GivenOptions()
  /// The pauses that the options set.
  var schedules = Schedules()
  var firstIdentifier: UInt32 = 1
  var showsToken = false

  // The network. Times in ns, chances in a thousand.
  var faults = NetworkFaults()
  var partialReads = 0
  var pieces = 0

  // How connections end.
  var refusals = 0
  var ends = 0
  var goodbyes = 0
  var breaches = 0
  var blackHoles = 0
  var noPongs = 0

  // What the service allows.
  var streamsMax = 100
  var settingsChanges = 0
  var settingsDelayMax: Int64 = 0
  var windowMin = 65_535
  var creditDelayMax: Int64 = 0

  // How it answers.
  var answerDelayMax: Int64 = 0
  var bodyDelayMax: Int64 = 0
  var refusedStreams = 0
  var resetsBefore = 0
  var resetsAfter = 0
  var resetsBehindStatus = 0
  var unanswered = 0
  var later = 0
  var interims = 0
  var validatesEarly = 0
  var acceptsEarly = 0
  var staleTokens = 0
  var lackingTokens = 0
  var retryAfter = 0

  // What the caller sends.
  var bad = 0
  var gone = 0
  var killers = 0
  var silent = 0
  var payloadSizes = 1...40
  var expiring = 0
  var ownIdentifiers = 0
  var actions = 20
  /// Not 0: the notifications go to this many devices, each in order.
  var devices = 0

  /// The only fault is notifications that end their connections, or are never answered.
  var isPoisonOnly = false
  /// The only fault is that the process is suspended.
  var isSuspendedOnly = false

  private static let topic: StaticString = "com.example.app"

  var resends: Bool { given.session.delivery == 0 }

  init(_ dice: inout Dice) {
    drawSession(&dice)
    drawNetwork(&dice)
    drawService(&dice)
    drawCaller(&dice)
    if dice.happens(300) { drawDevices(&dice) }
    if dice.happens(50) { leaveOnlyPoison(&dice) }
    if !isPoisonOnly, dice.happens(200) { lackingTokens = dice.pick([50, 500]) }
  }

  /// All good notifications get through, no matter how the poison and the silent ones behave.
  private mutating func leaveOnlyPoison(_ dice: inout Dice) {
    isPoisonOnly = true
    leaveNoFaults()
    given.session.delivery = 0
    killers = dice.pick([0, 3, 20, 100])
    silent = killers == 0 ? dice.pick([3, 20, 100]) : dice.pick([0, 0, 3, 20])
  }

  private mutating func leaveNoFaults() {
    faults = NetworkFaults()
    (faults.delayMax, faults.openingMax) = (5_000_000, 50_000_000)
    (
      given.session.peer.connect_timeout_ms, given.tuning.write_timeout_ms,
      given.tuning.answer_timeout_ms
    ) = (0, 0, 0)
    given.tuning.connects_per_minute = 0
    (refusals, ends, goodbyes, breaches, blackHoles, noPongs) = (0, 0, 0, 0, 0, 0)
    (refusedStreams, resetsBefore, resetsAfter, resetsBehindStatus) = (0, 0, 0, 0)
    (unanswered, settingsChanges, interims, acceptsEarly) = (0, 0, 0, 0)
    answerDelayMax = min(answerDelayMax, 50_000_000)
    // The session could abandon a request that waits for flow control while the caller is away.
    (windowMin, creditDelayMax, payloadSizes) = (65_535, 0, 1...100)
  }

  /// The process is often suspended for longer than answers may take, while few streams are free.
  mutating func leaveOnlySuspensions(_ dice: inout Dice) {
    (isPoisonOnly, isSuspendedOnly) = (false, true)
    leaveNoFaults()
    (killers, silent) = (0, 0)
    faults.lapseMax = 3_000_000_000
    given.tuning.answer_timeout_ms = 200
    given.tuning.ping_after_ms = -1
    streamsMax = dice.pick([1, 2, 7])
  }

  /// The apns-id identifies a notification, because others have its token too. A gone device would
  /// be gone for all of them.
  private mutating func drawDevices(_ dice: inout Dice) {
    given.session.device_order = 1
    devices = dice.pick([1, 2, 5, 20, 300])
    (ownIdentifiers, gone) = (1000, 0)
  }

  private mutating func drawSession(_ dice: inout Dice) {
    given.session.protocol = Int32(APNS_PROTOCOL_HTTP2.rawValue)
    given.session.topic = UnsafeRawPointer(Self.topic.utf8Start).assumingMemoryBound(to: CChar.self)
    given.session.connections = dice.happens(500) ? 1 : UInt32(dice.within(1...4))
    given.session.delivery = dice.below(3) < 2 ? 0 : 1
    given.session.outcomes = Int32(
      (dice.below(2) == 0 ? APNS_OUTCOMES_FAILURES : APNS_OUTCOMES_EACH).rawValue)
    if dice.happens(150) { given.tuning.connects_per_minute = UInt32(dice.within(1...60)) }
    if dice.happens(500) { given.tuning.reconnect_pause_max_ms = UInt32(dice.within(1...10_000)) }
    if dice.happens(500) { given.session.peer.connect_timeout_ms = UInt32(dice.within(20...8_000)) }
    if dice.happens(500) { given.tuning.write_timeout_ms = UInt32(dice.within(20...8_000)) }
    if dice.happens(500) { given.tuning.answer_timeout_ms = UInt32(dice.within(100...40_000)) }
    if dice.happens(500) {
      given.tuning.ping_after_ms = dice.pick([-1, 50, 1_000, 20_000])
    }
    schedules = Schedules(&dice)
    if dice.happens(400) {
      given.tuning.retry_timeout_ms = dice.happens(250) ? -1 : Int32(dice.within(1...40_000))
    }
    let part =
      switch dice.below(20) {
      case 0..<10: 16 << 10
      case 10..<15: dice.within((16 << 10)...(64 << 10))
      case 15..<19: 256 << 10
      default: 1 << 20
      }
    given.session.window_bytes = UInt32(part) * given.session.connections
    given.tuning.payload_max = 4096
    showsToken = dice.happens(300)
    if dice.happens(300) { firstIdentifier = .max - UInt32(dice.below(200)) }
  }

  private mutating func drawNetwork(_ dice: inout Dice) {
    faults = NetworkFaults(&dice, ticketed: 0, lapsing: 200)
    if dice.happens(300) { partialReads = dice.pick([50, 500]) }
    if dice.happens(300) { pieces = dice.pick([50, 500]) }
  }

  private mutating func drawService(_ dice: inout Dice) {
    if dice.happens(300) { ends = dice.pick([50, 300, 900]) }
    if dice.happens(400) { goodbyes = dice.pick([50, 300, 900]) }
    if dice.happens(100) { breaches = dice.pick([50, 300]) }
    if dice.happens(150) { blackHoles = dice.pick([20, 200]) }
    if dice.happens(100) { refusals = dice.pick([20, 300]) }
    if dice.happens(200) { noPongs = dice.pick([100, 1000]) }
    streamsMax = dice.pick([1, 2, 7, 40, 100, 500, 1000])
    if dice.happens(400) { settingsChanges = dice.within(1...12) }
    settingsDelayMax = dice.pick([0, 0, 10_000_000, 1_000_000_000])
    windowMin = dice.pick([65_535, 65_535, 5000, 300, 20])
    creditDelayMax = dice.pick([0, 1_000_000, 200_000_000, 3_000_000_000])
    answerDelayMax = dice.pick([0, 50_000_000, 1_500_000_000, 5_000_000_000])
    bodyDelayMax = dice.pick([0, 0, 1_000_000, 1_000_000_000])
    if dice.happens(200) { refusedStreams = dice.pick([10, 200, 900]) }
    if dice.happens(200) { resetsBefore = dice.pick([10, 200]) }
    if dice.happens(200) { resetsAfter = dice.pick([10, 200]) }
    if dice.happens(100) { resetsBehindStatus = dice.pick([10, 200]) }
    if dice.happens(150) { unanswered = dice.pick([5, 100]) }
    if dice.happens(300) { later = dice.pick([10, 100, 600]) }
    if dice.happens(100) { interims = 200 }
    if dice.happens(300) { validatesEarly = 500 }
    // TLS takes a record whole or not at all, and the session counts on that here.
    if validatesEarly > 0, faults.partialWrites == 0, dice.happens(300) {
      acceptsEarly = dice.pick([20, 300])
    }
    if dice.happens(500) { staleTokens = dice.pick([5, 50]) }
    if dice.happens(200) { retryAfter = dice.pick([100, 1000]) }
  }

  private mutating func drawCaller(_ dice: inout Dice) {
    if dice.happens(600) { bad = dice.pick([5, 30, 150]) }
    if dice.happens(300) { gone = dice.pick([5, 100]) }
    if dice.happens(50) { killers = dice.pick([2, 20]) }
    if dice.happens(50) { silent = dice.pick([2, 20]) }
    if dice.happens(200) { expiring = 200 }
    if dice.happens(400) { ownIdentifiers = 500 }
    payloadSizes =
      switch dice.below(4) {
      case 0: 1...8
      case 1: 1...100
      case 2: 1...600
      default: 1...4096
      }
    actions = dice.within(5...40)
    // A payload then takes at most four round trips.
    windowMin = max(windowMin, payloadSizes.upperBound / 4)
  }
}
