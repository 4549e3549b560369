import Synchronization

/// Numbers the failures of a queue's nodes, so that a later failure can be detected.
final class RedisLosses: Sendable {
  private let last = Atomic(0)

  func next() -> Int { last.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue }
}
