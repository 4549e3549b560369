import CSystem

/// A session's copy of the provider token, wiped when it is freed.
struct BearerText: ~Copyable {
  /// Holds "bearer " and the longest token.
  static let capacity = 1024

  private let memory: UnsafeMutableRawPointer
  private var count = 0
  private(set) var policy = TokenPolicy()
  /// Logs new tokens; nil without a log.
  var log: UnsafeMutablePointer<SessionLog>?
  /// How many tokens there were.
  private(set) var copies: UInt64 = 0

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

  /// Wipes the token.
  mutating func forget() {
    csystem_wipe(memory, Self.capacity)
    count = 0
    policy = TokenPolicy()
  }

  /// Takes over a token of at most `capacity` bytes.
  mutating func copy(_ text: UnsafeRawBufferPointer, _ policy: TokenPolicy) {
    guard text.count <= Self.capacity else { return }
    if let base = text.baseAddress { memory.copyMemory(from: base, byteCount: text.count) }
    count = text.count
    if policy.generation != self.policy.generation { copies &+= 1 }
    self.policy = policy
  }
}
