import CAPNS
import CSystem

/// All that surrounds a session in one run: the connections with a gateway at the other end
/// of each, and the ledger by which everything is judged.
final class World: Stage, Wired, Witness {
  var scenario: Scenario
  var lines: [BinaryLink] = []
  /// Where each line's connection has its bytes.
  let streams: UnsafeMutableRawPointer
  var ledger = Ledger()
  /// The session is closed, or being so.
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
  var isFull: Bool { ledger.isFull }

  override var protocolName: StaticString { "binary" }

  override func play(seed: UInt64) {
    begin(seed: seed)
    scenario = Scenario(&dice)
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
  }
}
