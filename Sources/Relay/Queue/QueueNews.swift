import Synchronization

/// The parts of an app that may change.
package enum QueuePart: Sendable { case entries, outcomes, badTokens }

/// The watches of a queue. A watch wakes when its part may have changed, so that it need
/// not poll.
package final class QueueNews: Sendable {
  /// Told until this is released.
  package final class Watch: Sendable {
    private let news: QueueNews
    private let app: String
    private let number: Int

    fileprivate init(_ news: QueueNews, _ app: String, _ number: Int) {
      (self.news, self.app, self.number) = (news, app, number)
    }
    deinit { news.state.withLock { $0.remove(number, of: app) } }
  }

  private typealias Watcher = (part: QueuePart, tell: @Sendable () -> Void)

  private struct State {
    var last = 0
    var count = 0
    var generation = 0
    /// By app, because most news are of one of many.
    var all: [String: [Int: Watcher]] = [:]

    mutating func add(_ watcher: Watcher, of app: String) -> Int {
      (last, count, generation) = (last + 1, count + 1, generation + 1)
      all[app, default: [:]][last] = watcher
      return last
    }

    mutating func remove(_ number: Int, of app: String) {
      (count, generation) = (count - 1, generation + 1)
      all[app]?[number] = nil
      if all[app]?.isEmpty == true { all[app] = nil }
    }
  }

  private let state = Mutex(State())

  package init() {}

  package func watch(
    _ part: QueuePart, of app: String, _ tell: @escaping @Sendable () -> Void
  ) -> Watch {
    Watch(self, app, state.withLock { $0.add((part, tell), of: app) })
  }

  var count: Int { state.withLock { $0.count } }
  /// Changes when a watch begins or ends.
  var generation: Int { state.withLock { $0.generation } }

  /// The watched parts, by app.
  var parts: [String: Set<QueuePart>] {
    state.withLock { $0.all.mapValues { Set($0.values.map(\.part)) } }
  }

  func tell(_ parts: Set<QueuePart>, of app: String) {
    for one in state.withLock({ $0.all[app] ?? [:] }).values where parts.contains(one.part) {
      one.tell()
    }
  }

  func tell() {
    for app in state.withLock({ Array($0.all.values) }) { for one in app.values { one.tell() } }
  }
}

package protocol QueueWatching: AnyObject, Sendable {
  /// Calls `tell` on any thread, and without delay, when another program or worker may have changed
  /// this part of an app, until the result is released. It may be called in vain. nil if the engine does
  /// not notice such changes.
  func watch(_ part: QueuePart, of app: String, _ tell: @escaping @Sendable () -> Void)
    -> QueueNews.Watch?
}
