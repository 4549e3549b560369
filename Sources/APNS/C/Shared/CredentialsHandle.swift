import CAPNS
import COpenSSL

/// The provider's identity for connections and requests, and a description of its certificate.
struct CredentialsHandle: ~Copyable {
  let trust: TrustContext
  private let description: CertificateDescription?
  #if APNS_HTTP2
    private let token: ProviderToken?
  #endif

  init(_ options: apns_credentials_options_t) throws(Failure) {
    let trust = try TrustContext(options)
    #if APNS_HTTP2
      let token = try ProviderToken(options)
    #else
      guard options.token_key_file == nil, options.token_key_bytes == nil,
        options.token_private_key == nil, options.sign_callback == nil,
        options.token_callback == nil
      else {
        throw Failure(
          APNS_ERR_ARGUMENT,
          "provider tokens are for HTTP/2, which this library was built without",
          cause: APNS_CAUSE_HTTP2_NOT_BUILT_IN)
      }
    #endif
    if let certificate = SSL_CTX_get0_certificate(trust.context) {
      description = try CertificateDescription(certificate)
    } else {
      description = nil
    }
    self.trust = trust
    #if APNS_HTTP2
      self.token = token
    #endif
  }

  #if APNS_BINARY
    /// The binary interface has no provider tokens (Apple: Establishing a token-based connection to
    /// APNs), so without a certificate there is nothing to show.
    func requireCertificate() throws(Failure) {
      #if APNS_HTTP2
        switch description {
        case .some: return
        case .none: break
        }
        switch token {
        case .some:
          throw Failure(APNS_ERR_ARGUMENT, cause: APNS_CAUSE_CERTIFICATE_MISSING) {
            $0.append(
              "a .p8 signing key is for HTTP/2 only, and the credentials have no certificate: ")
            $0.append("set the option protocol to HTTP/2")
          }
        case .none: break
        }
      #endif
    }
  #endif

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
    #if APNS_HTTP2
      switch token {
      case .some(let token):
        told.key_id = token.keyID
        told.team_id = token.teamID
      case .none: break
      }
    #endif
    return told
  }

  #if APNS_HTTP2
    func requireIdentity() throws(Failure) {
      switch description {
      case .some: return
      case .none: if hasToken { return }
      }
      throw Failure(APNS_ERR_ARGUMENT, cause: APNS_CAUSE_CERTIFICATE_MISSING) {
        $0.append("the credentials have neither a certificate nor a signing key, so APNs would ")
        $0.append("refuse every request: set token_key_file, key_id and team_id")
      }
    }

    var topics: ProviderTopics {
      switch description {
      case .some(let said):
        var topics = ProviderTopics()
        (topics.list, topics.count) = (said.topics, said.topicCount)
        topics.isForVoIP = said.isForVoIP
        // APNs uses the provider token.
        topics.isShown = !hasToken
        return topics
      case .none: return ProviderTopics()
      }
    }

    private var hasToken: Bool {
      switch token {
      case .some: true
      case .none: false
      }
    }

    /// The token for one more session; nil if the provider shows its certificate and has no token.
    func shareToken() -> ProviderToken? {
      switch token {
      case .some(let token): ProviderToken(sharing: token)
      case .none: nil
      }
    }
  #endif
}

#if APNS_BINARY
  /// Throws if the binary interface cannot use these credentials.
  func requireCertificate(_ credentials: OpaquePointer?) throws(Failure) {
    guard let credentials else { return }
    try UnsafeMutablePointer<CredentialsHandle>(credentials).pointee.requireCertificate()
  }
#endif

/// Throws if nothing in the credentials says who the provider is.
func requireIdentity(_ credentials: OpaquePointer?) throws(Failure) {
  #if APNS_HTTP2
    guard let credentials else { return }
    try UnsafeMutablePointer<CredentialsHandle>(credentials).pointee.requireIdentity()
  #endif
}

/// Adds a user of what the credentials hold, so that the credentials may be freed first.
func share(_ credentials: OpaquePointer?) throws(Failure) -> TrustContext {
  guard let credentials else { throw isNull("credentials") }
  return TrustContext(sharing: UnsafeMutablePointer<CredentialsHandle>(credentials).pointee.trust)
}

#if APNS_HTTP2
  /// The certificate's topics, valid as long as the credentials exist.
  func certificateTopics(of credentials: OpaquePointer?) -> ProviderTopics {
    guard let credentials else { return ProviderTopics() }
    return UnsafeMutablePointer<CredentialsHandle>(credentials).pointee.topics
  }

  /// The provider token of the credentials, if they have one.
  func shareToken(_ credentials: OpaquePointer?) -> ProviderToken? {
    guard let credentials else { return nil }
    return UnsafeMutablePointer<CredentialsHandle>(credentials).pointee.shareToken()
  }
#endif
