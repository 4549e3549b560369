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
