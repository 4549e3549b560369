import Foundation
import Logging
import Synchronization

/// Puts notifications of the listeners into the queue. Notifications that arrive during a
/// transaction go into the next one, so that many connections share the time of a disk write.
package final class ListenerQueue: @unchecked Sendable {
  /// The result of a submission.
  package enum Taking: Sendable {
    /// All of it is in the queue, and survives a kill. Unless `isNew`, some IDs may have been
    /// known, and were skipped.
    case taken(isNew: Bool)
    /// No entry of it is in the queue.
    case failed(any Error)
  }

  private struct Submission {
    var entries: [NewEntry]
    /// It has its own transaction.
    var isWhole = false
    /// Gets how many entries the transaction added too.
    var done: @Sendable (Taking, _ added: Int) -> Void
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
    let thread = Thread { [self] in
      work()
      ended.signal()
    }
    thread.name = "listeners"
    thread.stackSize = 1 << 20
    thread.start()
  }

  /// Returns once all submissions are queued.
  package func end() {
    change.lock()
    isEnding = true
    change.signal()
    change.unlock()
    ended.wait()
  }

  /// The entries may belong to several apps. `done` is called exactly once, usually on the queue's
  /// thread.
  package func add(_ entries: [NewEntry], _ done: @escaping @Sendable (Taking) -> Void) {
    add(Submission(entries: entries) { taking, _ in done(taking) })
  }

  /// Adds entries in their own transaction. `done` is called exactly once, with the number of
  /// entries that were not known.
  package func add(
    whole entries: [NewEntry], _ done: @escaping @Sendable (Result<Int, any Error>) -> Void
  ) {
    add(
      Submission(entries: entries, isWhole: true) { taking, added in
        switch taking {
        case .taken: done(.success(added))
        case .failed(let error): done(.failure(error))
        }
      })
  }

  private func add(_ submission: Submission) {
    func refuse(_ taking: Taking) { submission.done(taking, 0) }
    if let fault = submission.entries.lazy.compactMap(\.fault).first {
      return refuse(.failed(fault))
    }
    change.lock()
    guard !isEnding, waiting < Self.mostWaiting else {
      let isEnding = isEnding
      change.unlock()
      guard !isEnding else { return refuse(.failed(RelayFault("the relay stops"))) }
      let fault = RelayFault("it is slower than the incoming notifications")
      return refuse(failed(fault).taking)
    }
    submissions.append(submission)
    waiting += submission.entries.count
    change.signal()
    change.unlock()
  }

  private func work() {
    while let submissions = next() {
      let all = submissions.count == 1 ? submissions[0].entries : submissions.flatMap(\.entries)
      do {
        let added = try queue.enqueue(all, at: RelayClock.now)
        if warning.isOver() { log.notice("notifications are queued again") }
        // The queue does not report which entries were known, so any of them may have been.
        for submission in submissions {
          submission.done(.taken(isNew: added == all.count), added)
        }
      } catch {
        // The error may concern a single submission, so each is tried alone.
        for submission in submissions {
          let (taking, added) = submissions.count == 1 ? failed(error) : alone(submission)
          submission.done(taking, added)
        }
      }
    }
  }

  private func alone(_ submission: Submission) -> (taking: Taking, added: Int) {
    do {
      let added = try queue.enqueue(submission.entries, at: RelayClock.now)
      return (.taken(isNew: added == submission.entries.count), added)
    } catch {
      return failed(error)
    }
  }

  private func failed(_ error: any Error) -> (taking: Taking, added: Int) {
    let text = "notifications cannot be queued: \(error)"
    if warning.isDue(text) { log.warning("\(text)") }
    return (.failed(error), 0)
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
