import NIOConcurrencyHelpers

/// What the provider tokens of a connection are judged by, beside their age.
struct TokenOrigin: Sendable {
  /// Those of this connection, by key.
  var connection: [String: TokenRenewals] = [:]
  /// Where it comes from, without the port.
  var address: String
}

/// The provider tokens that were good, and how soon one may follow the other: on each
/// connection, or for all that share a key, or a key and an address.
final class ProviderTokens: Sendable {
  enum Verdict {
    case good(ReceivedProviderToken)
    case refused(PushReason)
  }

  private struct State {
    var good: [String: ReceivedProviderToken] = [:]
    var byKey: [String: TokenRenewals] = [:]
    var byAddress: [String: [String: TokenRenewals]] = [:]
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
  func judge(
    _ authorization: String, at now: Int64, from origin: inout TokenOrigin, _ faults: Faults
  ) -> Verdict {
    guard let text = Self.token(in: authorization) else {
      return .refused(authorization.isEmpty ? .missingProviderToken : .invalidProviderToken)
    }
    if text.isEmpty { return .refused(.missingProviderToken) }
    let name = String(text)
    // Its signature is looked at once, whoever brings it.
    guard
      let token = state.withLockedValue({ $0.good[name] })
        ?? ReceivedProviderToken(text, keys: keys),
      token.issued <= now + Self.ahead
    else {
      return .refused(.invalidProviderToken)
    }
    // One that is refused is no renewal.
    if isExpired(token, now, from: &origin, faults) { return .refused(.expiredProviderToken) }
    let isTaken = renewals(of: token, from: &origin, faults) {
      $0.take(name, issued: token.issued, renewal: Int64(faults.tokenRenewal))
    }
    if !isTaken { return .refused(.tooManyProviderTokenUpdates) }
    state.withLockedValue { state in
      if state.good.count >= Self.most { state.good = [:] }
      state.good[name] = token
    }
    return .good(token)
  }

  /// Whoever is told so may renew at once.
  func isExpired(
    _ token: ReceivedProviderToken, _ now: Int64, from origin: inout TokenOrigin, _ faults: Faults
  ) -> Bool {
    if now - token.issued < Int64(faults.tokenAge) { return false }
    renewals(of: token, from: &origin, faults) { $0.expire(token.issued) }
    return true
  }

  /// Those that `token` may come too soon after.
  private func renewals<Result>(
    of token: ReceivedProviderToken, from origin: inout TokenOrigin, _ faults: Faults,
    _ act: (inout TokenRenewals) -> Result
  ) -> Result {
    switch faults.tokenScope {
    case .connection:
      return act(&origin.connection[token.key, default: TokenRenewals()])
    case .key:
      return state.withLockedValue { act(&$0.byKey[token.key, default: TokenRenewals()]) }
    case .address:
      let address = origin.address
      return state.withLockedValue { state in
        if state.byAddress.count >= Self.most, state.byAddress[address] == nil {
          state.byAddress = [:]
        }
        return act(&state.byAddress[address, default: [:]][token.key, default: TokenRenewals()])
      }
    }
  }

  /// What follows `bearer`; nil where it is another scheme.
  private static func token(in authorization: String) -> Substring? {
    let parts = authorization.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts[0].lowercased() == "bearer" else { return nil }
    return parts.count == 2 ? parts[1] : ""
  }
}
