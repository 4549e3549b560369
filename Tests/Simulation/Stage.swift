import CAPNS
import CSystem

/// The surroundings of a session, over either protocol: the clock, the dice, the current call, the
/// rules for opening connections, and the first violation.
class Stage {
  private(set) var seed: UInt64 = 0
  final var dice = Dice(seed: 0)
  final var given = GivenOptions()
  final var faults = NetworkFaults()
  final var clock: Int64 = 0
  /// Faults are over: connections that are opened from now on work.
  final var isHealed = false
  /// The first violation. The rest of the run means nothing after it.
  private(set) final var violation: String?
  /// The right result cannot be known any more.
  final var isUndecided = false
  final let traces: Bool
  /// The session never waits: the program has an event loop.
  final var usesLoop = false
  /// The session's actions on its lines; and how many there were at the last news.
  final var deeds = 0
  final var deedsTold = -1
  /// What of that took it further: bytes written, connections begun, opened or dropped.
  final var stepsForward = 0
  /// Bytes and ends that it read, and what else became ready while it was called.
  final var news = 0
  /// When the session's timer goes off, and whether it wants to be called at once.
  final var armedUntil = Int64.max
  final var isHurried = false
  /// When the session wants to be called at the latest.
  final var due: Int64 { isHurried ? clock : armedUntil }
  /// Room for the token of the next notification.
  final let token = UnsafeMutableRawBufferPointer.allocate(byteCount: 128, alignment: 16)
  final var report = Report()
  /// The seed is written here so that others can read it.
  private final let slot: UnsafeMutablePointer<UInt64>

  /// How often the program has rotated the session's credentials, how often it does so, per mille,
  /// and dice for that alone: a seed without rotations is played as ever.
  final var credentials = 0
  private final var renewals = 0
  final var renewalDice = Dice(seed: 0)
  private static let mostRenewals = 40
  /// The same for the notifications that the program cancels.
  final var cancels = 0
  final var cancelDice = Dice(seed: 0)
  /// The same for pushed notifications; a session in an event loop cannot push.
  final var pushes = 0
  final var pushDice = Dice(seed: 0)
  final var pushTimes: [Int32] = []
  private static let shortPushes: [Int32] = [0, 1, 50, 1000]
  private static let longPushes: [Int32] = [30_000, APNS_TIMEOUT_DEFAULT]
  final var pushed = Pushed()
  /// The same for how it takes outcomes; and how many of them gave way.
  private final var takeDice = Dice(seed: 0)
  private final var habit = Habit.often
  final var forgotten = 0
  final let userData = UnsafeMutablePointer<UserDatum>.allocate(capacity: 3000)
  /// Nothing more comes but the end of the session.
  final var isBeingFreed = false

  /// The same for deadlines: the session's, in ms as its option, and how often a notification has its
  /// own.
  private(set) final var sessionDeadline: Int32 = -1
  private final var ownDeadlines = 0
  final var deadlineDice = Dice(seed: 0)
  final var hasDeadlines: Bool { sessionDeadline > 0 || ownDeadlines > 0 }
  private final var firstDeadline = Int64.max
  /// When the first unresolved notification of the session is due; `max`: none is.
  final var earliestDue: () -> (time: Int64, number: Int) = { (.max, -1) }
  /// How many notifications have ended as unknown.
  final var unknownSoFar: () -> UInt64 = { 0 }

  /// What the lines carried. The session's counts have to equal it.
  final var counts = LineCounts()

  // The actions that the session may take in the current call.
  final var call = Call()
  private(set) final var steps = 0
  /// Calls of the network before the process is suspended for a while.
  private final var untilLapse = Int.max

  // The rules for opening connections.
  /// The times of the newest connections, as many as the cap allows in a minute.
  private final var opened = [Int64](repeating: 0, count: 64)
  private final var openedCount = 0
  /// How many connections in a row were certainly unproductive, and until when the next is
  /// forbidden.
  private final var fruitless = 0
  private final var pausedUntil: Int64 = 0
  /// When a line last took nothing so long that the session may have abandoned pending requests.
  final var starvedAt: Int64 = -1

  /// The name that `--protocol` takes.
  var protocolName: StaticString { "" }

  init(traces: Bool, slot: UnsafeMutablePointer<UInt64>) {
    self.traces = traces
    self.slot = slot
  }

