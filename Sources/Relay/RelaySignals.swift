import APNSLibrary
import Foundation

/// Waits for signals and answers the watchdog, on a thread that waits for nothing else: no queue, no
/// disk, no network. What a signal asks for is done by another thread.
package final class RelaySignals: @unchecked Sendable {
  enum Order { case reload, end }

  private static let numbers = [SIGTERM, SIGINT, SIGHUP]
  private let manager: ServiceManager
  private let change = NSCondition()
  // Guarded by `change`.
  /// Until something is in hand, who wants an end gets it at once.
  private var takesOrders = false
  private var wantsReload = false
  private var wantsEnd = false
  private var isAlive: (@Sendable () -> Bool)?

  /// Before any thread begins: they inherit that the signals are blocked.
  package init(_ manager: ServiceManager = ServiceManager()) {
    self.manager = manager
    var set = Self.set
    pthread_sigmask(SIG_BLOCK, &set, nil)
    let thread = Thread { [self] in
      while true { turn() }
    }
    thread.name = "signals"
    thread.stackSize = 1 << 19
    thread.start()
  }

  private static var set: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for number in numbers { sigaddset(&set, number) }
    return set
  }

  private func turn() {
    var set = Self.set
    let pauseMS = min(manager.watchdogMS ?? 1000, 1000)
    var pause = timespec(tv_sec: Int(pauseMS / 1000), tv_nsec: Int(pauseMS % 1000) * 1_000_000)
    let signal = sigtimedwait(&set, nil, &pause)
    change.lock()
    switch signal {
    case SIGHUP: wantsReload = true
    case SIGTERM, SIGINT:
      if !takesOrders { _exit(0) }
      wantsEnd = true
    default: break
    }
    change.signal()
    let isAlive = isAlive
    change.unlock()
    if manager.watchdogMS != nil, let isAlive, isAlive() { manager.say("WATCHDOG=1") }
  }

  /// Something is in hand from now on.
  func takeOrders() {
    change.lock()
    takesOrders = true
    change.unlock()
  }

  /// From now on the watchdog is told as long as this holds.
  func watch(_ isAlive: @escaping @Sendable () -> Bool) {
    change.lock()
    self.isAlive = isAlive
    change.unlock()
  }

  /// Waits for the next one. Several signals to reload are one.
  func next() -> Order {
    change.lock()
    defer { change.unlock() }
    while !wantsEnd, !wantsReload { change.wait() }
    if wantsEnd { return .end }
    wantsReload = false
    return .reload
  }
}
