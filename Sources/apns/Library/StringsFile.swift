import CAPNS

/// A Localizable.strings as the library reads it.
final class StringsFile {
  private let handle: OpaquePointer

  init(_ path: String) throws(LibraryError) {
    var handle: OpaquePointer?
    try calling { apns_strings_open(path, &handle, $0) }
    self.handle = handle!
  }

  deinit { apns_strings_free(handle) }

  func has(_ key: String) -> Bool {
    var text: UnsafePointer<CChar>?
    return apns_strings_get(handle, key, key.utf8.count, &text, nil, nil) == APNS_OK
  }

  func format(_ key: String, _ arguments: [String]) throws(LibraryError) -> String {
    let strings = LentStrings()
    let lent = arguments.map { strings.lend($0) }
    return try withExtendedLifetime(strings) { () throws(LibraryError) in
      var length = 0
      do throws(LibraryError) {
        try calling {
          apns_strings_format(handle, key, key.utf8.count, lent, lent.count, nil, 0, &length, $0)
        }
      } catch {
        if error.status != APNS_ERR_BUFFER_SMALL { throw error }
      }
      var text = [CChar](repeating: 0, count: length)
      try calling {
        apns_strings_format(
          handle, key, key.utf8.count, lent, lent.count, &text, text.count, &length, $0)
      }
      return String(decoding: text.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
  }
}
