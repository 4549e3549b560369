import CAPNS
import CSystem

extension TokenTime {
  static var now: TokenTime {
    TokenTime(unix: csystem_unix_seconds(), monotonic: Deadline.now / 1_000_000_000)
  }
}

/// The provider token of some credentials, shared by all their sessions in any thread. Each session
/// copies it into its own text. Using it needs no OpenSSL.
struct ProviderToken: TokenSource, ~Copyable {
  /// Three atomic numbers before the shared part: how many users it has, which process's thread is
  /// in it, and the token's generation.
  let numbers: UnsafeMutablePointer<UInt32>
  private static let users = 0
  static let holder = 1
  private static let generation = 2
  private static let offset = 16

  private struct Shared: ~Copyable {
    /// Signs tokens; nil if the application supplies them.
    let signer: TokenSigner?
    var host: HostToken?
    let cache: TokenCache?
    var policy = TokenPolicy()
    var text = InlineArray<1024, UInt8>(repeating: 0)
    var count = 0
    /// Where the next token is made, so that the last one stays if that fails.
    var draft = InlineArray<1024, UInt8>(repeating: 0)
    /// The log messages of the current call.
    var report = TokenReport()
    /// The shared file is not read again before this time (monotonic).
    var nextLook: Int64?
    /// Why the application last gave no token or signature, and until when it is not called again.
    var failure: Failure?
    var failsUntil: Int64 = 0

    init(_ signer: consuming TokenSigner?, _ host: HostToken?, _ cache: consuming TokenCache?) {
      self.signer = signer
      self.host = host
      self.cache = cache
    }
  }
  private var shared: UnsafeMutablePointer<Shared> {
    (UnsafeMutableRawPointer(numbers) + Self.offset).assumingMemoryBound(to: Shared.self)
  }
  private static var size: Int { offset &+ MemoryLayout<Shared>.size }

  /// Nil if the options have no key for tokens.
  @inline(never)
  init?(_ options: apns_credentials_options_t) throws(Failure) {
    let signer = try TokenSigner(options)
    let cache = try TokenCache(options)
    let host = HostToken(options)
    if host == nil {
      switch signer {
      case .some: break
      case .none: return nil
      }
    }
    guard let memory = calloc(1, Self.size) else { throw .outOfMemory }
    numbers = memory.bindMemory(to: UInt32.self, capacity: 4)
    shared.initialize(to: Shared(signer, host, cache))
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

  /// Nil if the application gives the tokens.
  var keyID: UnsafePointer<CChar>? {
    switch shared.pointee.signer {
    case .some(let signer): signer.keyID
    case .none: nil
    }
  }
  var teamID: UnsafePointer<CChar>? {
    switch shared.pointee.signer {
    case .some(let signer): signer.teamID
    case .none: nil
    }
  }

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
      text.policy.decision(at: now) == .keep
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
    var report = TokenReport()
    do throws(Failure) {
      try fetchAlone(&text, refused: generation, &report, at: now)
    } catch {
      text.log(report)
      throw error
    }
    text.log(report)
  }

  private func fetchAlone(
    _ text: inout BearerText, refused generation: UInt32?, _ report: inout TokenReport,
    at now: TokenTime
  ) throws(Failure) {
    enter()
    shared.pointee.report = TokenReport()
    let known = text.generation
    defer {
      report = shared.pointee.report
      // Another session of these credentials may have had it made.
      if shared.pointee.policy.generation == known { report.origin = .none }
      unlock()
    }
    if now.monotonic < shared.pointee.failsUntil, let failure = shared.pointee.failure {
      throw failure
    }
    // APNs refused the token that is still the last one here.
    let isRefused = generation == shared.pointee.policy.generation && generation != nil
    do throws(Failure) {
      if shared.pointee.host != nil {
        try fetchFromHost(isRefused: isRefused, at: now)
      } else {
        try fetchSigned(refused: generation, isLast: isRefused, at: now)
      }
    } catch {
      if error.cause == APNS_CAUSE_PROVIDER_TOKEN, error.status == APNS_ERR_CREDENTIALS {
        shared.pointee.failure = error
        shared.pointee.failsUntil = now.monotonic &+ (shared.pointee.host?.failurePause ?? 1)
      }
      throw error
    }
    withUnsafeBytes(of: &shared.pointee.text) {
      text.copy(
        UnsafeRawBufferPointer(rebasing: $0[..<min(max(0, shared.pointee.count), $0.count)]),
        shared.pointee.policy)
    }
  }

  // MARK: Tokens of the application

  private func fetchFromHost(isRefused: Bool, at now: TokenTime) throws(Failure) {
    let policy = shared.pointee.policy
    guard isRefused || policy.decision(at: now) == .replace else { return }
    guard shared.pointee.host?.isAskable(isRefused: isRefused, at: now) == true else {
      if policy.hasToken { return }
      throw HostToken.none
    }
    let need =
      !policy.hasToken ? APNS_TOKEN_FIRST : isRefused ? APNS_TOKEN_REFUSED : APNS_TOKEN_AGED
    var answer: HostToken.Answer?
    var failure: Failure?
    let start = TokenSigner.prefixLength
    withUnsafeMutableBytes(of: &shared.pointee.draft) { draft in
      draft.baseAddress?.copyMemory(from: TokenSigner.prefix.utf8Start, byteCount: start)
      do throws(Failure) {
        answer = try shared.pointee.host?.ask(
          need, at: now, to: UnsafeMutableRawBufferPointer(rebasing: draft[start...]))
      } catch {
        failure = error
      }
    }
    defer { wipeDraft() }
    if let failure { throw failure }
    switch answer {
    case .token(let count, let seconds):
      let isOther = takeDraft(start &+ count)
      shared.pointee.policy.lent(at: now, for: seconds, isOther: isOther)
      shared.pointee.report.origin = .host
      csystem_atomic_store(numbers + Self.generation, shared.pointee.policy.generation)
    case .notNow, .none: if !policy.hasToken { throw HostToken.none }
    }
  }

