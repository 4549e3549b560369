import NIOConcurrencyHelpers

/// The origin of provider tokens.
struct TokenOrigin: Sendable {
  /// Tokens of this connection, by key.
  var connection: [String: TokenRefreshes] = [:]
  /// The client's address without the port.
  var address: String
}

/// The good provider tokens, and when the next may follow: per connection, per key, or per key and
/// address.
final class ProviderTokens: Sendable {
  enum Decision {
    case good(ReceivedProviderToken)
    case refused(PushReason)
  }

  private struct State {
    var good: [String: ReceivedProviderToken] = [:]
    var byKey: [String: TokenRefreshes] = [:]
    var byAddress: [String: [String: TokenRefreshes]] = [:]
  }

  /// How far ahead the provider's clock may be.
  private static let ahead: Int64 = 300
  /// More than any provider uses.
  private static let limit = 10_000

  private let keys: [String: ProviderKey]
  private let environment: String
  private let state = NIOLockedValueBox(State())

  init(_ keys: [ProviderKey], isSandbox: Bool) {
    environment = isSandbox ? "sandbox" : "production"
    self.keys = Dictionary(keys.map { ($0.identifier, $0) }) { _, last in last }
  }

  /// `authorization` is the header's value.
  func validate(
    _ authorization: String, at now: Int64, from origin: inout TokenOrigin, _ faults: Faults
  ) -> Decision {
    guard let text = Self.token(in: authorization) else {
      return .refused(authorization.isEmpty ? .missingProviderToken : .invalidProviderToken)
    }
    if text.isEmpty { return .refused(.missingProviderToken) }
    let name = String(text)
    // A signature is verified once for all connections.
    guard
      let token = state.withLockedValue({ $0.good[name] })
        ?? ReceivedProviderToken(text, keys: keys),
      token.issued <= now + Self.ahead
    else {
      return .refused(.invalidProviderToken)
    }
    if let only = keys[token.key]?.environment, only != environment {
      return .refused(.badEnvironmentKeyIdInToken)
    }
    // Rejected before it can count as a refresh.
    if isExpired(token, now, from: &origin, faults) { return .refused(.expiredProviderToken) }
    let isTaken = renewals(of: token, from: &origin, faults) {
      $0.take(name, issued: token.issued, renewal: Int64(faults.tokenRenewal))
    }
    if !isTaken { return .refused(.tooManyProviderTokenUpdates) }
    state.withLockedValue { state in
      if state.good.count >= Self.limit { state.good = [:] }
      state.good[name] = token
    }
    return .good(token)
  }

  /// A provider with an expired token may refresh it immediately.
  func isExpired(
    _ token: ReceivedProviderToken, _ now: Int64, from origin: inout TokenOrigin, _ faults: Faults
  ) -> Bool {
    if now - token.issued < Int64(faults.tokenAge) { return false }
    renewals(of: token, from: &origin, faults) { $0.expire(token.issued) }
    return true
  }

  /// The earlier tokens that limit when `token` may follow.
  private func renewals<Result>(
    of token: ReceivedProviderToken, from origin: inout TokenOrigin, _ faults: Faults,
    _ act: (inout TokenRefreshes) -> Result
  ) -> Result {
    switch faults.tokenScope {
    case .connection:
      return act(&origin.connection[token.key, default: TokenRefreshes()])
    case .key:
      return state.withLockedValue { act(&$0.byKey[token.key, default: TokenRefreshes()]) }
    case .address:
      let address = origin.address
      return state.withLockedValue { state in
        if state.byAddress.count >= Self.limit, state.byAddress[address] == nil {
          state.byAddress = [:]
        }
        return act(&state.byAddress[address, default: [:]][token.key, default: TokenRefreshes()])
      }
    }
  }

  /// The text after `bearer`; nil for another scheme.
  private static func token(in authorization: String) -> Substring? {
    let parts = authorization.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts[0].lowercased() == "bearer" else { return nil }
    return parts.count == 2 ? parts[1] : ""
  }
}
