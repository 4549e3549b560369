import Client
import Glibc

/// The reason why folders of localized strings are unusable.
package struct LanguageError: Error, CustomStringConvertible {
  package var description: String
}

/// The texts of an app's `.lproj` folders.
package struct Languages: Sendable {
  private var files: [String: LocalizedStrings] = [:]

  package init() {}

  package var names: [String] { files.keys.sorted() }

  func strings(for language: String?) -> LocalizedStrings? { language.flatMap { files[$0] } }

  /// Adds an `xx.lproj` folder with its Localizable.strings, or all such folders in a folder.
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
final class LocalizedStrings: Sendable {
  private let strings: StringsFile

  init(file: String) throws(LanguageError) {
    do throws(LibraryError) {
      strings = try StringsFile(file)
    } catch {
      throw LanguageError(description: error.message)
    }
  }

  enum Text {
    case whole(String)
    /// If the arguments do not fit, returns the value unchanged, and the reason.
    case unfilled(String, String)
    case missing
  }

  func text(for key: String, _ arguments: [String]) -> Text {
    guard let value = strings.value(of: key) else { return .missing }
    do throws(LibraryError) {
      return .whole(try strings.format(key, arguments))
    } catch {
      return .unfilled(value, error.message)
    }
  }
}
