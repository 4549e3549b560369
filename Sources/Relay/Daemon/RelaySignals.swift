import Client
import Foundation

/// Waits for signals and notifies the watchdog, on a thread that never blocks on queue, disk or
/// network. Other threads carry the signals out.
package final class RelaySignals: @unchecked Sendable {
  enum Order { case reload, end }

  private static let longestPauseMS: Int64 = 10_000
  private static let numbers = [SIGTERM, SIGINT, SIGHUP]
  private let manager: ServiceManager
  private let change = NSCondition()
  // Guarded by `change`.
  /// Until the relay has begun to work, SIGTERM and SIGINT end the process immediately.
  private var takesOrders = false
  private var wantsReload = false
  private var wantsEnd = false
  private var isAlive: (@Sendable () -> Bool)?

  /// Must be called before any thread starts, because threads inherit the blocked signals.
  package init(_ manager: ServiceManager = ServiceManager()) {
    self.manager = manager
    var set = Self.set
    pthread_sigmask(SIG_BLOCK, &set, nil)
    Thread.begin("signals") { [self] in
      while true { turn() }
    }
  }

  private static var set: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for number in numbers { sigaddset(&set, number) }
    return set
  }

  private func turn() {
    var set = Self.set
    let signal: CInt
    if let watchdogMS = manager.watchdogMS {
      let pauseMS = min(watchdogMS, Self.longestPauseMS)
      var pause = timespec(tv_sec: Int(pauseMS / 1000), tv_nsec: Int(pauseMS % 1000) * 1_000_000)
      signal = sigtimedwait(&set, nil, &pause)
    } else {
      signal = sigwaitinfo(&set, nil)
    }
    change.lock()
    switch signal {
    case SIGHUP: wantsReload = true
    case SIGTERM, SIGINT:
      if !takesOrders { _exit(0) }
      wantsEnd = true
    default: break
    }
    if signal > 0 { change.signal() }
    let isAlive = isAlive
    change.unlock()
    if manager.watchdogMS != nil, let isAlive, isAlive() { manager.say("WATCHDOG=1") }
  }

  /// The relay has begun to work.
  func takeOrders() {
    change.withLock { takesOrders = true }
  }

  /// Notifies the watchdog while `isAlive` returns true.
  func watch(_ isAlive: @escaping @Sendable () -> Bool) {
    change.withLock { self.isAlive = isAlive }
  }

  /// Waits for the next order. Several signals to reload are one order.
  func next() -> Order {
    change.lock()
    defer { change.unlock() }
    while !wantsEnd, !wantsReload { change.wait() }
    if wantsEnd { return .end }
    wantsReload = false
    return .reload
  }
}
