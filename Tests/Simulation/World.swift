import CAPNS
import CSystem

/// All that surrounds a session in one run: the clock, the connections with a gateway at
/// the other end of each, and the ledger by which everything is judged.
final class World {
  private(set) var seed: UInt64 = 0
  var dice = Dice(seed: 0)
  var scenario: Scenario
  var clock: Int64 = 0
  /// Two for each connection of the session.
  let lines: UnsafeMutablePointer<Connection>
  static let mostLines = 8
  var ledger = Ledger()
  /// Faults are over: what is opened from now on works.
  var isHealed = false
  /// What was violated first; the rest of the run means nothing.
  private(set) var violation: String?
  let traces: Bool
  /// Room for the token of the next notification.
  let token = UnsafeMutableRawBufferPointer.allocate(byteCount: 128, alignment: 16)
  var report = Report()
  /// Where the seed can be read from outside.
  private let slot: UnsafeMutablePointer<UInt64>

  // What the session may do in the present call.
  var call = Call()
  private(set) var steps = 0
  /// Calls of the network until the process is put aside for a while.
  private var untilLapse = Int.max

  // When connections may be made.
  /// The times of the last ones, as many as the cap allows in a minute.
  private var opened = [Int64](repeating: 0, count: 64)
  private var openedCount = 0
  /// Connections in a row that surely achieved nothing, and until when that forbids another.
  private var fruitless = 0
  private var pausedUntil: Int64 = 0

  init(traces: Bool, slot: UnsafeMutablePointer<UInt64>) {
    self.traces = traces
    self.slot = slot
    scenario = Scenario(&dice)
    lines = .allocate(capacity: Self.mostLines)
    for line in 0..<Self.mostLines { (lines + line).initialize(to: Connection()) }
  }

  func begin(seed: UInt64) {
    self.seed = seed
    slot.pointee = seed
    dice = Dice(seed: seed)
    scenario = Scenario(&dice)
    clock = 1_000_000_000
    for line in 0..<Self.mostLines { lines[line].reset() }
    ledger.reset()
    isHealed = false
    violation = nil
    call = Call()
    steps = 0
    openedCount = 0
    fruitless = 0
    pausedUntil = 0
    untilLapse = scenario.lapseMax > 0 ? dice.within(1...500) : .max
  }

  @inline(never)
  func violate(_ what: String) {
    guard violation == nil else { return }
    violation = what
    say("VIOLATION: \(what)")
  }

  @inline(__always)
  func say(_ what: @autoclosure () -> String) {
    if traces { tell(what()) }
  }

  @inline(never)
  private func tell(_ what: String) {
    let microseconds = String(clock / 1000 % 1_000_000)
    let zeros = String(repeating: "0", count: 6 - microseconds.utf8.count)
    print("\(clock / 1_000_000_000).\(zeros)\(microseconds)  \(what)")
  }

  func name(_ line: Int) -> String { "line \(line) (connection \(lines[line].serial))" }

  // MARK: Time

  /// A call of the network, which takes a little time, now and then a lot of it.
  @inline(__always)
  func tick() {
    steps += 1
    call.steps += 1
    let cost = Int64(200 + steps & 1023)
    clock += cost
    call.spent += cost
    untilLapse -= 1
    if untilLapse <= 0 { lapse() }
    if call.steps > Call.mostSteps { tooManySteps() }
  }

  @inline(never)
  private func lapse() {
    let time = dice.time(upTo: scenario.lapseMax)
    met(.lapses)
    say("the process is put aside for \(time / 1000) us")
    clock += time
    call.spent += time
    untilLapse = dice.within(1...500)
  }

  /// The session cannot be stopped in the middle of a call, so the program is.
  @inline(never)
  private func tooManySteps() {
    violate("more than \(Call.mostSteps) steps in one call: \(call.name)")
    endProgram()
  }

  /// How to see it again.
  func tellViolation() {
    print("seed \(seed): \(violation ?? "nothing")")
    print("replay: Tests/Simulation/run --from \(seed) --seeds 1 --trace")
  }

  func met(_ what: Met, _ count: Int = 1) { report.add(what, count) }
  func met(status: UInt8) { report.add(status: status) }

  @inline(never)
  func endProgram() -> Never {
    tellViolation()
    exit(1)
  }

  // MARK: Calls

  func beginCall(
    _ name: StaticString, lasting longest: Int64, waits: Bool = true, writes: Bool = true
  ) {
    say("call \(name)")
    call = Call()
    call.name = name
    call.started = clock
    call.longest = longest
    call.mayWait = waits
    call.mayWrite = writes
  }

  func endCall() {
    report.longestCall = max(report.longestCall, call.steps)
    report.steps += call.steps
    call = Call()
  }

  // MARK: Making connections

  /// One is begun; `counts` where it went as far as the network.
  func checkOpening(counts: Bool) {
    if clock < pausedUntil {
      violate("a connection \((pausedUntil - clock) / 1000) us before the pause is over")
    }
    let cap = Int(scenario.given.connects_per_minute)
    guard cap > 0, counts else { return }
    if openedCount >= cap, clock - opened[openedCount % cap] < 60_000_000_000 {
      violate("more than \(cap) connections in a minute")
    }
    opened[openedCount % cap] = clock
    openedCount += 1
  }

  /// A connection came to nothing, and the session cannot but know it.
  func cameToNothing() {
    // Silence long enough counts as achievement, which nobody else can see.
    guard scenario.isExact else { return }
    let given = scenario.given.reconnect_pause_max_ms
    let longest = Int64(given == 0 ? 5000 : given) * 1_000_000
    let pause = min(50_000_000 << Int64(min(fruitless, 20)), longest)
    fruitless += 1
    pausedUntil = clock + pause / 2
  }

  func cameToSomething() {
    fruitless = 0
    pausedUntil = 0
  }
}

/// The session's present call, and what it may do.
struct Call {
  static let mostSteps = 60_000
  var name: StaticString = "nothing"
  var started: Int64 = 0
  var longest: Int64 = 0
  /// Time that passed in it otherwise than by waiting.
  var spent: Int64 = 0
  var mayWait = false
  var mayWrite = false
  var steps = 0
  /// Waits in a row that ended at once, with nothing read, written or opened in between.
  var vainWaits = 0

  /// Later than that it waits for nothing.
  var latest: Int64 { started + longest + spent }
}
