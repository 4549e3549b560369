import Glibc

/// Plays seeds, on several threads, until all are done or one fails.
@main
enum Simulation {
  static func main() {
    var (first, count, jobs, traces): (UInt64, UInt64, Int, Bool) = (1, 10_000, 2, false)
    var arguments = CommandLine.arguments.dropFirst()
    while let argument = arguments.popFirst() {
      switch argument {
      case "--trace": traces = true
      case "--from": first = number(argument, arguments.popFirst())
      case "--seeds": count = number(argument, arguments.popFirst())
      case "--jobs": jobs = Int(number(argument, arguments.popFirst()))
      default: refuse("what is \(argument)?")
      }
    }
    guard (1...64).contains(jobs) else { refuse("--jobs takes 1 to 64") }
    setvbuf(stdout, nil, Int32(_IOLBF), 0)
    Players(from: first, count: count, jobs: traces ? 1 : jobs, traces: traces).play()
  }

  private static func number(_ option: String, _ text: String?) -> UInt64 {
    guard let number = text.flatMap(UInt64.init) else { refuse("\(option) takes a number") }
    return number
  }

  private static func refuse(_ why: String) -> Never {
    fputs("\(why)\nusage: run --seeds N [--from S] [--jobs J] [--trace]\n", stderr)
    exit(2)
  }
}
