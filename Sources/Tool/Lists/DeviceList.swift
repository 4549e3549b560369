import CSV
import Client
import JSON

/// A list of devices or channels, read as a stream: CSV with column names in its first line, CSV
/// that begins with a token or channel, or JSON lines.
final class DeviceList {
  private enum Form {
    case csv(separator: UInt8, names: [[UInt8]])
    case jsonLines
  }

  static let token = Array("token".utf8)

  private let lines: LineReader
  private let isDevices: Bool
  private var form: Form?
  private var held: (text: [UInt8], line: Int)?
  private var number = 0
  /// The unchanged first line with the column names; nil for a list without names.
  private(set) var header: [UInt8]?
  /// The unchanged record, without its last line end.
  private(set) var source: [UInt8] = []

  /// False if the next record has not started to arrive within the time.
  func isReady(within milliseconds: CInt) -> Bool {
    held != nil || lines.isReady(within: milliseconds)
  }

  /// `token` is the name of the list's token column.
  init(
    _ path: String, of kind: Addressee.Kind = .device, token: String = "token"
  ) throws(FileFault) {
    lines = try LineReader(path)
    isDevices = kind == .device
    let wanted = kind == .device ? Array(token.utf8) : kind.field
    var first = try lines.next()
    while let text = first, text.allSatisfy(Self.isBlank) { first = try lines.next() }
    guard let first else { return }
    if first.first(where: { !Self.isBlank($0) }) == UInt8(ascii: "{") {
      form = .jsonLines
      held = (first, lines.line)
      return
    }
    let separator = CSVLine.separator(of: first)
    let fields: [[UInt8]]
    do throws(CSVFault) {
      guard let all = try CSVLine.fields(of: first, separator: separator) else {
        throw CSVFault(message: "a quoted field has no end", column: 1)
      }
      fields = all
    } catch {
      throw FileFault(path: path, line: lines.line, column: error.column, message: error.message)
    }
    let lowercase = fields.map { field in field.map { $0 | (0x41...0x5A ~= $0 ? 0x20 : 0) } }
    if let index = lowercase.firstIndex(of: wanted.map { $0 | (0x41...0x5A ~= $0 ? 0x20 : 0) }) {
      header = first
      var names = fields
      names[index] = kind.field
      form = .csv(separator: separator, names: names)
    } else if kind.begins(with: fields[0]) {
      let names = fields.indices.map { $0 == 0 ? kind.field : Array("\($0 + 1)".utf8) }
      form = .csv(separator: separator, names: names)
      held = (first, lines.line)
    } else {
      throw FileFault(
        path: path, line: lines.line,
        message: kind == .device
          ? "the first line has no column '\(token)', nor does it begin with a token"
          : "the first line has no column 'channel', nor does it begin with a channel ID")
    }
  }

  var path: String { lines.path }
  var size: Int? { lines.size }
  var position: Int { lines.position }
  var mark: [UInt8] { lines.mark }
  /// The end of the line read last, CRLF or LF.
  var ending: [UInt8] { lines.ending }

  /// The names of the columns; nil if each line has its own.
  var names: [[UInt8]]? {
    if case .csv(_, let names) = form { return names }
    return nil
  }

  func next() throws(FileFault) -> DeviceRecord? {
    guard let form else { return nil }
    while true {
      let text: [UInt8]
      let line: Int
      if let first = held {
        (text, line) = first
        held = nil
      } else {
        guard let next = try lines.next() else { return nil }
        (text, line) = (next, lines.line)
      }
      if text.allSatisfy(Self.isBlank) { continue }
      number += 1
      source = text
      switch form {
      case .csv(let separator, let names):
        return try record(csv: text, line, separator, names)
      case .jsonLines:
        return try record(json: text, line)
      }
    }
  }

  private func record(
    csv text: [UInt8], _ line: Int, _ separator: UInt8, _ names: [[UInt8]]
  ) throws(FileFault) -> DeviceRecord {
    var text = text
    while true {
      let fields: [[UInt8]]?
      do throws(CSVFault) {
        fields = try CSVLine.fields(of: text, separator: separator)
      } catch {
        throw FileFault(path: path, line: line, column: error.column, message: error.message)
      }
      if let fields {
        let count = tokens(in: fields)
        guard count < 2 else {
          throw FileFault(
            path: path, line: line, message: "\(count) tokens in one line: write one per line")
        }
        guard fields.count <= names.count else {
          throw FileFault(
            path: path, line: line,
            message: "\(fields.count) fields, but the list has \(names.count) columns")
        }
        source = text
        return DeviceRecord(
          number: number, line: line, names: names, fields: fields.map { .text($0) })
      }
      let hasEnd = try CSVLine.extend(&text, upTo: LineReader.maxLength) { () throws(FileFault) in
        try lines.next()
      }
      guard hasEnd else {
        throw FileFault(path: path, line: line, message: "a quoted field has no end")
      }
    }
  }

  /// The number of tokens in place of one: in a field, or in several fields of a list without
  /// names.
  private func tokens(in fields: [[UInt8]]) -> Int {
    let isNamed = header != nil
    guard isDevices else { return 0 }
    var highest = 0
    var inLine = 0
    for field in fields {
      let words = field.split { $0 == 0x20 || $0 == 0x09 || $0 == 0x2C || $0 == 0x3B }
      let found = words.count {
        $0.count >= Self.minDigits && (try? DeviceToken.hex(Array($0))) != nil
      }
      highest = max(highest, found == words.count ? found : 0)
      if found == 1, words.count == 1 { inLine += 1 }
    }
    return isNamed ? highest : max(highest, inLine)
  }

  /// The number of hex digits. `NSData` prints a blank after every eight.
  private static let minDigits = 32

  private func record(json text: [UInt8], _ line: Int) throws(FileFault) -> DeviceRecord {
    let members: [JSONValue.Member]
    do throws(JSONError) {
      guard case .object(let all) = try JSONParser.read(text).content else {
        throw JSONError("expected an object", at: 0)
      }
      members = all
    } catch {
      throw FileFault(
        path: path, line: line, column: error.offset + 1, message: error.message)
    }
    var record = DeviceRecord(number: number, line: line, names: [], fields: [])
    for member in members {
      record.names.append(Array(member.name.utf8))
      record.fields.append(.json(Array(text[member.value.offset..<member.value.end])))
    }
    return record
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0D
  }
}
