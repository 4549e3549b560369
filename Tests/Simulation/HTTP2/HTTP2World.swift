import CAPNS
import CSystem

/// The surroundings of a session over HTTP/2 in one run: the connections with the service
/// at the other end of each, and the ledger that decides what is right.
final class HTTP2World: Stage, Wired, Witness {
  var scenario: HTTP2Scenario
  var lines: [HTTP2Link] = []
  var ledger = HTTP2Ledger()
  /// The provider shows a token.
  var showsToken = false
  /// The policy of the provider token, and the oldest token that the service accepts.
  var policy = TokenPolicy()
  var oldestToken: UInt32 = 0
  /// Until when the provider token is unavailable, and whether the session asked for one in vain.
  var lacksTokenUntil: Int64 = 0
  var lacksToken = false
  /// Some notification was in doubt at the end of a connection.
  var isAnyDoubtful = false
  /// Connections that ended and may have left something in doubt. After two such ends there may be
  /// notifications that fly apart from others.
  var doubtfulEnds = 0
  var isAnyApart: Bool { doubtfulEnds > 1 }
  /// Some connection was opened next to one whose only stream had no response.
  var isAnyHeld = false
  /// This many more connections than usual may exist because of that.
  var extra = 0
  /// Connections that were dropped and may have had requests the service never saw: when
  /// the last one was dropped, and how many there were.
  var unseenDrop: Int64 = -1
  var unseenDrops = 0
  /// GOAWAYs that the session has read.
  var goodbyes = 0
  /// When a connection last ended that may have had requests and refused the provider.
  var turnedDownAt: Int64 = -1
  /// Refused streams whose notifications are unknown.
  var hiddenRefusals = 0
  /// Some request got its response before it had arrived in full. Its stream ends later, and the
  /// model does not see when the session notices that.
  var isAnsweredEarly = false
  /// The session is being closed for good.
  var isClosing = false
  /// Bytes that the core holds from malloc.
  let held = UnsafeMutablePointer<Int>.allocate(capacity: 1)

  override init(traces: Bool, slot: UnsafeMutablePointer<UInt64>) {
    var dice = Dice(seed: 0)
    scenario = HTTP2Scenario(&dice)
    held.initialize(to: 0)
    super.init(traces: traces, slot: slot)
  }

  var actions: Int { scenario.actions }
  var taken: Int { ledger.taken }
  var told: Int { ledger.told }
  var toldAccepted: Int { ledger.toldAccepted }
  var isFull: Bool { ledger.isFull }

  /// A session that asks for a token without need may get it sooner than it would have asked.
  var mayAskAgain: Bool { lacksToken }

  /// Now and then no provider token can be had for a while.
  func requireToken() throws(Failure) {
    if !isHealed, dice.happens(scenario.lackingTokens) {
      lacksTokenUntil = clock + dice.time(upTo: 20_000_000_000)
    }
    lacksToken = !isHealed && clock < lacksTokenUntil
    guard lacksToken else { return }
    deeds += 1
    met(.lackingTokens)
    throw Failure(
      APNS_ERR_CREDENTIALS, "there is no provider token", cause: APNS_CAUSE_PROVIDER_TOKEN)
  }

  override var protocolName: StaticString { "http2" }

  override func released(_ number: Int) { checkRelease(number) }
  override func told(_ event: apns_event_t) { tell(event) }

  override func play(seed: UInt64) {
    begin(seed: seed)
    scenario = HTTP2Scenario(&dice)
    // Separate dice, so that other seeds play the same events as before.
    var suspensionDice = Dice(seed: seed ^ 0x7375_7370_656E_6473)
    if suspensionDice.happens(30) { scenario.leaveOnlySuspensions(&suspensionDice) }
    adopt(scenario.given, scenario.faults)
    clearLines()
    ledger.reset()
    showsToken = scenario.showsToken
    (oldestToken, unseenDrop, unseenDrops, isAnyDoubtful) = (0, -1, 0, false)
    (doubtfulEnds, isAnyHeld, extra) = (0, false, 0)
    (isClosing, hiddenRefusals, isAnsweredEarly) = (false, 0, false)
    turnedDownAt = -1
    (lacksTokenUntil, lacksToken) = (0, false)
    say("\(scenario)")
    Memory.count(in: held)
    held.pointee = 0
    do throws(Failure) {
      var caller = try HTTP2Caller.make(self)
      caller.play()
    } catch {
      violate("no session: \(error.status.rawValue)")
    }
    checkUserData()
    if violation == nil, held.pointee != 0 {
      violate("\(held.pointee) pieces of memory are not given back")
    }
  }
}
