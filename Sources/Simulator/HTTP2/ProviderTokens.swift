import NIOConcurrencyHelpers

/// Where provider tokens come from.
struct TokenOrigin: Sendable {
  /// Tokens of this connection, by key.
  var connection: [String: TokenRenewals] = [:]
  /// The client's address without the port.
  var address: String
}

/// The provider tokens that were good, and when others may follow: on each connection, or for all
/// connections that share a key, or a key and an address.
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

  /// How far the provider's clock may be ahead.
  private static let ahead: Int64 = 300
  /// More than anyone uses.
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
    // The signature is verified once for all connections.
    guard
      let token = state.withLockedValue({ $0.good[name] })
        ?? ReceivedProviderToken(text, keys: keys),
      token.issued <= now + Self.ahead
    else {
      return .refused(.invalidProviderToken)
    }
    // Rejected before it can count as a refresh.
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

  /// A provider with an expired token may renew it at once.
  func isExpired(
    _ token: ReceivedProviderToken, _ now: Int64, from origin: inout TokenOrigin, _ faults: Faults
  ) -> Bool {
    if now - token.issued < Int64(faults.tokenAge) { return false }
    renewals(of: token, from: &origin, faults) { $0.expire(token.issued) }
    return true
  }

  /// The tokens that `token` has to keep its distance from.
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

  /// The text behind `bearer`; nil for another scheme.
  private static func token(in authorization: String) -> Substring? {
    let parts = authorization.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts[0].lowercased() == "bearer" else { return nil }
    return parts.count == 2 ? parts[1] : ""
  }
}
