import GRDB
import Glibc
import Synchronization

/// Waits while another program writes to the file, up to a limit.
final class BusyWait: Sendable {
  private struct State {
    var began: Int64 = 0
    var last: Int64 = -heldUpMS
  }

  private static let longestMS: Int64 = 30_000
  private static let hurriedMS: Int64 = 3000
  /// The time after the last wait for which the file still counts as blocked by another program.
  private static let heldUpMS: Int64 = 5000

  private let patienceMS = Atomic(longestMS)
  private let isWithout = Atomic(false)
  private let state = Mutex(State())

  /// False if the limit is reached. `tries` is the number of earlier waits of the same call.
  func wait(_ tries: Int) -> Bool {
    let now = RelayClock.monotonic
    let began = state.withLock { state in
      if tries == 0 { state.began = now }
      state.last = now
      return state.began
    }
    guard !isWithout.load(ordering: .relaxed), now - began < patienceMS.load(ordering: .relaxed)
    else { return false }
    usleep(tries < 10 ? UInt32(1000 * (1 + tries)) : 50_000)
    return true
  }

  var isHeldUp: Bool { RelayClock.monotonic - state.withLock { $0.last } < Self.heldUpMS }

  func hurry() { patienceMS.store(Self.hurriedMS, ordering: .relaxed) }

  /// Runs `act` without waiting for others. The caller has the connection.
  func withoutPatience<Value>(_ act: () throws -> Value) rethrows -> Value {
    isWithout.store(true, ordering: .relaxed)
    defer { isWithout.store(false, ordering: .relaxed) }
    return try act()
  }
}
