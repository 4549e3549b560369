import CSV
import Foundation

/// A list of devices, line by line: tokens in hex, JSON objects with one, or CSV. Each as an element
/// of an entry's `tokens`.
package final class DeviceLines {
  /// No record is longer, in bytes.
  private static let longest = 1 << 20

  private var given: ArraySlice<String>
  private let file: UnsafeMutablePointer<FILE>?
  private let path: String
  private var line = 0
  private var buffer: UnsafeMutablePointer<CChar>?
  private var capacity = 0
  private var hasBegun = false
  private var columns: CSVColumns?
  private let valueNames: Set<String>

  package init(_ tokens: [String]) {
    given = tokens[...]
    file = nil
    path = "the command line"
    valueNames = []
  }

  /// `valueNames`: the columns of CSV that are JSON values; the others are text.
  package init(file path: String, valueNames: Set<String> = []) throws {
    given = []
    self.valueNames = valueNames
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
    while let bytes = try rawLine() {
      let words = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespaces)
      if words.isEmpty { continue }
      if columns != nil { return try record(bytes) }
      if words.hasPrefix("{") {
        do {
          var reader = RawJSON(words)
          guard try reader.members().contains(where: { $0.name == "token" }) else {
            throw QueueFault(description: "there is no token in it")
          }
        } catch {
          throw fault("\(error)")
        }
        hasBegun = true
        return words
      }
      if CSVColumns.isToken(words) {
        hasBegun = true
        return "\"\(words)\""
      }
      guard file != nil, !hasBegun, try beginsCSV(bytes) else {
        throw fault("neither a token in hex nor a JSON object with one")
      }
      if !columns!.hasNames { return try record(bytes) }
    }
    return nil
  }

  private func fault(_ words: String) -> QueueFault {
    QueueFault(description: "\(path):\(line): \(words)")
  }

  private func beginsCSV(_ first: [UInt8]) throws -> Bool {
    do throws(CSVFault) {
      columns = try CSVColumns(first, valueNames: valueNames)
    } catch {
      throw fault(error.message)
    }
    return columns != nil
  }

  /// A record, which ends in a later line if a quoted field does.
  private func record(_ first: [UInt8]) throws -> String {
    var bytes = first
    let start = line
    while true {
      do throws(CSVFault) {
        if let object = try columns!.object(bytes) { return object }
      } catch {
        throw QueueFault(description: "\(path):\(start): \(error.message)")
      }
      guard bytes.count < Self.longest, let more = try rawLine() else {
        throw QueueFault(description: "\(path):\(start): a quoted field has no end")
      }
      bytes += [0x0A] + more
    }
  }

  private func rawLine() throws -> [UInt8]? {
    line += 1
    guard let file else { return given.popFirst().map { Array($0.utf8) } }
    let count = getline(&buffer, &capacity, file)
    guard count >= 0 else {
      if ferror(file) != 0 {
        throw QueueFault(description: "\(path): \(String(cString: strerror(errno)))")
      }
      return nil
    }
    var bytes = UnsafeRawBufferPointer(start: buffer, count: count)[...]
    while let last = bytes.last, last == 0x0A || last == 0x0D { bytes.removeLast() }
    // Spreadsheets begin a file with a mark of its order of bytes.
    if line == 1, bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
    return Array(bytes)
  }
}
