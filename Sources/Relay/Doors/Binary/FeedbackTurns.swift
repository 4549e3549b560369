import NIOCore
import Synchronization

/// So many lists of an app are told at a time: each takes memory until its client has read it, and may
/// be long. Who comes then waits for its turn.
final class FeedbackTurns: Sendable {
  private struct App {
    var taken = 0
    var waiting: [EventLoopPromise<Void>] = []
  }

  private static let most = 2
  private let apps = Mutex<[String: App]>([:])

  /// Its turn has come, until the channel is closed. One that is closed before has none.
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
