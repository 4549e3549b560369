import GRDB
import Glibc
import Synchronization

/// Waits for another program that writes to the file, for as long as that may take.
final class BusyWait: Sendable {
  private struct State {
    var began: Int64 = 0
    var last: Int64 = -heldUpMS
  }

  private static let longestMS: Int64 = 30_000
  private static let hurriedMS: Int64 = 3000
  /// So long somebody else's turn may be after the last look.
  private static let heldUpMS: Int64 = 5000

  private let patienceMS = Atomic(longestMS)
  private let isWithout = Atomic(false)
  private let state = Mutex(State())

  /// False: it was long enough. `tries`: how often the same call waited before.
  func wait(_ tries: Int) -> Bool {
    let now = RelayClock.steady
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

  var isHeldUp: Bool { RelayClock.steady - state.withLock { $0.last } < Self.heldUpMS }

  func hurry() { patienceMS.store(Self.hurriedMS, ordering: .relaxed) }

  /// What is not worth a wait, by who has the connection.
  func withoutPatience<Value>(_ act: () throws -> Value) rethrows -> Value {
    isWithout.store(true, ordering: .relaxed)
    defer { isWithout.store(false, ordering: .relaxed) }
    return try act()
  }
}