  /// Plays a seed until it ends or something is violated.
  func play(seed: UInt64) {}

  final func begin(seed: UInt64) {
    self.seed = seed
    slot.pointee = seed
    dice = Dice(seed: seed)
    renewalDice = Dice(seed: seed ^ 0x7265_6E65_7761_6C73)
    renewals = renewalDice.happens(250) ? renewalDice.pick([30, 200, 600]) : 0
    credentials = 0
    cancelDice = Dice(seed: seed ^ 0x6361_6E63_656C_7321)
    cancels = cancelDice.happens(200) ? cancelDice.pick([30, 200, 600]) : 0
    pushDice = Dice(seed: seed ^ 0x7075_7368_206F_6E65)
    pushes = !usesLoop && pushDice.happens(250) ? pushDice.pick([30, 200, 600]) : 0
    pushTimes = pushDice.happens(500) ? Self.longPushes : Self.shortPushes + Self.longPushes
    pushed = Pushed()
    takeDice = Dice(seed: seed ^ 0x7461_6B65_206F_6E65)
    (forgotten, isBeingFreed) = (0, false)
    deadlineDice = Dice(seed: seed ^ 0x6465_6164_6C69_6E65)
    let times: [Int32] = [1, 40, 700, 3000, 12_000, 70_000]
    sessionDeadline = deadlineDice.happens(250) ? deadlineDice.pick(times) : -1
    ownDeadlines = deadlineDice.happens(150) ? deadlineDice.pick([30, 300, 900]) : 0
    (firstDeadline, earliestDue, unknownSoFar) = (.max, { (.max, -1) }, { 0 })
    clock = 1_000_000_000
    isHealed = false
    violation = nil
    isUndecided = false
    counts = LineCounts()
    call = Call()
    steps = 0
    openedCount = 0
    fruitless = 0
    pausedUntil = 0
    starvedAt = -1
  }

  /// Call this once the scenario is drawn.
  final func adopt(_ given: GivenOptions, _ faults: NetworkFaults) {
    (self.given, self.faults) = (given, faults)
    self.given.session.peer.nonblocking = usesLoop ? 1 : 0
    if outcomes == APNS_OUTCOMES_EACH, takeDice.happens(600) { self.given.session.outcomes = 0 }
    if outcomes == APNS_OUTCOMES_ALL || takeDice.happens(500) {
      self.given.session.user_data_free = Self.release
    }
    habit = outcomes == APNS_OUTCOMES_EACH ? .often : takeDice.pick([.often, .seldom, .never])
    if takeDice.happens(250) { hear() }
    self.given.session.deadline_ms = sessionDeadline
    (armedUntil, isHurried) = (.max, false)
    (deeds, deedsTold, stepsForward) = (0, -1, 0)
    untilLapse = faults.lapseMax > 0 ? dice.within(1...500) : .max
  }

  /// A notification's own deadline, in ms as in its field.
  final func drawDeadline() -> Int32 {
    deadlineDice.happens(ownDeadlines)
      ? deadlineDice.pick([-1, 1, 10, 200, 1000, 5000, 20_000, 90_000]) : 0
  }

  /// Between which times a notification ends that was taken in this call and has no outcome before;
  /// nil: it has no deadline.
  final func dueTimes(_ own: Int32) -> ClosedRange<Int64>? {
    let time = Int64(own == 0 ? sessionDeadline : own) * 1_000_000
    if time < 0 { return nil }
    firstDeadline = min(firstDeadline, call.started + time)
    approachDeadline(by: clock)
    // All taken in one call share a reading of the clock, and all is rounded up to whole ms.
    return call.started + time...clock + time + 1_000_000
  }

  /// How long before a deadline a binary session proves what is in flight.
  final var proofLead: Int64 {
    sessionDeadline < 0 ? 5_000_000_000 : min(5_000_000_000, Int64(sessionDeadline) * 500_000)
  }

  /// The first deadline, or what is done for it, may come by that time.
  final func approachDeadline(by time: Int64) {
    // Before the session looks at the clock again, it may be suspended.
    if time + proofLead + faults.lapseMax + 1_000_000_000 >= firstDeadline { deadlineIsNear() }
  }

  func deadlineIsNear() {}

