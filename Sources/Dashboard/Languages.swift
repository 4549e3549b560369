import CAPNS
import Glibc

/// Why folders of localized strings cannot be used.
package struct LanguageError: Error, CustomStringConvertible {
  package var description: String
}

/// What an app's `.lproj` folders say.
package struct Languages: Sendable {
  private var files: [String: LocalizedStrings] = [:]

  package init() {}

  package var names: [String] { files.keys.sorted() }

  func strings(for language: String?) -> LocalizedStrings? { language.flatMap { files[$0] } }

  /// Adds an `xx.lproj` with its Localizable.strings, or all that are in a folder.
  package mutating func add(_ folder: String) throws(LanguageError) {
    var path = folder[...]
    while path.count > 1, path.hasSuffix("/") { path = path.dropLast() }
    if path.hasSuffix(Self.suffix) { return try addLanguage(String(path)) }
    let inside = try Self.entries(of: String(path)).filter { $0.hasSuffix(Self.suffix) }.sorted()
    if inside.isEmpty {
      throw LanguageError(description: "\(path): no \(Self.suffix) folder in it")
    }
    for name in inside { try addLanguage("\(path)/\(name)") }
  }

  private static let suffix = ".lproj"

  private mutating func addLanguage(_ folder: String) throws(LanguageError) {
    let name = folder.split(separator: "/").last.map { $0.dropLast(Self.suffix.count) } ?? ""
    files[String(name)] = try LocalizedStrings(file: folder + "/Localizable.strings")
  }

  private static func entries(of folder: String) throws(LanguageError) -> [String] {
    guard let directory = opendir(folder) else {
      throw LanguageError(description: "\(folder): \(String(cString: strerror(errno)))")
    }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      names.append(
        withUnsafePointer(to: &entry.pointee.d_name) {
          $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        })
    }
    return names
  }
}

/// One Localizable.strings, read by the library.
final class LocalizedStrings: @unchecked Sendable {
  /// Never changes once made, and serves any number of threads.
  private let strings: OpaquePointer

  init(file: String) throws(LanguageError) {
    var strings: OpaquePointer?
    var error = apns_error_t()
    error.size = MemoryLayout<apns_error_t>.size
    guard apns_strings_open(file, &strings, &error) == APNS_OK, let strings else {
      throw LanguageError(description: Self.message(of: error))
    }
    self.strings = strings
  }

  deinit { apns_strings_free(strings) }

  enum Text {
    case whole(String)
    /// Arguments cannot be filled in: the value as it is, and why.
    case unfilled(String, String)
    case missing
  }

  func text(for key: String, _ arguments: [String]) -> Text {
    guard let value = value(of: key) else { return .missing }
    var error = apns_error_t()
    error.size = MemoryLayout<apns_error_t>.size
    let copies = arguments.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    let pointers = copies.map { UnsafePointer($0) }
    var length = 0
    let keyLength = key.utf8.count
    var status = apns_strings_format(
      strings, key, keyLength, pointers, pointers.count, nil, 0, &length, &error)
    guard status == APNS_ERR_BUFFER_SMALL else { return .unfilled(value, Self.message(of: error)) }
    var buffer = [CChar](repeating: 0, count: length)
    let capacity = buffer.count
    status = apns_strings_format(
      strings, key, keyLength, pointers, pointers.count, &buffer, capacity, &length, &error)
    guard status == APNS_OK else { return .unfilled(value, Self.message(of: error)) }
    return .whole(
      String(decoding: buffer.prefix(length).map(UInt8.init(bitPattern:)), as: UTF8.self))
  }

  private func value(of key: String) -> String? {
    var text: UnsafePointer<CChar>?
    var length = 0
    guard apns_strings_get(strings, key, key.utf8.count, &text, &length, nil) == APNS_OK, let text
    else { return nil }
    return String(decoding: UnsafeRawBufferPointer(start: text, count: length), as: UTF8.self)
  }

  private static func message(of error: apns_error_t) -> String {
    withUnsafeBytes(of: error.message) {
      String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
    }
  }
}
