import Foundation
import Logging
import Synchronization

/// Puts notifications of the listeners into the queue. Notifications that arrive during a
/// transaction go into the next one, so that many connections share the time of a disk write.
package final class ListenerQueue: @unchecked Sendable {
  /// All entries of a submission are in the queue, and survive a kill.
  package struct Taken: Sendable {
    /// How many entries the transaction added, those of other submissions included.
    package var added: Int
    /// Otherwise some IDs may have been known, and were skipped.
    package var isNew: Bool
  }

  /// After a failure no entry of the submission is in the queue.
  package typealias Taking = Result<Taken, any Error>

  private struct Submission {
    var entries: [NewEntry]
    /// It has its own transaction.
    var isWhole: Bool
    var done: @Sendable (Taking) -> Void
  }

  /// With more entries waiting, the queue is too slow, and new ones are refused.
  private static let mostWaiting = 100_000
  /// The entries of one transaction, unless a single submission has more.
  private static let mostTogether = 2000

  private let queue: any EntryQueue
  private let log: Logger
  private let warning = ThrottledWarning()
  /// Guarded by `change`.
  private var submissions: [Submission] = []
  private var waiting = 0
  private var isEnding = false
  private let change = NSCondition()
  private let ended = DispatchSemaphore(value: 0)

  package init(_ queue: any EntryQueue, log: Logger) {
    self.queue = queue
    self.log = log
  }

  package func start() {
    Thread.begin("listeners", stackBytes: 1 << 20) { [self] in
      work()
      ended.signal()
    }
  }

  /// Returns once all submissions are queued.
  package func end() {
    change.lock()
    isEnding = true
    change.signal()
    change.unlock()
    ended.wait()
  }

  /// The entries may belong to several apps. With `isWhole` they have their own transaction. `done` is
  /// called exactly once, usually on the queue's thread.
  package func add(
    _ entries: [NewEntry], isWhole: Bool = false, _ done: @escaping @Sendable (Taking) -> Void
  ) {
    if let fault = entries.lazy.compactMap(\.fault).first { return done(.failure(fault)) }
    change.lock()
    guard !isEnding, waiting < Self.mostWaiting else {
      let isEnding = isEnding
      change.unlock()
      if isEnding { return done(.failure(RelayFault("the relay stops"))) }
      return done(failed(RelayFault("it is slower than the incoming notifications")))
    }
    submissions.append(Submission(entries: entries, isWhole: isWhole, done: done))
    waiting += entries.count
    change.signal()
    change.unlock()
  }

  private func work() {
    while let submissions = next() {
      let all = submissions.count == 1 ? submissions[0].entries : submissions.flatMap(\.entries)
      do {
        let taken = try enqueue(all)
        if warning.isOver() { log.notice("notifications are queued again") }
        // The queue does not report which entries were known, so any of them may have been.
        for submission in submissions { submission.done(.success(taken)) }
      } catch {
        // The error may concern a single submission, so each is tried alone.
        for submission in submissions {
          submission.done(submissions.count == 1 ? failed(error) : alone(submission))
        }
      }
    }
  }

  private func alone(_ submission: Submission) -> Taking {
    do { return .success(try enqueue(submission.entries)) } catch { return failed(error) }
  }

  private func enqueue(_ entries: [NewEntry]) throws -> Taken {
    let added = try queue.enqueue(entries, at: RelayClock.now)
    return Taken(added: added, isNew: added == entries.count)
  }

  private func failed(_ error: any Error) -> Taking {
    let text = "notifications cannot be queued: \(error)"
    if warning.isDue(text) { log.warning("\(text)") }
    return .failure(error)
  }

  /// Waits for submissions; nil at the end.
  private func next() -> [Submission]? {
    change.lock()
    defer { change.unlock() }
    while submissions.isEmpty {
      if isEnding { return nil }
      change.wait()
    }
    var (count, entries) = (0, 0)
    while count < submissions.count,
      count == 0
        || !submissions[count].isWhole && !submissions[0].isWhole
          && entries + submissions[count].entries.count <= Self.mostTogether
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
