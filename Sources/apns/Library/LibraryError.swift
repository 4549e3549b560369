import CAPNS

/// Why a call of the library failed, in its own words.
struct LibraryError: Error, CustomStringConvertible {
  var status: apns_status_t
  var message: String

  var description: String { message }

  /// The gateway could not be reached, or not held: another time it may be.
  var isConnection: Bool {
    [APNS_ERR_NETWORK, APNS_ERR_TLS, APNS_ERR_TIMEOUT, APNS_ERR_PROTOCOL].contains(status)
  }
}

/// Calls the library and throws what it said where it is not content.
func calling(
  _ call: (UnsafeMutablePointer<apns_error_t>) -> apns_status_t
) throws(LibraryError) {
  if let error = complaint(call) { throw error }
}

/// Calls the library; what it said where it is not content.
func complaint(
  _ call: (UnsafeMutablePointer<apns_error_t>) -> apns_status_t
) -> LibraryError? {
  var error = apns_error_t()
  error.size = MemoryLayout<apns_error_t>.size
  let status = call(&error)
  guard status != APNS_OK else { return nil }
  var message = text(of: &error.message)
  if message.isEmpty { message = String(cString: apns_status_name(status)) }
  return LibraryError(status: status, message: message)
}

/// The text in an array of characters, which Swift sees as a tuple.
func text<Characters>(of characters: inout Characters) -> String {
  withUnsafeBytes(of: &characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}
