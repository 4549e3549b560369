import Foundation
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

  private struct Gift {
    var entries: [NewEntry]
    var done: @Sendable (Taking) -> Void
  }

  /// Beyond that the queue is too slow for what comes, and nothing more is taken.
  private static let mostWaiting = 100_000
  /// A transaction has so many entries, or those of one gift.
  private static let mostTogether = 2000

  private let queue: any QueueEngine
  /// Guarded by `change`.
  private var gifts: [Gift] = []
  private var waiting = 0
  private var isEnding = false
  private let change = NSCondition()
  private let ended = DispatchSemaphore(value: 0)

  package init(_ queue: any QueueEngine) { self.queue = queue }

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
      let reason = isEnding ? "the relay stops" : "the queue is slower than what comes"
      change.unlock()
      return done(.failed(QueueFault(description: reason)))
    }
    gifts.append(Gift(entries: entries, done: done))
    waiting += entries.count
    change.signal()
    change.unlock()
  }

  private func work() {
    while let gifts = next() {
      let all = gifts.flatMap(\.entries)
      do {
        let added = try queue.enqueue(all, at: RelayClock.now)
        // Which of several was known already is not said: each may have been.
        for gift in gifts { gift.done(.taken(isNew: added == all.count)) }
      } catch {
        // The fault may be one gift's: the others do not pay for it.
        for gift in gifts { gift.done(gifts.count == 1 ? .failed(error) : alone(gift)) }
      }
    }
  }

  private func alone(_ gift: Gift) -> Taking {
    do {
      let added = try queue.enqueue(gift.entries, at: RelayClock.now)
      return .taken(isNew: added == gift.entries.count)
    } catch {
      return .failed(error)
    }
  }

  /// Waits for something to do; nil: the end.
  private func next() -> [Gift]? {
    change.lock()
    defer { change.unlock() }
    while gifts.isEmpty {
      if isEnding { return nil }
      change.wait()
    }
    var (count, entries) = (0, 0)
    while count < gifts.count,
      count == 0 || entries + gifts[count].entries.count <= Self.mostTogether
    {
      entries += gifts[count].entries.count
      count += 1
    }
    let taken = Array(gifts[..<count])
    gifts.removeFirst(count)
    waiting -= entries
    return taken
  }
}
