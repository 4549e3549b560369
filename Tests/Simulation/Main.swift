import Glibc

/// Plays seeds on several threads until all are done or one fails.
@main
enum Simulation {
  static func main() {
    var (first, count, jobs, traces): (UInt64, UInt64, Int, Bool) = (1, 10_000, 2, false)
    var wanted: String?
    var usesLoop = false
    var arguments = CommandLine.arguments.dropFirst()
    while let argument = arguments.popFirst() {
      switch argument {
      case "--trace": traces = true
      case "--event-loop": usesLoop = true
      case "--from": first = number(argument, arguments.popFirst())
      case "--seeds": count = number(argument, arguments.popFirst())
      case "--jobs": jobs = Int(number(argument, arguments.popFirst()))
      case "--protocol":
        wanted = arguments.popFirst()
        guard wanted == "binary" || wanted == "http2" else {
          refuse("--protocol takes binary or http2")
        }
      default: refuse("what is \(argument)?")
      }
    }
    guard (1...64).contains(jobs) else { refuse("--jobs takes 1 to 64") }
    setvbuf(stdout, nil, Int32(_IOLBF), 0)
    var isFine = true
    #if !PLAYS_HTTP2
      if wanted != "binary" {
        print("skipped: HTTP/2, for libnghttp2 is not to be found (Debian: libnghttp2-dev)")
      }
    #endif
    for (name, build) in worlds where wanted == nil || wanted == name {
      isFine =
        Players(
          name, from: first, count: count, jobs: traces ? 1 : jobs, traces: traces,
          usesLoop: usesLoop, build
        ).play() && isFine
    }
    exit(isFine ? 0 : 1)
  }

  /// The worlds that were compiled in.
  private static var worlds: [(String, Players.Builder)] {
    var worlds: [(String, Players.Builder)] = []
    #if PLAYS_BINARY
      worlds.append(("binary", { World(traces: $0, slot: $1) }))
    #endif
    #if PLAYS_HTTP2
      Memory.prepare()
      worlds.append(("http2", { HTTP2World(traces: $0, slot: $1) }))
    #endif
    return worlds
  }

  private static func number(_ option: String, _ text: String?) -> UInt64 {
    guard let number = text.flatMap(UInt64.init) else { refuse("\(option) takes a number") }
    return number
  }

  private static func refuse(_ why: String) -> Never {
    fputs(
      "\(why)\nusage: run --seeds N [--protocol binary|http2] [--from S] [--jobs J] [--event-loop]\n    [--trace]\n",
      stderr)
    exit(2)
  }
}
