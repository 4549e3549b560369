import CAPNS

/// A failed call of the library, with the library's message.
package struct LibraryError: Error, CustomStringConvertible {
  package var status: apns_status_t
  package var message: String
  /// The exact cause; the message is for people.
  package var cause = APNS_CAUSE_NONE
  /// errno; 0 if no system call failed.
  package var systemError: Int32 = 0
  /// OpenSSL's error code, or 0.
  package var tlsCode: UInt64 = 0

  package var description: String { message }

  /// The TLS alert that the peer sent (RFC 8446, 6): OpenSSL's reason codes for alerts start at
  /// 1000.
  package var alert: UInt8? {
    let reason = tlsCode & 0xFFF
    return status == APNS_ERR_TLS && (1000...1255).contains(reason) ? UInt8(reason - 1000) : nil
  }

  /// The gateway was unreachable, or the connection was lost. A retry may work.
  package var isConnection: Bool {
    [APNS_ERR_NETWORK, APNS_ERR_TLS, APNS_ERR_TIMEOUT, APNS_ERR_PROTOCOL].contains(status)
  }
}

/// Calls the library and throws its error.
package func calling(
  _ call: (UnsafeMutablePointer<apns_error_t>) -> apns_status_t
) throws(LibraryError) {
  if let error = libraryError(call) { throw error }
}

/// Calls the library and returns its error; nil if it succeeded.
package func libraryError(
  _ call: (UnsafeMutablePointer<apns_error_t>) -> apns_status_t
) -> LibraryError? {
  var error = apns_error_t()
  error.size = MemoryLayout<apns_error_t>.size
  let status = call(&error)
  return status == APNS_OK ? nil : LibraryError(status, error)
}

extension LibraryError {
  /// The error that a failed call wrote.
  package init(_ status: apns_status_t, _ error: apns_error_t) {
    var error = error
    let message = text(of: &error.message)
    self.init(
      status: status,
      message: message.isEmpty ? String(cString: apns_status_name(status)) : message,
      cause: apns_cause_t(rawValue: UInt32(error.cause)), systemError: error.sys_errno,
      tlsCode: error.tls_code)
  }
}

/// The text in an array of characters, which Swift imports as a tuple.
package func text<Characters>(of characters: inout Characters) -> String {
  withUnsafeBytes(of: &characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}
