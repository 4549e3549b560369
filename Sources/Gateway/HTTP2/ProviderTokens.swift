import NIOConcurrencyHelpers

/// The provider tokens in use, over all connections: how old each may be, and how soon one
/// may follow the other, is for all of a key's together.
final class ProviderTokens: Sendable {
  enum Verdict {
    case good(ProviderToken)
    case refused(PushReason)
  }

  private struct State {
    var good: [String: ProviderToken] = [:]
    /// When the newest one of each key was issued.
    var newest: [String: Int64] = [:]
  }

  /// How far a clock may be ahead of ours.
  private static let ahead: Int64 = 300
  /// More than anyone has in use.
  private static let most = 10_000

  private let keys: [String: ProviderKey]
  private let state = NIOLockedValueBox(State())

  init(_ keys: [ProviderKey]) {
    self.keys = Dictionary(keys.map { ($0.identifier, $0) }) { _, last in last }
  }

  /// `authorization` is the header's value.
  func judge(_ authorization: String, at now: Int64, _ faults: Faults) -> Verdict {
    guard let text = Self.token(in: authorization) else {
      return .refused(authorization.isEmpty ? .missingProviderToken : .invalidProviderToken)
    }
    if text.isEmpty { return .refused(.missingProviderToken) }
    let name = String(text)
    if let known = state.withLockedValue({ $0.good[name] }) {
      return isExpired(known, now, faults) ? .refused(.expiredProviderToken) : .good(known)
    }
    guard let token = ProviderToken(text, keys: keys), token.issued <= now + Self.ahead else {
      return .refused(.invalidProviderToken)
    }
    // One that is refused is no renewal.
    if isExpired(token, now, faults) { return .refused(.expiredProviderToken) }
    return state.withLockedValue { state in
      if let newest = state.newest[token.key],
        abs(token.issued - newest) < Int64(faults.tokenRenewal)
      {
        return .refused(.tooManyProviderTokenUpdates)
      }
      if state.good.count >= Self.most { state.good = [:] }
      state.good[name] = token
      state.newest[token.key] = max(state.newest[token.key] ?? .min, token.issued)
      return .good(token)
    }
  }

  /// Whoever is told so may renew at once.
  func isExpired(_ token: ProviderToken, _ now: Int64, _ faults: Faults) -> Bool {
    if now - token.issued < Int64(faults.tokenAge) { return false }
    state.withLockedValue { state in
      if let newest = state.newest[token.key], newest <= token.issued {
        state.newest[token.key] = nil
      }
    }
    return true
  }

  /// What follows `bearer`; nil where it is another scheme.
  private static func token(in authorization: String) -> Substring? {
    let parts = authorization.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts[0].lowercased() == "bearer" else { return nil }
    return parts.count == 2 ? parts[1] : ""
  }
}
