import CAPNS
import COpenSSL

/// Who the provider is: what connections and requests need, and what its certificate says.
struct Credentials: ~Copyable {
  let trust: TrustContext
  private let description: CertificateDescription?
  private let token: ProviderToken?

  init(_ options: apns_credentials_options_t) throws(Failure) {
    let trust = try TrustContext(options)
    let token = try ProviderToken(options)
    if let certificate = SSL_CTX_get0_certificate(trust.context) {
      description = try CertificateDescription(certificate)
    } else {
      description = nil
    }
    self.trust = trust
    self.token = token
  }

  func describe() -> apns_credentials_description_t {
    var told = apns_credentials_description_t()
    switch description {
    case .some(let said):
      told.subject = said.subject
      told.topics = said.topics
      told.topic_count = said.topicCount
      told.not_before = said.notBefore
      told.not_after = said.notAfter
      told.environments = said.environments
      told.chain_length = UInt32(clamping: copenssl_chain_length(trust.context) &+ 1)
    case .none: break
    }
    switch token {
    case .some(let token):
      told.key_id = token.keyID
      told.team_id = token.teamID
    case .none: break
    }
    return told
  }

  /// For one more session; nil where the provider shows its certificate and no token.
  func shareToken() -> ProviderToken? {
    switch token {
    case .some(let token): ProviderToken(sharing: token)
    case .none: nil
    }
  }
}
