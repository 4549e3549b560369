import Foundation

/// A list of devices, line by line: tokens in hex, or JSON objects with one. Each as an element of
/// an entry's `tokens`.
package final class DeviceLines {
  private var given: ArraySlice<String>
  private let file: UnsafeMutablePointer<FILE>?
  private let path: String
  private var line = 0
  private var buffer: UnsafeMutablePointer<CChar>?
  private var capacity = 0

  package init(_ tokens: [String]) {
    given = tokens[...]
    file = nil
    path = "the command line"
  }

  package init(file path: String) throws {
    given = []
    self.path = path == "-" ? "standard input" : path
    file = path == "-" ? fdopen(dup(0), "r") : fopen(path, "re")
    guard file != nil else {
      throw QueueFault(description: "\(path): \(String(cString: strerror(errno)))")
    }
  }

  deinit {
    free(buffer)
    if let file { fclose(file) }
  }

  /// nil at the end.
  package func next() throws -> String? {
    while let text = try rawLine() {
      let words = text.trimmingCharacters(in: .whitespaces)
      if words.isEmpty { continue }
      if words.hasPrefix("{") {
        do {
          var reader = RawJSON(words)
          guard try reader.members().contains(where: { $0.name == "token" }) else {
            throw QueueFault(description: "there is no token in it")
          }
        } catch {
          throw QueueFault(description: "\(path):\(line): \(error)")
        }
        return words
      }
      guard words.utf8.allSatisfy({ UnicodeScalar($0).properties.isASCIIHexDigit }),
        words.utf8.count % 2 == 0
      else {
        throw QueueFault(
          description: "\(path):\(line): neither a token in hex nor a JSON object with one")
      }
      return "\"\(words)\""
    }
    return nil
  }

  private func rawLine() throws -> String? {
    line += 1
    guard let file else { return given.popFirst() }
    let count = getline(&buffer, &capacity, file)
    guard count >= 0 else {
      if ferror(file) != 0 {
        throw QueueFault(description: "\(path): \(String(cString: strerror(errno)))")
      }
      return nil
    }
    var bytes = UnsafeRawBufferPointer(start: buffer, count: count)[...]
    while let last = bytes.last, last == 0x0A || last == 0x0D { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }
}