  /// The session is about to wait.
  final func checkDue(until time: Int64) {
    guard hasDeadlines else { return }
    let due = earliestDue()
    if time > max(due.time, clock) {
      violate(
        "\(call.name) waits \((time - due.time) / 1000) us beyond the deadline of \(due.number)")
    }
  }

  /// A call is over that looks at the time.
  final func checkDue() {
    guard hasDeadlines, violation == nil else { return }
    let due = earliestDue()
    // All that has arrived is read first, and if that takes longer, the next call reads on.
    if usesLoop, isHurried, clock - call.started >= 1_000_000 { return }
    if due.time < call.started {
      violate("\(call.name) is over, and the end of \(due.number) is late")
    }
  }

  @inline(never)
  final func violate(_ what: String) {
    guard violation == nil, !isUndecided else { return }
    violation = what
    say("VIOLATION: \(what)")
  }

  @inline(__always)
  final func say(_ what: @autoclosure () -> String) {
    if traces { tell(what()) }
  }

  @inline(never)
  private final func tell(_ what: String) {
    let microseconds = String(clock / 1000 % 1_000_000)
    let zeros = String(repeating: "0", count: 6 - microseconds.utf8.count)
    print("\(clock / 1_000_000_000).\(zeros)\(microseconds)  \(what)")
  }

  /// Whether the program gives the session other credentials now.
  final func renews() -> Bool {
    guard renewals > 0, !isHealed, credentials < Self.mostRenewals else { return false }
    return renewalDice.happens(renewals)
  }

  /// Whether the program cancels something now.
  final func wantsToCancel() -> Bool {
    cancels > 0 && !isHealed && cancelDice.happens(cancels)
  }

  /// Whether the program pushes one now.
  final func wantsToPush() -> Bool { pushes > 0 && pushDice.happens(pushes) }

  /// Whether the program takes outcomes now; and whether it does once nothing more comes.
  final func wantsToTake() -> Bool {
    switch habit {
    case .often: true
    case .seldom: takeDice.happens(100)
    case .never: false
    }
  }
  final func wantsRest() -> Bool { !isReleasing || takeDice.happens(800) }

  /// The session frees the user data of a notification.
  func released(_ number: Int) {}

  /// The caller gets an event.
  func told(_ event: apns_event_t) {}

  // MARK: Time

