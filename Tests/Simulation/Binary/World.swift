import CAPNS
import CSystem

/// All that surrounds a session in one run: the connections with a gateway at the other end
/// of each, and the ledger by which everything is judged.
final class World: Stage, Wired, Judging {
  var scenario: Scenario
  /// Two for each connection of the session.
  let lines: UnsafeMutablePointer<Connection>
  static let mostLines = 8
  var ledger = Ledger()

  override init(traces: Bool, slot: UnsafeMutablePointer<UInt64>) {
    var dice = Dice(seed: 0)
    scenario = Scenario(&dice)
    lines = .allocate(capacity: Self.mostLines)
    for line in 0..<Self.mostLines { (lines + line).initialize(to: Connection()) }
    super.init(traces: traces, slot: slot)
  }

  var actions: Int { scenario.actions }
  var taken: Int { ledger.counts.taken }
  var isFull: Bool { ledger.isFull }

  override var protocolName: StaticString { "binary" }

  override func play(seed: UInt64) {
    begin(seed: seed)
    scenario = Scenario(&dice)
    (given, lapseMax) = (scenario.given, scenario.lapseMax)
    for line in 0..<Self.mostLines { lines[line].reset() }
    ledger.reset()
    drawFirstLapse()
    do throws(Failure) {
      var caller = try Caller.make(self)
      caller.play()
    } catch {
      violate("no session: \(error.status.rawValue)")
    }
  }

  func name(_ line: Int) -> String { "line \(line) (connection \(lines[line].serial))" }

  /// A connection came to nothing, and the session cannot but know it.
  func cameToNothing() {
    // Silence long enough counts as achievement, which nobody else can see.
    if scenario.isExact { pauseForNothing() }
  }

  // MARK: Watching

  func watch(_ line: Int, for readiness: Readiness) {
    lines[line].watched |= readiness.rawValue
  }

  func readiness(_ line: Int) -> Readiness {
    let found = lines[line].found
    lines[line].found = 0
    return Readiness(rawValue: found)
  }
}
