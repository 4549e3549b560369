/// The provider behind a connection, and its topics.
final class ConnectionAuthority {
  /// The topics of the client's certificate; nil if it showed none.
  let topics: [String]?
  /// Apps whose topics with a suffix it covers as well.
  fileprivate let apps: [String]
  /// The topics that provider tokens cover; nil for all.
  private let teamTopics: [String]?
  private let tokens: ProviderTokens
  private var origin: TokenOrigin

  /// The key of the first push.
  private var key: String?
  /// The last good header, and its token.
  private var last: (authorization: String, token: ReceivedProviderToken)?

  init(topics: [String]?, rules: GatewayRules, tokens: ProviderTokens, address: String) {
    self.topics = topics
    // A certificate that lists several topics lists those with a suffix too.
    var apps = topics?.count == 1 ? topics ?? [] : []
    // The simulator issues one certificate only, so it covers the gateway's other apps too.
    if case .only(let names)? = rules.topic, topics?.contains(where: names.contains) == true {
      apps += names
    }
    self.apps = apps
    teamTopics = topics == nil ? rules.teamTopics : nil
    self.tokens = tokens
    origin = TokenOrigin(address: address)
  }

  /// The key that the last good token was signed with.
  var lastKey: String? { last?.token.key }

  /// Why the provider may not push; nil if it may. With a certificate the header means nothing.
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

  /// The push's topic, or the reason for a rejection.
  func topic(of request: ReceivedPush) -> Result<String, PushFault> {
    if let topic = request.topic {
      if let teamTopics, !teamTopics.contains(where: { TopicKind.belongs(topic, to: $0) }) {
        return .failure(PushFault(reason: .topicDisallowed))
      }
      guard let topics, !topics.contains(topic),
        !apps.contains(where: { TopicKind.belongs(topic, to: $0) })
      else { return .success(topic) }
      return .failure(PushFault(reason: .topicDisallowed))
    }
    guard let topics, topics.count == 1 else { return .failure(PushFault(reason: .missingTopic)) }
    return .success(topics[0])
  }
}

extension ConnectionAuthority {
  /// Why certificate or token do not let the provider do this to an app's channels; nil if they do.
  func fault(ofApp app: String) -> PushReason? {
    (topics.map { $0 + apps } ?? teamTopics).flatMap { TopicKind.fault(of: app, among: $0) }
  }
}

struct PushFault: Error {
  var reason: PushReason
}
