/// The provider behind a connection, and its topics.
final class ConnectionAuthority {
  /// The topics of the client's certificate; nil without a certificate.
  let topics: [String]?
  /// Apps for which it also covers topics with a suffix.
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
    // A certificate with several topics also lists those with a suffix.
    var apps = topics?.count == 1 ? topics ?? [] : []
    // The simulator issues only one certificate, so that one covers the gateway's other apps too.
    if case .only(let names)? = rules.topic, topics?.contains(where: names.contains) == true {
      apps += names
    }
    self.apps = apps
    teamTopics = topics == nil ? rules.teamTopics : nil
    self.tokens = tokens
    origin = TokenOrigin(address: address)
  }

  /// The signing key of the last good token.
  var lastKey: String? { last?.token.key }

  /// The reason why the provider may not push; nil if it may. With a certificate the header is
  /// ignored.
  func fault(of request: ReceivedPush, at now: Int64, _ faults: Faults) -> PushReason? {
    if topics != nil { return nil }
    guard let authorization = request.authorization else { return .missingProviderToken }
    if let last, last.authorization == authorization {
      return tokens.isExpired(last.token, now, from: &origin, faults) ? .expiredProviderToken : nil
    }
    switch tokens.validate(authorization, at: now, from: &origin, faults) {
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
  /// The reason why certificate or token do not cover an app's channels; nil if they do.
  func fault(ofApp app: String) -> PushReason? {
    (topics.map { $0 + apps } ?? teamTopics).flatMap { TopicKind.fault(of: app, among: $0) }
  }
}
