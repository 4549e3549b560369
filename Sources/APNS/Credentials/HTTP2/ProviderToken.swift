import CAPNS
import CSystem

extension TokenTime {
  static var now: TokenTime {
    TokenTime(unix: csystem_unix_seconds(), steady: Deadline.now / 1_000_000_000)
  }
}

/// The provider token of some credentials, shared by all their sessions in any thread. Each session
/// asks for it with a text of its own. Using it needs no OpenSSL.
struct ProviderToken: TokenSource, ~Copyable {
  /// Three atomic numbers before the shared part: how many users it has, which process's thread is
  /// in it, and the token's generation.
  let numbers: UnsafeMutablePointer<UInt32>
  private static let users = 0
  static let holder = 1
  private static let generation = 2
  private static let offset = 16

  private struct Shared: ~Copyable {
    let signer: TokenSigner
    var policy = TokenPolicy()
    var text = InlineArray<256, UInt8>(repeating: 0)
    var count = 0
  }
  private var shared: UnsafeMutablePointer<Shared> {
    (UnsafeMutableRawPointer(numbers) + Self.offset).assumingMemoryBound(to: Shared.self)
  }
  private static var size: Int { offset &+ MemoryLayout<Shared>.size }

  /// Nil if the options have no key for tokens.
  @inline(never)
  init?(_ options: apns_credentials_options_t) throws(Failure) {
    guard let signer = try TokenSigner(options) else { return nil }
    guard let memory = calloc(1, Self.size) else { throw .outOfMemory }
    numbers = memory.bindMemory(to: UInt32.self, capacity: 4)
    shared.initialize(to: Shared(signer: signer))
    csystem_atomic_store(numbers + Self.users, 1)
  }

  /// Adds a user of the same token.
  init(sharing other: borrowing ProviderToken) {
    numbers = other.numbers
    _ = csystem_atomic_add(numbers + Self.users, 1)
  }

  deinit { release() }

  @inline(never)
  private func release() {
    guard csystem_atomic_add(numbers + Self.users, .max) == 0 else { return }
    shared.deinitialize(count: 1)
    csystem_wipe(numbers, Self.size)
    free(numbers)
  }

  var keyID: UnsafePointer<CChar> { shared.pointee.signer.keyID }
  var teamID: UnsafePointer<CChar> { shared.pointee.signer.teamID }

  @inline(__always)
  func update(_ text: inout BearerText) throws(Failure) { try update(&text, at: .now) }

  @inline(__always)
  func replace(
    _ text: inout BearerText, refused generation: UInt32
  ) throws(Failure) -> Bool {
    try replace(&text, refused: generation, at: .now)
  }

  @inline(__always)
  func update(_ text: inout BearerText, at now: TokenTime) throws(Failure) {
    if text.generation != 0,
      csystem_atomic_load(numbers + Self.generation) == text.generation,
      text.policy.verdict(at: now) == .keep
    {
      return
    }
    try fetch(&text, refused: nil, at: now)
  }

  @inline(never)
  func replace(
    _ text: inout BearerText, refused generation: UInt32, at now: TokenTime
  ) throws(Failure) -> Bool {
    try fetch(&text, refused: generation, at: now)
    return text.generation != generation
  }

  @inline(never)
  private func fetch(
    _ text: inout BearerText, refused generation: UInt32?, at now: TokenTime
  ) throws(Failure) {
    enter()
    defer { leave() }
    let verdict =
      switch generation {
      case .some(let generation): shared.pointee.policy.verdict(refused: generation, at: now)
      case .none: shared.pointee.policy.verdict(at: now)
      }
    if verdict == .replace { try make(at: now) }
    text.copy(shared.pointee.text, shared.pointee.count, shared.pointee.policy)
  }

  private func make(at now: TokenTime) throws(Failure) {
    var text = InlineArray<256, UInt8>(repeating: 0)
    defer { withUnsafeMutableBytes(of: &text) { csystem_wipe($0.baseAddress, $0.count) } }
    var failure: Failure?
    var made = (count: 0, chance: UInt32(0))
    withUnsafeMutableBytes(of: &text) { bytes in
      guard let start = bytes.baseAddress else { return }
      do throws(Failure) {
        made = try shared.pointee.signer.write(
          at: now.unix, to: start.assumingMemoryBound(to: UInt8.self))
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    shared.pointee.text = text
    shared.pointee.count = made.count
    shared.pointee.policy.replaced(at: now, chance: made.chance)
    csystem_atomic_store(numbers + Self.generation, shared.pointee.policy.generation)
  }

  /// Lets in one thread at a time, for one signature at most and twice an hour. No mutex: a forked
  /// child would wait forever for a thread that only its parent has.
  private func enter() {
    let own = UInt32(bitPattern: getpid())
    while true {
      let holder = csystem_atomic_load(numbers + Self.holder)
      if holder == own {
        csystem_pause(50_000)
        continue
      }
      guard csystem_atomic_replace(numbers + Self.holder, holder, own) == 1 else { continue }
      // The parent's thread left its work here half done.
      if holder != 0 { shared.pointee.policy.forget() }
      return
    }
  }

  private func leave() { csystem_atomic_store(numbers + Self.holder, 0) }
}
