import CSystem

/// A session's copy of the provider token, wiped when it is freed.
struct BearerText: ~Copyable {
  /// Holds "bearer " and the longest token.
  static let capacity = 256

  private let memory: UnsafeMutableRawPointer
  private var count = 0
  private(set) var policy = TokenPolicy()

  init() throws(Failure) {
    guard let memory = malloc(Self.capacity) else { throw .outOfMemory }
    self.memory = memory
  }

  deinit {
    csystem_wipe(memory, Self.capacity)
    free(memory)
  }

  /// Which token it is, noted with each request that carries it; 0: none yet.
  var generation: UInt32 { policy.generation }

  /// The value of the header `authorization`: "bearer " and the token.
  var authorization: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: memory, count: count)
  }

  mutating func copy(
    _ text: borrowing InlineArray<256, UInt8>, _ count: Int, _ policy: TokenPolicy
  ) {
    for index in 0..<count {
      memory.storeBytes(of: text[index], toByteOffset: index, as: UInt8.self)
    }
    self.count = count
    self.policy = policy
  }
}
