import CSystem

/// A substitute for the provider token. It is replaced by the same policy, on the world's
/// clock, and has a number where the real token has a signature.
struct ModelToken: TokenSource, ~Copyable {
  private let world: HTTP2World
  /// Each credentials object has its own tokens.
  private let credentials: UInt32

  init(_ world: HTTP2World) {
    self.world = world
    credentials = UInt32(world.credentials)
    world.policy = TokenPolicy()
  }

  private var now: TokenTime {
    TokenTime(
      unix: 1_600_000_000 + world.clock / 1_000_000_000, monotonic: world.clock / 1_000_000_000)
  }

  func update(_ text: inout BearerText) throws(Failure) {
    if text.generation == 0 || world.policy.decision(at: now) == .replace { try fetch(&text) }
  }

  func replace(
    _ text: inout BearerText, refused generation: UInt32
  ) throws(Failure) -> Bool {
    if world.policy.decision(refused: generation, at: now) == .replace { try fetch(&text) }
    return text.generation != generation
  }

  private func fetch(_ text: inout BearerText) throws(Failure) {
    try world.requireToken()
    world.policy.replaced(at: now, chance: UInt32(truncatingIfNeeded: world.dice.next()))
    world.met(.newTokens)
    text.write(world.policy, credentials &* Self.maximum &+ world.policy.generation)
  }

  private static var maximum: UInt32 { 1_000_000 }

  /// The credentials of the token with that number.
  static func credentials(_ number: UInt32) -> Int { Int(number / maximum) }
}

/// What a request shows: "bearer " and the number of the token.
extension BearerText {
  private static var count: Int { 17 }
  private static var prefix: StaticString { "bearer " }

  fileprivate mutating func write(_ policy: TokenPolicy, _ number: UInt32) {
    var text = InlineArray<256, UInt8>(repeating: 0)
    for place in 0..<7 { text[place] = Self.prefix.utf8Start[place] }
    var left = number
    for place in stride(from: Self.count - 1, through: 7, by: -1) {
      text[place] = 0x30 + UInt8(left % 10)
      left /= 10
    }
    withUnsafeBytes(of: &text) { copy(UnsafeRawBufferPointer(rebasing: $0[..<Self.count]), policy) }
  }

  /// The number of the token that a request shows; nil: none.
  static func generation(_ value: UnsafeRawBufferPointer) -> UInt32? {
    guard value.count == count else { return nil }
    return value[7...].reduce(0) { $0 &* 10 &+ UInt32($1 &- 0x30) }
  }
}
