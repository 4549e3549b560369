import CAPNS

/// The kind of session, gateway and network in one run. Each fault occurs in some runs and
/// not in others, so that the effects of a single fault are met too.
struct Scenario {
  var given = GivenOptions()
  var firstIdentifier: UInt32 = 1

  // The network. Times in ns, chances in a thousand.
  var faults = NetworkFaults()

  // How connections end.
  var refusals = 0
  var silentEnds = 0
  var shutdowns = 0
  var strangers = 0
  var noises = 0
  var namelessPackets = 0
  var blackHoles = 0

  // How the gateway answers.
  var answerDelayMax: Int64 = 0
  var splitDelayMax: Int64 = 0
  var endGapMax: Int64 = 0
  var cutPackets = 0
  var sentinelStatuses: [UInt8] = Self.oneStatus
  var namelessSentinels = 0
  var validatesEarly = false

  // What the caller sends.
  var bad = 0
  var namelessBad = 0
  var killers = 0
  var oddTokens = 0
  var payloadSizes = 1...40
  var actions = 20

  private static let oneStatus: [UInt8] = [2]
  private static let anyStatus: [UInt8] = [2, 5, 8, 128]
  private static let clearStatuses: [UInt8] = [2, 5]
  private static let millisecond: Int64 = 1_000_000

  var isQuiet: Bool { given.binary.quiet_period_ms != 0 }
  var isSimple: Bool { given.binary.format == Int32(APNS_FORMAT_SIMPLE.rawValue) }
  /// A sentinel proves the notifications that the gateway has.
  var hasSentinels: Bool { !isQuiet && !isSimple }
  /// The program cancels notifications, and only the session knows which of them it had written.
  var cancels = false
  /// Every count and outcome can be predicted exactly. With the quiet period, or without
  /// identifiers, they depend on when the session takes silence for an answer.
  var isExact: Bool { hasSentinels && !cancels }
  /// Only poison notifications end connections without an error packet and stay in doubt for good.
  var isPoisonous = false

  init(_ dice: inout Dice) {
    drawSession(&dice)
    drawNetwork(&dice)
    drawGateway(&dice)
    drawCaller(&dice)
    if isQuiet { keepWithinQuietPeriod() }
    if isExact, dice.happens(60) { poison(&dice) }
  }

  private mutating func poison(_ dice: inout Dice) {
    isPoisonous = true
    killers = dice.pick([2, 20, 60])
    given.session.delivery = 0
    given.tuning.answer_timeout_ms = 0
    given.tuning.write_timeout_ms = 0
    (refusals, silentEnds, shutdowns, strangers, noises) = (0, 0, 0, 0, 0)
    (namelessPackets, blackHoles, cutPackets, namelessBad) = (0, 0, 0, 0)
    (faults.stalls, faults.endlessStalls, faults.lapseMax) = (0, 0, 0)
    faults.delayMax = min(faults.delayMax, 50_000_000)
    sentinelStatuses = Self.oneStatus
  }

  private mutating func drawSession(_ dice: inout Dice) {
    given.session.protocol = Int32(APNS_PROTOCOL_BINARY.rawValue)
    given.session.connections = dice.happens(600) ? 1 : UInt32(dice.within(1...4))
    let format =
      switch dice.below(20) {
      case 0..<2: APNS_FORMAT_SIMPLE
      case 2..<9: APNS_FORMAT_ENHANCED
      default: APNS_FORMAT_FRAMED
      }
    given.binary.format = Int32(format.rawValue)
    given.session.delivery = dice.below(3) < 2 ? 0 : 1
    given.session.outcomes = Int32(
      (dice.below(2) == 0 ? APNS_OUTCOMES_FAILURES : APNS_OUTCOMES_EACH).rawValue)
    given.binary.zero_proves = dice.happens(300) ? 1 : 0
    given.binary.no_standby = dice.happens(400) ? 1 : 0
    if dice.happens(120) { given.binary.quiet_period_ms = UInt32(dice.within(5...2000)) }
    if dice.happens(150) { given.tuning.connects_per_minute = UInt32(dice.within(1...60)) }
    if dice.happens(500) { given.tuning.reconnect_pause_max_ms = UInt32(dice.within(1...10_000)) }
    if dice.happens(500) { given.session.peer.connect_timeout_ms = UInt32(dice.within(20...8_000)) }
    if dice.happens(500) { given.tuning.write_timeout_ms = UInt32(dice.within(20...8_000)) }
    if dice.happens(400) { given.binary.prove_after_ms = Int32(dice.within(1...100_000)) }
    if dice.happens(100) { given.binary.prove_after_ms = -1 }
    if dice.happens(300) { given.tuning.answer_timeout_ms = UInt32(dice.within(100...40_000)) }
    let part =
      switch dice.below(20) {
      case 0..<12: 16 << 10
      case 12..<16: dice.within((16 << 10)...(64 << 10))
      case 16..<19: 256 << 10
      default: 1 << 20
      }
    given.session.window_bytes = UInt32(part) * given.session.connections
    given.tuning.payload_max = dice.happens(300) ? 4096 : 0
    if dice.happens(300) { firstIdentifier = .max - UInt32(dice.below(200)) }
  }

