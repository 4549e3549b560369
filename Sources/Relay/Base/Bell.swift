import Foundation
import Synchronization

/// Wakes a thread. Rings before it waits again are one.
final class Bell: Sendable {
  private let hasRung = Atomic(false)
  private let semaphore = DispatchSemaphore(value: 0)

  func ring() {
    if !hasRung.exchange(true, ordering: .sequentiallyConsistent) { semaphore.signal() }
  }

  func wait(upToMS milliseconds: Int64) {
    _ = semaphore.wait(timeout: .now() + .milliseconds(Int(milliseconds)))
    hasRung.store(false, ordering: .sequentiallyConsistent)
  }
}
