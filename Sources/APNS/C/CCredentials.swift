import CAPNS
import CSystem

@_cdecl("apns_credentials_new") @implementation
public func apns_credentials_new(
  _ options: UnsafePointer<apns_credentials_options_t>?,
  _ credentials: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    guard let credentials else { throw isNull("credentials_out") }
    let options = try adopt(options)
    credentials.pointee = OpaquePointer(
      try place { () throws(Failure) in try CredentialsHandle(options) })
  }
}

@_cdecl("apns_credentials_describe") @implementation
public func apns_credentials_describe(
  _ credentials: OpaquePointer?,
  _ description: UnsafeMutablePointer<apns_credentials_description_t>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    guard let credentials else { throw isNull("credentials") }
    guard let description else { throw isNull("description_out") }
    try fill(
      description, with: UnsafeMutablePointer<CredentialsHandle>(credentials).pointee.describe())
  }
}

@_cdecl("apns_credentials_free") @implementation
public func apns_credentials_free(_ credentials: OpaquePointer?) {
  guard let credentials else { return }
  discard(UnsafeMutablePointer<CredentialsHandle>(credentials))
}

/// Throws if the binary interface cannot use these credentials.
func requireCertificate(_ credentials: OpaquePointer?) throws(Failure) {
  guard let credentials else { return }
  try UnsafeMutablePointer<CredentialsHandle>(credentials).pointee.requireCertificate()
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
