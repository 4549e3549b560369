import CSystem

extension TokenTime {
  /// The world's clock counts, which a token knows by itself.
  static var now: TokenTime { TokenTime(unix: 0, steady: 0) }
}

/// What stands in for the provider token: replaced by the same policy, on the world's clock,
/// and instead of a signature it says which one it is.
struct ProviderToken: ~Copyable {
  private let world: PushWorld

  init(_ world: PushWorld) {
    self.world = world
    world.policy = TokenPolicy()
  }

  private var now: TokenTime {
    TokenTime(
      unix: 1_600_000_000 + world.clock / 1_000_000_000, steady: world.clock / 1_000_000_000)
  }

  func update(_ text: inout BearerText, at _: TokenTime) throws(Failure) {
    if text.generation == 0 || world.policy.verdict(at: now) == .replace { fetch(&text) }
  }

  func replace(
    _ text: inout BearerText, refused generation: UInt32, at _: TokenTime
  ) throws(Failure) -> Bool {
    if world.policy.verdict(refused: generation, at: now) == .replace { fetch(&text) }
    return text.generation != generation
  }

  private func fetch(_ text: inout BearerText) {
    world.policy.replaced(at: now, chance: UInt32(truncatingIfNeeded: world.dice.next()))
    world.met(.newTokens)
    text.write(world.policy.generation)
  }
}

/// The session's copy: "bearer " and the number of the token.
struct BearerText: ~Copyable {
  private let memory: UnsafeMutableRawPointer
  private(set) var generation: UInt32 = 0
  private static let count = 17
  private static let prefix: StaticString = "bearer "

  init() throws(Failure) {
    guard let memory = malloc(Self.count) else { throw .outOfMemory }
    self.memory = memory
  }

  deinit { free(memory) }

  var authorization: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: memory, count: generation == 0 ? 0 : Self.count)
  }

  fileprivate mutating func write(_ generation: UInt32) {
    self.generation = generation
    memcpy(memory, Self.prefix.utf8Start, 7)
    var left = generation
    for place in stride(from: Self.count - 1, through: 7, by: -1) {
      memory.storeBytes(of: 0x30 + UInt8(left % 10), toByteOffset: place, as: UInt8.self)
      left /= 10
    }
  }

  /// Which token a request shows; nil: none.
  static func generation(_ value: UnsafeRawBufferPointer) -> UInt32? {
    guard value.count == count else { return nil }
    return value[7...].reduce(0) { $0 &* 10 &+ UInt32($1 &- 0x30) }
  }
}