  private mutating func drawNetwork(_ dice: inout Dice) {
    // With a quiet period, silence proves something only if the session was listening.
    faults = NetworkFaults(&dice, ticketed: 300, lapsing: isQuiet ? 600 : 200)
  }

  private mutating func drawGateway(_ dice: inout Dice) {
    answerDelayMax = dice.pick([0, 50_000_000, 1_500_000_000, 5_000_000_000])
    splitDelayMax = dice.pick([0, 1_000_000, 1_000_000_000])
    endGapMax = dice.pick([0, 50_000_000, 2_000_000_000, 60_000_000_000])
    if dice.happens(300) { silentEnds = dice.pick([50, 300, 900]) }
    if dice.happens(200) { shutdowns = dice.pick([50, 500]) }
    if dice.happens(100) { strangers = dice.pick([50, 300]) }
    if dice.happens(100) { noises = dice.pick([50, 300]) }
    if dice.happens(100) { namelessPackets = dice.pick([50, 300]) }
    if dice.happens(100) { blackHoles = dice.pick([20, 200]) }
    if dice.happens(100) { refusals = dice.pick([20, 300]) }
    if dice.happens(100) { cutPackets = dice.pick([50, 300]) }
    validatesEarly = dice.happens(500)
    // Whether the gateway names its sentinels; and if it does not, whether its status can look like
    // an answer to a sentinel.
    let all = dice.happens(500)
    if dice.happens(400) {
      namelessSentinels = dice.pick([300, 1000])
      sentinelStatuses =
        given.binary.zero_proves != 0 && all || dice.happens(40)
        ? Self.anyStatus : Self.clearStatuses
    } else {
      sentinelStatuses = all ? Self.anyStatus : Self.oneStatus
    }
  }

  private mutating func drawCaller(_ dice: inout Dice) {
    if dice.happens(700) { bad = dice.pick([5, 30, 150]) }
    if dice.happens(50) { killers = dice.pick([2, 20]) }
    if dice.happens(200) { oddTokens = dice.pick([20, 500, 1000]) }
    // A session for which 0 always means the sentinel must not get 0 for another notification.
    if given.binary.zero_proves == 0, dice.happens(50) { namelessBad = dice.pick([2, 20]) }
    let largest = given.tuning.payload_max == 0 ? 2048 : Int(given.tuning.payload_max)
    payloadSizes =
      switch dice.below(4) {
      case 0: 1...8
      case 1: 1...100
      case 2: 1...600
      default: 1...largest
      }
    actions = dice.within(5...50)
  }

  /// The session must read the gateway's bytes, and its end, before it takes silence for an answer.
  private mutating func keepWithinQuietPeriod() {
    let share = Int64(given.binary.quiet_period_ms) * Self.millisecond / 5
    faults.delayMax = min(faults.delayMax, share)
    answerDelayMax = min(answerDelayMax, share)
    splitDelayMax = min(splitDelayMax, share)
    blackHoles = 0
    cutPackets = 0
  }
}