  /// A call of the network. It takes a little time, and now and then a lot.
  @inline(__always)
  final func tick() {
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
  private final func lapse() {
    let time = dice.time(upTo: faults.lapseMax)
    met(.lapses)
    say("the process is put aside for \(time / 1000) us")
    clock += time
    call.spent += time
    untilLapse = dice.within(1...500)
    // From here on it ends what is due, and bytes that have come count before.
    if hasDeadlines, earliestDue().time <= clock { noteHearing() }
  }

  /// The session does nothing for a moment, and only for a moment.
  final func pause(_ time: Int64) {
    if !call.mayWait { violate("\(call.name) pauses") }
    if time <= 0 || time > 300_000 { violate("\(call.name) pauses for \(time) ns") }
    if clock + time > call.latest { violate("\(call.name) pauses beyond its deadline") }
    met(.pauses)
    // The system wakes the process late.
    let late = Int64(dice.below(100_000))
    clock += time + late
    call.spent += late
  }

  /// The session cannot be stopped in the middle of a call, so the program ends.
  @inline(never)
  private final func tooManySteps() {
    violate("more than \(Call.mostSteps) steps in one call: \(call.name)")
    endProgram()
  }

  /// Prints how to reproduce the violation.
  final func tellViolation() {
    print("seed \(seed): \(violation ?? "nothing")")
    print(
      "replay: Tests/Simulation/run --protocol \(protocolName) --from \(seed) --seeds 1\(Crash.loop) --trace"
    )
  }

  final func met(_ what: Met, _ count: Int = 1) { report.add(what, count) }
  final func met(status: some BinaryInteger) { report.add(status: Int(status)) }

  @inline(never)
  final func endProgram() -> Never {
    tellViolation()
    exit(1)
  }

  // MARK: Calls

  final func beginCall(
    _ name: StaticString, lasting longest: Int64, waits: Bool = true, writes: Bool = true
  ) {
    say("call \(name)")
    clearCall()
    call.name = name
    (call.started, call.woken) = (clock, clock)
    noteHearing()
    call.longest = longest
    call.mayWait = waits
    call.mayWrite = writes
    approachDeadline(by: clock)
  }

  /// Bytes that have come by now count before anything ends from now on.
  private final func noteHearing() {
    (call.heardFrom, call.news, call.unknown) = (clock, news, unknownSoFar())
  }

  final func endCall() {
    report.longestCall = max(report.longestCall, call.steps)
    report.steps += call.steps
    clearCall()
  }

  private final func clearCall() {
    let vainWaits = usesLoop ? call.vainWaits : 0
    call = Call()
    call.vainWaits = vainWaits
  }

  /// Runs a call that may fail; true if it did not.
  @discardableResult
  final func expecting(_ body: () throws(Failure) -> Void) -> Bool {
    do throws(Failure) {
      try body()
      return true
    } catch {
      failed(error)
      return false
    }
  }

  /// A call failed, which it may do when the network fails.
  final func failed(_ failure: Failure) {
    say("\(call.name) fails: \(failure.status.rawValue)")
    switch failure.status {
    case APNS_ERR_TIMEOUT: met(.deadlines)
    case APNS_ERR_AGAIN where usesLoop: met(.delays)
    case APNS_ERR_NETWORK, APNS_ERR_TLS, APNS_ERR_PROTOCOL: break
    case APNS_ERR_CREDENTIALS where failure.cause == APNS_CAUSE_PROVIDER_TOKEN: break
    default: violate("\(call.name) fails with \(failure.status.rawValue)")
    }
  }

  // The options' values in ns.
  final var connectTimeout: Int64 { timeout(given.session.peer.connect_timeout_ms, or: 10_000) }
  final var writeTimeout: Int64 { timeout(given.tuning.write_timeout_ms, or: 10_000) }
  final var answerTimeout: Int64 { timeout(given.tuning.answer_timeout_ms, or: 30_000) }

  private final func timeout(_ given: UInt32, or fallback: UInt32) -> Int64 {
    Int64(given == 0 ? fallback : given) * 1_000_000
  }

  // MARK: Making connections

  /// A connection is begun; `counts` is true if the network saw the attempt.
  final func checkOpening(counts: Bool) {
    if clock < pausedUntil {
      violate("a connection \((pausedUntil - clock) / 1000) us before the pause is over")
    }
    let cap = Int(given.tuning.connects_per_minute)
    guard cap > 0, counts else { return }
    if openedCount >= cap, clock - opened[openedCount % cap] < 60_000_000_000 {
      violate("more than \(cap) connections in a minute")
    }
    opened[openedCount % cap] = clock
    openedCount += 1
  }

  /// A connection came to nothing, and the session has to know it.
  final func pauseForNothing() {
    let maximum = given.tuning.reconnect_pause_max_ms
    let longest = Int64(maximum == 0 ? 5000 : maximum) * 1_000_000
    let pause = min(50_000_000 << Int64(min(fruitless, 20)), longest)
    fruitless += 1
    pausedUntil = clock + pause / 2
  }

  final func cameToSomething() {
    fruitless = 0
    pausedUntil = 0
  }
}

/// What pushes returned.
struct Pushed {
  /// Notifications that were reported as unknown before the session had their outcomes.
  var early: [Int] = []
  /// The session is reporting to the caller.
  var isTelling = false
}

/// Connections that were opened, and what was written to them.
struct LineCounts {
  var connects = 0
  var bytes = 0
  var records = 0
}

/// The session's current call, and what it may do.
struct Call {
  static let mostSteps = 20_000_000
  var name: StaticString = "nothing"
  var started: Int64 = 0
  /// When its last wait was over.
  var woken: Int64 = 0
  /// The session reads all bytes that had come by then before it abandons anything for lack of
  /// them; and how much was read until then.
  var heardFrom: Int64 = 0
  var unknown: UInt64 = 0
  var news = 0
  var longest: Int64 = 0
  /// Time that passed in the call without waiting.
  var spent: Int64 = 0
  var mayWait = false
  var mayWrite = false
  /// It may neither read nor write, and opens nothing.
  var isStill = false
  /// Outcomes that can be taken stand in its way.
  var isFullOfOutcomes = false
  var steps = 0
  /// Waits in a row that ended at once with nothing read, written or opened in between.
  var vainWaits = 0

  /// The time after which the call may not wait.
  var latest: Int64 { started + longest + spent }
}
