import NIOCore
import Synchronization

/// Limits how many feedback lists are sent per app at the same time, because each stays in memory
/// until its client has read it. Other clients wait.
final class FeedbackTurns: Sendable {
  private struct App {
    var taken = 0
    var waiting: [EventLoopPromise<Void>] = []
  }

  private static let most = 2
  private let apps = Mutex<[String: App]>([:])

  /// Completes when the client's turn comes. The turn ends when the channel is closed, and
  /// immediately if it is closed already.
  func take(_ app: String, _ channel: any Channel) -> EventLoopFuture<Void> {
    let promise = channel.eventLoop.makePromise(of: Void.self)
    let isTurn = apps.withLock { apps in
      guard apps[app, default: App()].taken < Self.most else {
        apps[app]?.waiting.append(promise)
        return false
      }
      apps[app, default: App()].taken += 1
      return true
    }
    if isTurn { promise.succeed() }
    return promise.futureResult.map {
      channel.closeFuture.whenComplete { _ in self.release(app) }
    }
  }

  private func release(_ app: String) {
    let next = apps.withLock { apps -> EventLoopPromise<Void>? in
      if let waiting = apps[app]?.waiting, !waiting.isEmpty {
        return apps[app]?.waiting.removeFirst()
      }
      apps[app]?.taken -= 1
      return nil
    }
    next?.succeed()
  }
}