  /// Makes the draft the token; false if it is the same.
  private func takeDraft(_ count: Int) -> Bool {
    let isSame = shared.pointee.policy.hasToken && shared.pointee.count == count
    shared.pointee.count = count
    return withUnsafeBytes(of: &shared.pointee.draft) { draft in
      withUnsafeMutableBytes(of: &shared.pointee.text) { text in
        guard let draft = draft.baseAddress, let start = text.baseAddress, count <= text.count
        else { return false }
        if isSame, memcmp(draft, start, count) == 0 { return false }
        start.copyMemory(from: draft, byteCount: count)
        return true
      }
    }
  }

  private func wipeDraft() {
    withUnsafeMutableBytes(of: &shared.pointee.draft) { csystem_wipe($0.baseAddress, $0.count) }
  }

  // MARK: Tokens that are signed here

  private func fetchSigned(
    refused generation: UInt32?, isLast: Bool, at now: TokenTime
  ) throws(Failure) {
    let decision =
      switch generation {
      case .some(let generation): shared.pointee.policy.decision(refused: generation, at: now)
      case .none: shared.pointee.policy.decision(at: now)
      }
    guard decision == .replace || isLast else { return }
    switch shared.pointee.cache {
    case .some(let cache):
      if let nextLook = shared.pointee.nextLook, now.monotonic < nextLook,
        !shared.pointee.policy.isUrgent(at: now), !isLast
      {
        return
      }
      try share(cache, signs: decision == .replace, isRefused: isLast, at: now)
    case .none: if decision == .replace { try make(at: now) }
    }
  }

  /// Takes the token of another process, or makes one for all.
  @inline(never)
  private func share(
    _ cache: borrowing TokenCache, signs: Bool, isRefused: Bool, at now: TokenTime
  ) throws(Failure) {
    shared.pointee.report.isQuiet = cache.isDefault
    guard var record = SharedTokenRecord(), var file = cache.open(&shared.pointee.report) else {
      if signs { try make(at: now) }
      return
    }
    if takeOther(file, &record, at: now) { return }
    guard signs else { return }
    // Waiting is pointless while the token works for some more minutes.
    let isUrgent = isRefused || shared.pointee.policy.isUrgent(at: now)
    let isAlone = file.lock(waits: isUrgent, &shared.pointee.report)
    shared.pointee.nextLook = now.monotonic &+ 1
    guard isAlone || isUrgent else { return }
    // The process that held the lock may have written a new token.
    if takeOther(file, &record, at: now) { return }
    try make(at: now)
    let times = shared.pointee.policy.times(at: now)
    let count = shared.pointee.count
    let isFilled = withUnsafeBytes(of: &shared.pointee.text) { text in
      switch shared.pointee.signer {
      case .some(let signer):
        record.fill(UnsafeRawBufferPointer(rebasing: text[..<count]), times, of: signer)
      case .none: false
      }
    }
    if isFilled { file.replace(by: record, chance: times.chance, &shared.pointee.report) }
  }

  /// Uses the file's token if it is valid and different.
  private func takeOther(
    _ file: borrowing OpenTokenCache, _ record: inout SharedTokenRecord, at now: TokenTime
  ) -> Bool {
    guard file.read(into: &record, &shared.pointee.report) else { return false }
    let isOurs =
      switch shared.pointee.signer {
      case .some(let signer): record.isToken(of: signer)
      case .none: false
      }
    if !isOurs { shared.pointee.report.note("its token is of another key, or no token") }
    let times = record.times
    guard isOurs, shared.pointee.policy.takes(times, at: now) else { return false }
    let text = record.text
    withUnsafeMutableBytes(of: &shared.pointee.draft) { $0.copyMemory(from: text) }
    defer { wipeDraft() }
    guard takeDraft(text.count) else { return false }
    shared.pointee.policy.took(times, at: now)
    shared.pointee.report.origin = .cache
    csystem_atomic_store(numbers + Self.generation, shared.pointee.policy.generation)
    return true
  }

  private func make(at now: TokenTime) throws(Failure) {
    defer { wipeDraft() }
    var failure: Failure?
    var made = (count: 0, chance: UInt32(0))
    withUnsafeMutableBytes(of: &shared.pointee.draft) { bytes in
      guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
      do throws(Failure) {
        switch shared.pointee.signer {
        case .some(let signer): made = try signer.write(at: now.unix, to: start)
        case .none: break
        }
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    _ = takeDraft(made.count)
    shared.pointee.policy.replaced(at: now, chance: made.chance)
    shared.pointee.report.origin = .signed
    csystem_atomic_store(numbers + Self.generation, shared.pointee.policy.generation)
  }

  /// Serializes signing and token callbacks. Not a mutex: a forked child would wait forever for a
  /// thread that exists only in its parent.
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

  private func unlock() { csystem_atomic_store(numbers + Self.holder, 0) }
}
