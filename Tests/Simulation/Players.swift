import Glibc

/// The threads. Each has its own world.
final class Players: @unchecked Sendable {
  /// Makes a world, which writes the seed it plays to `slot`.
  typealias Builder = (_ traces: Bool, _ slot: UnsafeMutablePointer<UInt64>) -> Stage

  private let build: Builder
  private let name: String
  private let first: UInt64
  private let count: UInt64
  private let jobs: Int
  private let traces: Bool
  private let usesLoop: Bool
  private let started = Players.seconds
  private static let block: UInt64 = 500
  /// In seconds. A run that takes longer is stuck in a loop in the core itself.
  private static let longestRun = 60

  // Shared by the threads and protected by the lock.
  private var lock = pthread_mutex_t()
  private var next: UInt64 = 0
  private var running = 0
  private var total = Report()
  private var hasFailed = false

  init(
    _ name: String, from first: UInt64, count: UInt64, jobs: Int, traces: Bool,
    usesLoop: Bool, _ build: @escaping Builder
  ) {
    (self.name, self.build) = (name, build)
    (self.first, self.count, self.jobs, self.traces) = (first, count, jobs, traces)
    self.usesLoop = usesLoop
    Crash.loop = usesLoop ? " --event-loop" : ""
    pthread_mutex_init(&lock, nil)
  }

  /// Returns whether everything went well.
  func play() -> Bool {
    Crash.protocolName = name
    Crash.tellSeeds()
    for job in 0..<jobs { start(job) }
    watch()
    let seconds = Self.seconds - started
    print(
      "\n\(name)\(usesLoop ? " in an event loop" : ""): \(total.seeds) seeds from \(first) in \(tenths(seconds)) s, \(total.steps) steps"
    )
    print("\(Int(Double(total.seeds) / max(seconds, 0.001))) seeds a second, \(jobs) at a time\n")
    total.tell(name)
    print(hasFailed ? "\nFAILED" : "\nno violation")
    return !hasFailed
  }

  private func start(_ job: Int) {
    running += 1
    let task = Unmanaged.passRetained(Task(self, job))
    var thread = pthread_t()
    let result = pthread_create(
      &thread, nil,
      { argument in
        let task = Unmanaged<Task>.fromOpaque(argument!).takeRetainedValue()
        task.players.work(task.job)
        return nil
      }, task.toOpaque())
    precondition(result == 0)
  }

  private final class Task {
    let players: Players
    let job: Int
    init(_ players: Players, _ job: Int) { (self.players, self.job) = (players, job) }
  }

  private func work(_ job: Int) {
    let world = build(traces, Crash.slots + job)
    world.usesLoop = usesLoop
    while let seeds = take(from: &world.report) {
      for seed in seeds {
        world.play(seed: seed)
        world.report.seeds += 1
        if world.violation != nil {
          locked {
            if !hasFailed { world.tellViolation() }
            hasFailed = true
          }
          break
        }
      }
    }
    Crash.slots[job] = Crash.none
    locked { running -= 1 }
  }

  /// Takes the results of the last seeds and returns the next seeds; nil if there are no more.
  private func take(from report: inout Report) -> Range<UInt64>? {
    locked {
      total.add(report)
      report = Report()
      guard !hasFailed, next < count else { return nil }
      let from = next
      next = min(next + Self.block, count)
      return (first + from)..<(first + next)
    }
  }

  /// Prints the progress, and ends the program if a thread is stuck.
  private func watch() {
    var seen = [UInt64](repeating: Crash.none, count: jobs)
    var since = [Int](repeating: 0, count: jobs)
    var ticks = 0
    while locked({ running }) > 0 {
      usleep(50_000)
      ticks += 1
      guard ticks % 20 == 0 else { continue }
      for job in 0..<jobs {
        let seed = Crash.slots[job]
        if seed != seen[job] { (seen[job], since[job]) = (seed, ticks) }
        if seed != Crash.none, ticks - since[job] > Self.longestRun * 20 {
          print("seed \(seed): the session goes round in circles without a step")
          print(
            "replay: Tests/Simulation/run --protocol \(name) --from \(seed) --seeds 1\(Crash.loop) --trace"
          )
          exit(1)
        }
      }
      if ticks % 200 == 0 {
        let done = locked { total.seeds }
        print("\(done) of \(count) seeds after \(tenths(Self.seconds - started)) s")
      }
    }
  }

  private func locked<Value>(_ body: () -> Value) -> Value {
    pthread_mutex_lock(&lock)
    defer { pthread_mutex_unlock(&lock) }
    return body()
  }

  private func tenths(_ seconds: Double) -> String {
    "\(Int(seconds * 10) / 10).\(Int(seconds * 10) % 10)"
  }

  private static var seconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

/// The seeds being played, in case the core ends the program.
enum Crash {
  static let none = UInt64.max
  nonisolated(unsafe) static var protocolName = ""
  /// The option with which the seeds are played.
  nonisolated(unsafe) static var loop = ""
  nonisolated(unsafe) static let slots: UnsafeMutablePointer<UInt64> = {
    let slots = UnsafeMutablePointer<UInt64>.allocate(capacity: 64)
    slots.initialize(repeating: none, count: 64)
    return slots
  }()

  static func tellSeeds() {
    _ = slots
    for number in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT] {
      signal(number) { number in
        print("the program ends by signal \(number) in one of these:")
        for job in 0..<64 where Crash.slots[job] != Crash.none {
          print("seed \(Crash.slots[job]): a fault of the core")
          print(
            "replay: Tests/Simulation/run --protocol \(Crash.protocolName) --from \(Crash.slots[job]) --seeds 1\(Crash.loop) --trace"
          )
        }
        fflush(stdout)
        _exit(1)
      }
    }
  }
}
