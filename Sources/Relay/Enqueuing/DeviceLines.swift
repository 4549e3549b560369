import CSV
import Foundation

/// A list of devices, line by line: tokens in hex, JSON objects with a token, or CSV. Each becomes
/// an element of an entry's `tokens`.
package final class DeviceLines {
  /// The maximum length of a record in bytes.
  private static let longest = 1 << 20

  private var given: ArraySlice<String>
  private let file: UnsafeMutablePointer<FILE>?
  private let path: String
  private var line = 0
  /// The first line of the device that `next` returned last.
  private(set) var start = 0
  /// Bytes read from the file and not yet returned as lines.
  private var room = [UInt8](repeating: 0, count: 1 << 16)
  private var unread = 0..<0
  private var hasBegun = false
  private var columns: CSVColumns?
  private let valueNames: Set<String>

  package init(_ tokens: [String]) {
    given = tokens[...]
    file = nil
    path = "the command line"
    valueNames = []
  }

  /// `valueNames` are the CSV columns with JSON values; the others are text.
  package init(file path: String, valueNames: Set<String> = []) throws {
    given = []
    self.valueNames = valueNames
    self.path = path == "-" ? "standard input" : path
    file = path == "-" ? fdopen(dup(0), "r") : fopen(path, "re")
    guard file != nil else {
      throw RelayFault("\(path): \(String(cString: strerror(errno)))")
    }
  }

  deinit {
    if let file { fclose(file) }
  }

  /// nil at the end.
  package func next() throws -> String? {
    while let bytes = try rawLine() {
      start = line
      if columns != nil {
        if bytes.allSatisfy({ $0 == 0x20 }) { continue }
        return try record(bytes)
      }
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw fault("is not UTF-8")
      }
      let words = text.trimmingCharacters(in: .whitespaces)
      if words.isEmpty { continue }
      if words.hasPrefix("{") {
        do {
          try Self.checkObject(words)
        } catch {
          throw fault("\(error)")
        }
        hasBegun = true
        return words
      }
      if CSVColumns.isHex(words) {
        if let wrong = Self.fault(ofToken: words) { throw fault(wrong) }
        hasBegun = true
        return "\"\(words)\""
      }
      if let wrong = Self.severalTokens(in: words) { throw fault(wrong) }
      guard file != nil, !hasBegun, try beginsCSV(bytes) else {
        throw fault("neither a token in hex nor a JSON object with one")
      }
      if !columns!.hasNames { return try record(bytes) }
    }
    return nil
  }

  private static func checkObject(_ words: String) throws {
    let tokens = try RawJSON(words).members().filter { $0.name == "token" }
    guard let token = tokens.last else {
      throw RelayFault("\"token\" is missing")
    }
    guard tokens.count == 1 else { throw RelayFault("\"token\" appears twice") }
    guard let text = RawJSON.text(token.value) else {
      throw RelayFault("\"token\" is not a string")
    }
    if let wrong = fault(ofToken: text) { throw RelayFault(wrong) }
  }

  /// The error in a token; nil if it is valid.
  static func fault(ofToken text: String) -> String? {
    severalTokens(in: text) ?? PushLimits.fault(ofToken: text)
  }

  private static func severalTokens(in text: String) -> String? {
    // NSData prints a space after every eight digits.
    let words = text.split { " \t,;".contains($0) }
    guard words.count > 1,
      words.allSatisfy({ $0.utf8.count >= 32 && CSVColumns.isHex(String($0)) })
    else { return nil }
    return "\(words.count) tokens in one line: give each its own"
  }

  /// An error at the device that `next` returned last.
  func fault(_ words: String) -> RelayFault { fault(words, at: start) }

  func fault(_ words: String, at line: Int) -> RelayFault {
    RelayFault("\(path):\(line): \(words)")
  }

  private func beginsCSV(_ first: [UInt8]) throws -> Bool {
    do throws(CSVFault) {
      columns = try CSVColumns(first, valueNames: valueNames)
    } catch {
      throw fault(error.message)
    }
    return columns != nil
  }

  /// Reads a record, which continues in the next line if a quoted field does.
  private func record(_ first: [UInt8]) throws -> String {
    var bytes = first
    while true {
      do throws(CSVFault) {
        if let object = try columns!.object(bytes) { return object }
      } catch {
        throw fault(error.message)
      }
      guard try CSVLine.extend(&bytes, upTo: Self.longest, by: rawLine) else {
        throw fault("a quoted field is not closed")
      }
    }
  }

  private func rawLine() throws -> [UInt8]? {
    line += 1
    guard file != nil else { return given.popFirst().map { Array($0.utf8) } }
    var bytes: [UInt8] = []
    var isThere = false
    while true {
      if unread.isEmpty, try !fill() { break }
      isThere = true
      let end = room[unread].firstIndex(of: 0x0A)
      bytes += room[unread.lowerBound..<(end ?? unread.upperBound)]
      unread = (end.map { $0 + 1 } ?? unread.upperBound)..<unread.upperBound
      guard bytes.count <= Self.longest else {
        throw fault("is longer than \(Self.longest) bytes", at: line)
      }
      if end != nil { break }
    }
    guard isThere else { return nil }
    // UTF-16 without a byte order mark has NUL bytes.
    guard !bytes.contains(0) else {
      throw fault("contains a NUL byte; convert UTF-16 files to UTF-8", at: line)
    }
    while bytes.last == 0x0D { bytes.removeLast() }
    // Spreadsheets begin a file with a byte order mark.
    if line == 1, bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
    return bytes
  }

  /// False at the end.
  private func fill() throws -> Bool {
    let count = fread(&room, 1, room.count, file)
    guard count > 0 else {
      if ferror(file) != 0 {
        throw RelayFault("\(path): \(String(cString: strerror(errno)))")
      }
      return false
    }
    unread = 0..<count
    return true
  }
}
