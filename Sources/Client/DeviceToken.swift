import CAPNS

/// A device token as bytes, as the library reads and writes it.
package enum DeviceToken {
  package static let maxLength = Int(APNS_TOKEN_MAX)

  package static func hex(_ text: [UInt8]) throws(LibraryError) -> [UInt8] {
    try read(text, apns_token_from_hex)
  }

  package static func base64(_ text: [UInt8]) throws(LibraryError) -> [UInt8] {
    try read(text, apns_token_from_base64)
  }

  package static func hex(of token: [UInt8]) -> String { written(token, apns_token_to_hex) }
  package static func base64(of token: [UInt8]) -> String { written(token, apns_token_to_base64) }

  private static func read(
    _ text: [UInt8],
    _ reader: (
      UnsafePointer<CChar>?, Int, UnsafeMutablePointer<UInt8>?, Int, UnsafeMutablePointer<Int>?,
      UnsafeMutablePointer<apns_error_t>?
    ) -> apns_status_t
  ) throws(LibraryError) -> [UInt8] {
    var token = [UInt8](repeating: 0, count: maxLength)
    var length = 0
    let error = text.withUnsafeBytes { text in
      libraryError {
        reader(
          text.baseAddress?.assumingMemoryBound(to: CChar.self), text.count, &token, maxLength,
          &length, $0)
      }
    }
    if let error { throw error }
    return Array(token.prefix(length))
  }

  private static func written(
    _ token: [UInt8],
    _ writer: (
      UnsafeRawPointer?, Int, UnsafeMutablePointer<CChar>?, Int, UnsafeMutablePointer<Int>?,
      UnsafeMutablePointer<apns_error_t>?
    ) -> apns_status_t
  ) -> String {
    var text = [CChar](repeating: 0, count: 2 * maxLength + 1)
    var length = 0
    guard writer(token, token.count, &text, text.count, &length, nil) == APNS_OK else { return "" }
    return String(decoding: text.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
