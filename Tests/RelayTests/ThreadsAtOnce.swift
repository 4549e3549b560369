import Foundation
import Synchronization
import Testing

/// Calls `act` `count` times, each on a separate thread, and calls `between` once all threads wait.
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
  // If no thread has run between two checks of all, all slept in between.
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

/// A text that changes whenever the thread runs; nil while it runs.
private func asleep(_ status: String) throws -> String? {
  let lines = try String(contentsOfFile: status, encoding: .utf8).split(separator: "\n")
  guard lines.contains(where: { $0.hasPrefix("State:\tS") }) else { return nil }
  return lines.filter { $0.contains("ctxt_switches") }.joined(separator: " ")
}

/// Calls `act` for each number at the same time. An error becomes an issue of the test, because
/// these threads belong to no test.
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
