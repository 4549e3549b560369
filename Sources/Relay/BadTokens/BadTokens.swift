import Client
import Foundation
import Logging
import Synchronization

/// Bad tokens in memory, for a listener that checks each push against them. It has those that this
/// relay's workers record immediately, and those that other relays record after a moment.
package final class BadTokens: @unchecked Sendable {
  /// The bad tokens of one app.
  package final class App: Sendable {
    private let rememberMS: Atomic<Int64>
    /// The time of each rejection in UNIX milliseconds.
    private let tokens = Mutex<[[UInt8]: Int64]>([:])
    fileprivate let last = Mutex<Int64>(0)
    /// nil if the queue does not report changes.
    fileprivate let watch = Mutex<QueueNews.Watch?>(nil)
    /// The sizes of tokens that APNs accepted.
    private let accepted = Mutex<TokenSizes>([])

    init(rememberMS: Int64) { self.rememberMS = Atomic(rememberMS) }

    func remember(forMS time: Int64) { rememberMS.store(time, ordering: .relaxed) }
    private func limit(at now: Int64) -> Int64 { now - rememberMS.load(ordering: .relaxed) }

    package var sizes: TokenSizes { accepted.withLock { $0 } }
    package func accept(_ sizes: TokenSizes) { accepted.withLock { $0.formUnion(sizes) } }

    func add(_ token: [UInt8], at time: Int64) {
      tokens.withLock { $0[token] = max($0[token] ?? 0, time) }
    }

    package func contains(_ token: UnsafeRawBufferPointer, at now: Int64) -> Bool {
      tokens.withLock { tokens in
        if tokens.isEmpty { return false }
        guard let time = tokens[Array(token)] else { return false }
        return time > limit(at: now)
      }
    }

    /// Removes tokens that are too old.
    fileprivate func shrink(at now: Int64) {
      let limit = limit(at: now)
      tokens.withLock { tokens in
        guard tokens.contains(where: { $0.value <= limit }) else { return }
        tokens = tokens.filter { $0.value > limit }
      }
    }
  }

  private static let pauseMS = 500
  private static let mostAtOnce = 10_000
  private static let shrinkEveryMS: Int64 = 600_000

  private let queue: any BadTokenStore & QueueWatching
  private let log: Logger
  private let apps = Mutex<[String: App]>([:])
  private let used = Atomic(false)
  private let isEnding = Atomic(false)
  private let wake = Wake()
  private let haste = DispatchSemaphore(value: 0)
  private let ended = DispatchSemaphore(value: 0)
  private var nextShrink: Int64 = 0
  private var hasLoggedFault = false

  package init(_ queue: any BadTokenStore & QueueWatching, log: Logger) {
    self.queue = queue
    self.log = log
  }

  /// Loads the bad tokens of these apps for a listener. The queue's are in memory when it returns.
  package func load(for wanted: [AppConfiguration]) throws {
    apps.withLock { apps in
      for app in wanted {
        let rememberMS = Int64(app.guarding.rememberS * 1000)
        if let known = apps[app.name] {
          known.remember(forMS: rememberMS)
        } else {
          let new = App(rememberMS: rememberMS)
          let watch = queue.watch(.badTokens, of: app.name) { [wake] in wake.signal() }
          new.watch.withLock { $0 = watch }
          apps[app.name] = new
        }
      }
    }
    try read()
    if !used.exchange(true, ordering: .relaxed) { start() }
  }

  package var isUsed: Bool { used.load(ordering: .relaxed) }
  package subscript(app: String) -> App? { apps.withLock { $0[app] } }

  /// Adds a token that a worker records.
  func add(_ token: String, app: String, at now: Int64) {
    if let app = self[app], let token = Self.bytes(token) { app.add(token, at: now) }
  }

  static func bytes(_ token: String) -> [UInt8]? { try? DeviceToken.hex(Array(token.utf8)) }

  // MARK: Tokens of other relays

  private func start() {
    Thread.begin("bad tokens", stackBytes: 1 << 20) { [self] in
      while !isEnding.load(ordering: .relaxed) {
        let isWatched = apps.withLock { $0.values.allSatisfy { $0.watch.withLock { $0 != nil } } }
        if isWatched { wake.wait(upToMS: Self.shrinkEveryMS) }
        if haste.wait(timeout: .now() + .milliseconds(Self.pauseMS)) == .timedOut { look() }
      }
      ended.signal()
    }
  }

  package func end() {
    guard isUsed else { return }
    isEnding.store(true, ordering: .relaxed)
    haste.signal()
    wake.signal()
    ended.wait()
  }

  private func look() {
    do {
      try read()
      hasLoggedFault = false
    } catch {
      if !hasLoggedFault { log.warning("bad tokens cannot be read: \(error)") }
      hasLoggedFault = true
    }
    let now = RelayClock.monotonic
    if now >= nextShrink {
      nextShrink = now + Self.shrinkEveryMS
      for app in apps.withLock({ Array($0.values) }) { app.shrink(at: RelayClock.now) }
    }
  }

  private func read() throws {
    for (name, app) in apps.withLock({ $0 }) {
      while true {
        let number = app.last.withLock { $0 }
        let more = try queue.badTokens(app: name, after: number, most: Self.mostAtOnce)
        for one in more {
          if let token = Self.bytes(one.token) { app.add(token, at: one.at) }
        }
        if let last = more.last { app.last.withLock { $0 = last.number } }
        if more.count < Self.mostAtOnce { break }
      }
    }
  }
}
