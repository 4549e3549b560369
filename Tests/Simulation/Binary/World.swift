import CAPNS
import CSystem

/// The surroundings of a session in one run: the connections with a gateway at the other
/// end of each, and the ledger that decides what is right.
final class World: Stage, Wired, Witness {
  var scenario: Scenario
  var lines: [BinaryLink] = []
  /// The bytes of each line's connection.
  let streams: UnsafeMutableRawPointer
  var ledger = Ledger()
  /// The session is closed or is being closed.
  var isClosed = false

  override init(traces: Bool, slot: UnsafeMutablePointer<UInt64>) {
    var dice = Dice(seed: 0)
    scenario = Scenario(&dice)
    streams = .allocate(byteCount: Self.mostLines * BinaryLink.room, alignment: 16)
    super.init(traces: traces, slot: slot)
  }

  var actions: Int { scenario.actions }
  var taken: Int { ledger.counts.taken }
  var told: Int { ledger.counts.told }
  var toldAccepted: Int { ledger.counts.toldAccepted }
  var isFull: Bool { ledger.isFull }

  override var protocolName: StaticString { "binary" }

  override func released(_ number: Int) { checkRelease(number) }
  override func told(_ event: apns_event_t) { tell(event) }

  /// From now on, proof depends on when the session looks at the clock.
  override func deadlineIsNear() { scenario.cancels = true }

  override func play(seed: UInt64) {
    begin(seed: seed)
    scenario = Scenario(&dice)
    scenario.cancels = cancels > 0
    // The meaning of another status depends on which notifications have their outcomes.
    if cancels > 0 || pushes > 0 || hasDeadlines { scenario.sentinelStatuses = [2] }
    adopt(scenario.given, scenario.faults)
    clearLines()
    ledger.reset()
    isClosed = false
    do throws(Failure) {
      var caller = try Caller.make(self)
      caller.play()
    } catch {
      violate("no session: \(error.status.rawValue)")
    }
    checkUserData()
  }
}
