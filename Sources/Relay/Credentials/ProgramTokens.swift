import CAPNS
import Foundation
import Logging
import Synchronization

/// Gives the library a program's provider tokens, for one apns_credentials_t.
final class ProgramTokenSource: ProviderTokenSource, @unchecked Sendable {
  let tokens: ProgramTokens
  /// The last token given to the library, which calls from one thread at a time.
  private var given: SharedToken?

  init(_ tokens: ProgramTokens) { self.tokens = tokens }

  func tryToken() throws { try tokens.tryToken() }

  func answer(_ request: inout apns_token_request_t) -> CInt {
    let refused = QueueToken.Need(request) == .refused ? given : nil
    switch tokens.answer(refused: refused) {
    case .token(let token, let life):
      given = token
      return request.give(token.text, renewAfterMS: life)
    case .notNow: return 0
    case .fault(let words): return request.fail(words)
    }
  }
}

/// A program's provider tokens. It runs on a separate thread, so that no worker blocks: until it
/// ends the last token is used, or no notification is sent.
final class ProgramTokens: @unchecked Sendable {
  enum Answer {
    /// A token and how long to use it.
    case token(SharedToken, lifeMS: Int64)
    case notNow
    case fault(String)
  }

  /// The age at which a token is refreshed.
  private static let renewalMS: Int64 = 45 * 60_000
  private static let soonestMS: Int64 = 20 * 60_000
  /// APNs rejects older tokens.
  private static let lifetimeMS: Int64 = 60 * 60_000
  /// The pause after the program printed an old token, or the refused one again.
  private static let pauseMS: Int64 = 15_000
  private static let firstPauseMS: Int64 = 1000
  private static let longestPauseMS: Int64 = 60_000
  /// How long after the start of a run a worker without a token waits. Most programs finish by
  /// then.
  private static let patience = 0.5

  private struct Known { weak var tokens: ProgramTokens? }

  /// All users of one program share its token, such as a worker and a listener's channel
  /// management.
  private static let known = Mutex<[TokenProgram: Known]>([:])

  static func of(
    _ program: TokenProgram, queue: (any ProviderTokenStore)?, log: Logger?
  ) -> ProgramTokens {
    known.withLock { known in
      known = known.filter { $0.value.tokens != nil }
      if let tokens = known[program]?.tokens { return tokens }
      let tokens = ProgramTokens(program, queue: queue, log: log)
      known[program] = Known(tokens: tokens)
      return tokens
    }
  }

  private let program: TokenProgram
  /// nil if each relay has separate tokens.
  private let queue: (any ProviderTokenStore)?
  private let log: Logger?

  // Guarded by `condition`.
  private let condition = NSCondition()
  private var token: SharedToken?
  private var isRefused = false
  private var isRunning = false
  /// The start of the last run.
  private var began = Date()
  private var fault: RelayFault?
  private var nextRun: Int64 = 0
  private var failurePauseMS: Int64 = 0

  private init(_ program: TokenProgram, queue: (any ProviderTokenStore)?, log: Logger?) {
    self.program = program
    self.queue = queue
    self.log = log
  }

  /// Starts the first run ahead of need.
  func prepare() {
    condition.withLock { begin(.first) }
  }

  /// Runs the program now, even if the queue has a token.
  func tryToken() throws { _ = try program.token(.first) }

  /// `refused` is a token that APNs refused.
  func answer(refused: SharedToken?) -> Answer {
    condition.lock()
    defer { condition.unlock() }
    if let refused, refused == token { isRefused = true }
    let now = RelayClock.now
    if !isFresh(at: now) {
      begin(isRefused ? .refused : token == nil ? .first : .aged)
      if isRefused || usable(at: now) == nil {
        while isRunning, condition.wait(until: began + Self.patience) {}
      }
    }
    if let token = usable(at: now) {
      if isFresh(at: now) { return .token(token, lifeMS: token.made + Self.renewalMS - now) }
      return .token(token, lifeMS: isRunning ? 1000 : nextRun - RelayClock.monotonic)
    }
    if let fault { return .fault(fault.description) }
    return .notNow
  }

  /// A token that may still be sent, even a refused one if there is no other.
  private func usable(at now: Int64) -> SharedToken? {
    token.flatMap { now - $0.made < Self.lifetimeMS ? $0 : nil }
  }

  private func isFresh(at now: Int64) -> Bool {
    guard let token, !isRefused else { return false }
    return now - token.made < Self.renewalMS
  }

  /// Starts a run, unless one is running or it is too early.
  private func begin(_ need: QueueToken.Need) {
    guard !isRunning, RelayClock.monotonic >= nextRun else { return }
    isRunning = true
    began = Date()
    Thread.begin("provider token") { [self] in run(need) }
  }

  private func run(_ need: QueueToken.Need) {
    var made: SharedToken?
    var failure: RelayFault?
    do {
      made = try take(need)
    } catch {
      failure = (error as? RelayFault) ?? RelayFault("\(error)")
    }
    condition.lock()
    let before = fault
    isRunning = false
    if let made {
      // The program may print the same token again: then it runs again after a pause.
      if made != token { isRefused = false }
      token = made
      fault = nil
      failurePauseMS = 0
      nextRun = RelayClock.monotonic + (isFresh(at: RelayClock.now) ? 0 : Self.pauseMS)
    } else {
      fault = failure
      failurePauseMS = min(Self.longestPauseMS, max(Self.firstPauseMS, 2 * failurePauseMS))
      nextRun = RelayClock.monotonic + failurePauseMS
    }
    let left = usable(at: RelayClock.now).map {
      (Self.lifetimeMS - (RelayClock.now - $0.made)) / 60_000
    }
    condition.broadcast()
    condition.unlock()
    guard let log else { return }
    if let failure, before?.description != failure.description {
      log.warning(
        "no provider token: \(failure); \(left.map { "the last one is valid for \($0) minutes" } ?? "no push is sent until then")"
      )
    } else if made != nil, before != nil {
      log.notice("the program supplies provider tokens again")
    }
  }

  /// The queue's token, or a new one from the program.
  private func take(_ need: QueueToken.Need) throws -> SharedToken {
    func make() throws -> SharedToken {
      let token = try program.token(need)
      return SharedToken(text: token.text, made: token.issuedAt * 1000)
    }
    guard let queue, let team = program.teamID, let key = program.keyID else { return try make() }
    let now = RelayClock.now
    let life = need == .refused ? Self.soonestMS : Self.renewalMS
    return try queue.providerToken(
      team: team, key: key, madeAfter: now - life, at: now,
      within: Int64(program.limitS * 1000) + 2000, make: make)
  }
}
