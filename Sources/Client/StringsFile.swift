import CAPNS

/// A Localizable.strings file, read by the library.
package final class StringsFile: @unchecked Sendable {
  /// Immutable, so any number of threads may use it.
  private let handle: OpaquePointer

  package init(_ path: String) throws(LibraryError) {
    var handle: OpaquePointer?
    try calling { apns_strings_open(path, &handle, $0) }
    self.handle = handle!
  }

  deinit { apns_strings_free(handle) }

  package func has(_ key: String) -> Bool { value(of: key) != nil }

  /// nil if the key does not exist.
  package func value(of key: String) -> String? {
    var text: UnsafePointer<CChar>?
    var length = 0
    guard apns_strings_get(handle, key, key.utf8.count, &text, &length, nil) == APNS_OK, let text
    else { return nil }
    return String(decoding: UnsafeRawBufferPointer(start: text, count: length), as: UTF8.self)
  }

  package func format(_ key: String, _ arguments: [String]) throws(LibraryError) -> String {
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
