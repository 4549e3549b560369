import Synchronization

/// Numbers what happened to the nodes of a queue, so that one sees whether anything did since.
final class RedisLosses: Sendable {
  private let last = Atomic(0)

  func next() -> Int { last.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue }
}
