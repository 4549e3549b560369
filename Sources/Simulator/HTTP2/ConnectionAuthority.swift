/// In whose name a connection pushes, and what to.
final class ConnectionAuthority {
  /// Of the client's certificate; nil where it showed none.
  let topics: [String]?
  /// Those whose kinds it is for as well.
  private let apps: [String]
  private let tokens: ProviderTokens
  private var origin: TokenOrigin

  /// That of the first push.
  private var key: String?
  /// The header's value that was good last, and what it said.
  private var last: (authorization: String, token: ReceivedProviderToken)?

  init(topics: [String]?, rule: TopicRule?, tokens: ProviderTokens, address: String) {
    self.topics = topics
    // A certificate that lists several topics has the kinds of its app among them.
    var apps = topics?.count == 1 ? topics ?? [] : []
    // No second certificate can be had here for the other apps of the gateway.
    if case .only(let names)? = rule, topics?.contains(where: names.contains) == true {
      apps += names
    }
    self.apps = apps
    self.tokens = tokens
    origin = TokenOrigin(address: address)
  }

  /// The key that the last good token was signed with.
  var lastKey: String? { last?.token.key }

  /// Why nobody may push so; nil where one may. With a certificate the header means nothing.
  func fault(of request: ReceivedPush, at now: Int64, _ faults: Faults) -> PushReason? {
    if topics != nil { return nil }
    guard let authorization = request.authorization else { return .missingProviderToken }
    if let last, last.authorization == authorization {
      return tokens.isExpired(last.token, now, from: &origin, faults) ? .expiredProviderToken : nil
    }
    switch tokens.judge(authorization, at: now, from: &origin, faults) {
    case .refused(let reason): return reason
    case .good(let token):
      if let key, key != token.key { return .unrelatedKeyIdInToken }
      key = token.key
      last = (authorization, token)
      return nil
    }
  }

  /// The topic that is pushed to, or why there is none.
  func topic(of request: ReceivedPush) -> Result<String, PushFault> {
    if let topic = request.topic {
      guard let topics, !topics.contains(topic),
        !apps.contains(where: { TopicKind.belongs(topic, to: $0) })
      else { return .success(topic) }
      return .failure(PushFault(reason: .topicDisallowed))
    }
    guard let topics, topics.count == 1 else { return .failure(PushFault(reason: .missingTopic)) }
    return .success(topics[0])
  }
}

struct PushFault: Error {
  var reason: PushReason
}
