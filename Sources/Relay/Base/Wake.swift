import Foundation
import Synchronization

/// Wakes a thread. Several signals before it waits again count as one.
final class Wake: Sendable {
  private let isSignalled = Atomic(false)
  private let semaphore = DispatchSemaphore(value: 0)

  func signal() {
    if !isSignalled.exchange(true, ordering: .sequentiallyConsistent) { semaphore.signal() }
  }

  func wait(upToMS milliseconds: Int64) {
    _ = semaphore.wait(timeout: .now() + .milliseconds(Int(milliseconds)))
    isSignalled.store(false, ordering: .sequentiallyConsistent)
  }
}
