import Synchronization

/// The parts of an app that may change.
package enum QueuePart: Sendable { case entries, outcomes, badTokens }

/// The watches of a queue. Each is told when its part may have changed, so that none looks again and
/// again.
package final class QueueNews: Sendable {
  /// Told until this is released.
  package final class Watch: Sendable {
    private let news: QueueNews
    private let number: Int

    fileprivate init(_ news: QueueNews, _ number: Int) { (self.news, self.number) = (news, number) }
    deinit { news.state.withLock { $0.all[number] = nil } }
  }

  private struct State {
    var last = 0
    var all: [Int: (app: String, part: QueuePart, tell: @Sendable () -> Void)] = [:]
  }

  private let state = Mutex(State())

  package init() {}

  package func watch(
    _ part: QueuePart, of app: String, _ tell: @escaping @Sendable () -> Void
  ) -> Watch {
    Watch(
      self,
      state.withLock { state in
        state.last += 1
        state.all[state.last] = (app, part, tell)
        return state.last
      })
  }

  var count: Int { state.withLock { $0.all.count } }

  /// The watched parts, by app.
  var parts: [String: Set<QueuePart>] {
    state.withLock { $0.all.values.reduce(into: [:]) { $0[$1.app, default: []].insert($1.part) } }
  }

  func tell(_ parts: Set<QueuePart>, of app: String) {
    tell { $0 == app && parts.contains($1) }
  }

  func tell(where isMeant: (String, QueuePart) -> Bool = { _, _ in true }) {
    for one in state.withLock({ Array($0.all.values) }) where isMeant(one.app, one.part) {
      one.tell()
    }
  }
}

package protocol QueueWatching: AnyObject, Sendable {
  /// Calls `tell` on any thread, and without delay, when another program or worker may have changed
  /// this part of an app, until the result is released. It may be called in vain. nil if the engine does
  /// not notice such changes.
  func watch(_ part: QueuePart, of app: String, _ tell: @escaping @Sendable () -> Void)
    -> QueueNews.Watch?
}

extension QueueWatching {
  package func watch(_ part: QueuePart, of app: String, _ tell: @escaping @Sendable () -> Void)
    -> QueueNews.Watch?
  { nil }
}
