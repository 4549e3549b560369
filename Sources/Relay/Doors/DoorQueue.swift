import Foundation
import Logging
import Synchronization

/// Puts what the doors take into the queue. What comes while a transaction is under way goes into
/// the next one, so that many connections share the time that the disk takes.
package final class DoorQueue: @unchecked Sendable {
  /// What became of what a door gave.
  package enum Taking: Sendable {
    /// All of it is in the queue, and survives a kill. Unless `isNew`, some of it may have been
    /// known before, and was left out.
    case taken(isNew: Bool)
    /// Nothing of it is.
    case failed(any Error)
  }

  private struct Submission {
    var entries: [NewEntry]
    var done: @Sendable (Taking) -> Void
  }

  /// Beyond that the queue is too slow for what comes, and nothing more is taken.
  private static let mostWaiting = 100_000
  /// A transaction has so many entries, or those of one submission.
  private static let mostTogether = 2000

  private let queue: any QueueEngine
  private let log: Logger
  private let warning = ThrottledWarning()
  /// Guarded by `change`.
  private var submissions: [Submission] = []
  private var waiting = 0
  private var isEnding = false
  private let change = NSCondition()
  private let ended = DispatchSemaphore(value: 0)

  package init(_ queue: any QueueEngine, log: Logger) {
    self.queue = queue
    self.log = log
  }

  package func start() {
    let thread = Thread { [self] in
      work()
      ended.signal()
    }
    thread.name = "doors"
    thread.stackSize = 1 << 20
    thread.start()
  }

  /// Ends once all that was given is in the queue.
  package func end() {
    change.lock()
    isEnding = true
    change.signal()
    change.unlock()
    ended.wait()
  }

  /// Entries of one app or of several. `done` is called once, on the queue's thread.
  package func add(_ entries: [NewEntry], _ done: @escaping @Sendable (Taking) -> Void) {
    if let fault = entries.lazy.compactMap(\.fault).first { return done(.failed(fault)) }
    change.lock()
    guard !isEnding, waiting < Self.mostWaiting else {
      let isEnding = isEnding
      change.unlock()
      guard !isEnding else { return done(.failed(QueueFault(description: "the relay stops"))) }
      let fault = QueueFault(description: "it is slower than what comes")
      return done(failed(fault))
    }
    submissions.append(Submission(entries: entries, done: done))
    waiting += entries.count
    change.signal()
    change.unlock()
  }

  private func work() {
    while let submissions = next() {
      let all = submissions.count == 1 ? submissions[0].entries : submissions.flatMap(\.entries)
      do {
        let added = try queue.enqueue(all, at: RelayClock.now)
        if warning.isOver() { log.notice("notifications come into the queue again") }
        // Which of several was known already is not said: each may have been.
        for submission in submissions { submission.done(.taken(isNew: added == all.count)) }
      } catch {
        // The fault may be one submission's: the others do not pay for it.
        for submission in submissions {
          submission.done(submissions.count == 1 ? failed(error) : alone(submission))
        }
      }
    }
  }

  private func alone(_ submission: Submission) -> Taking {
    do {
      let added = try queue.enqueue(submission.entries, at: RelayClock.now)
      return .taken(isNew: added == submission.entries.count)
    } catch {
      return failed(error)
    }
  }

  private func failed(_ error: any Error) -> Taking {
    let text = "notifications cannot be put into the queue: \(error)"
    if warning.isDue(text) { log.warning("\(text)") }
    return .failed(error)
  }

  /// Waits for something to do; nil: the end.
  private func next() -> [Submission]? {
    change.lock()
    defer { change.unlock() }
    while submissions.isEmpty {
      if isEnding { return nil }
      change.wait()
    }
    var (count, entries) = (0, 0)
    while count < submissions.count,
      count == 0 || entries + submissions[count].entries.count <= Self.mostTogether
    {
      entries += submissions[count].entries.count
      count += 1
    }
    let taken = Array(submissions[..<count])
    submissions.removeFirst(count)
    waiting -= entries
    return taken
  }
}
