import CSystem

/// A session's copy of the provider token, wiped when it is freed.
struct BearerText: ~Copyable {
  /// Holds "bearer " and the longest token.
  static let capacity = 1024
  /// How many bytes more the header field may take than its value.
  private static let fieldStart = 16
  private static let memorySize = 2 * capacity + fieldStart

  /// The value, and behind `capacity` the header field.
  private let memory: UnsafeMutableRawPointer
  private var count = 0
  private var fieldCount = 0
  private(set) var policy = TokenPolicy()
  /// Logs new tokens; nil without a log.
  var log: UnsafeMutablePointer<SessionLog>?
  /// How many tokens there were.
  private(set) var copies: UInt64 = 0

  init() throws(Failure) {
    guard let memory = malloc(Self.memorySize) else { throw .outOfMemory }
    self.memory = memory
  }

  deinit {
    csystem_wipe(memory, Self.memorySize)
    free(memory)
  }

  /// Which token it is, noted with each request that carries it; 0: none yet.
  var generation: UInt32 { policy.generation }

  /// The value of the header `authorization`: "bearer " and the token.
  var authorization: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: memory, count: count)
  }

  /// The header field as requests have it; empty until it is written.
  var field: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: memory + Self.capacity, count: fieldCount)
  }
  var lacksField: Bool { fieldCount == 0 && count > 0 }

  /// Writes the header field once for all requests. `write` gets the value and a place with room for
  /// 16 bytes more, and returns how many it has written.
  mutating func writeField(
    _ write: (UnsafeRawBufferPointer, UnsafeMutableRawPointer) -> Int
  ) { fieldCount = write(authorization, memory + Self.capacity) }

  /// Wipes the token.
  mutating func forget() {
    csystem_wipe(memory, Self.memorySize)
    (count, fieldCount) = (0, 0)
    policy = TokenPolicy()
  }

  /// Takes over a token of at most `capacity` bytes.
  mutating func copy(_ text: UnsafeRawBufferPointer, _ policy: TokenPolicy) {
    guard text.count <= Self.capacity else { return }
    if let base = text.baseAddress { memory.copyMemory(from: base, byteCount: text.count) }
    (count, fieldCount) = (text.count, 0)
    if policy.generation != self.policy.generation { copies &+= 1 }
    self.policy = policy
  }
}
