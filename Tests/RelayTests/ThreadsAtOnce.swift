import Foundation
import Synchronization
import Testing

/// Runs this so often, each time on a thread of its own, and what comes in between once all of them
/// wait for somebody else.
func atOnce<Value: Sendable>(
  _ count: Int, _ act: @escaping @Sendable () -> Value, onceAllWait between: () -> Void
) throws -> [Value] {
  let threads = Mutex<[String]>([])
  let values = Mutex<[Value]>([])
  let done = DispatchGroup()
  for _ in 0..<count {
    done.enter()
    Thread.detachNewThread {
      let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
      threads.withLock { $0.append("/proc/\(path ?? "")/status") }
      let value = act()
      values.withLock { $0.append(value) }
      done.leave()
    }
  }
  defer { done.wait() }
  // If none of them has run between two looks at all of them, all slept in between.
  var last: [String] = []
  let limit = Date(timeIntervalSinceNow: 60)
  while true {
    let all = threads.withLock { $0 }
    let sleeps = try all.compactMap { try asleep($0) }
    if sleeps.count == count, sleeps == last { break }
    last = sleeps
    try #require(Date() < limit, "they do not wait: \(sleeps)")
    usleep(1000)
  }
  between()
  done.wait()
  return values.withLock { $0 }
}

/// What changes when a thread runs; nil while it does.
private func asleep(_ status: String) throws -> String? {
  let lines = try String(contentsOfFile: status, encoding: .utf8).split(separator: "\n")
  guard lines.contains(where: { $0.hasPrefix("State:\tS") }) else { return nil }
  return lines.filter { $0.contains("ctxt_switches") }.joined(separator: " ")
}

/// Runs this for each number at the same time. What they throw is the test's issue: on their threads
/// there is no test.
func concurrently(_ count: Int, _ act: @Sendable (Int) throws -> Void) {
  let faults = Mutex<[any Error]>([])
  DispatchQueue.concurrentPerform(iterations: count) { number in
    do {
      try act(number)
    } catch {
      faults.withLock { $0.append(error) }
    }
  }
  for fault in faults.withLock({ $0 }) { Issue.record(fault) }
}
