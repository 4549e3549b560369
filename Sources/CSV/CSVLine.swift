/// Reads and writes a CSV record (RFC 4180).
package enum CSVLine {
  /// The most frequent separator in a list's first line.
  package static func separator(of line: [UInt8]) -> UInt8 {
    var best = UInt8(ascii: ",")
    var highest = 0
    for candidate in [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t")] {
      let count = line.count { $0 == candidate }
      if count > highest { (best, highest) = (candidate, count) }
    }
    return best
  }

  /// nil if a quoted field continues in the next line.
  package static func fields(of line: [UInt8], separator: UInt8) throws(CSVFault) -> [[UInt8]]? {
    let quote = UInt8(ascii: "\"")
    if !line.contains(quote) {
      return line.split(separator: separator, omittingEmptySubsequences: false).map { trimmed($0) }
    }
    var fields: [[UInt8]] = []
    var index = 0
    while true {
      var field: [UInt8] = []
      if index < line.count, line[index] == quote {
        let start = index
        index += 1
        while true {
          guard index < line.count else { return nil }
          if line[index] != quote {
            field.append(line[index])
          } else if index + 1 < line.count, line[index + 1] == quote {
            field.append(quote)
            index += 1
          } else {
            break
          }
          index += 1
        }
        index += 1
        guard index == line.count || line[index] == separator else {
          throw CSVFault(message: "text after a quoted field", column: start + 1)
        }
      } else {
        let rest = line[index...].prefix { $0 != separator }
        if let at = rest.firstIndex(of: quote) {
          throw CSVFault(message: "a quote inside an unquoted field", column: at + 1)
        }
        field = trimmed(rest)
        index = rest.endIndex
      }
      fields.append(field)
      if index == line.count { return fields }
      index += 1
    }
  }

  /// Appends the lines in which the record's quoted field continues, up to the line that ends it.
  /// Only then does the caller read the record again. False if the field does not end within
  /// `maxLength` bytes.
  package static func extend<Fault: Error>(
    _ record: inout [UInt8], upTo maxLength: Int, by nextLine: () throws(Fault) -> [UInt8]?
  ) throws(Fault) -> Bool {
    while record.count <= maxLength, let line = try nextLine() {
      record += [0x0A] + line
      if line.count(where: { $0 == UInt8(ascii: "\"") }) % 2 == 1 { return true }
    }
    return false
  }

  /// A field as it is written: quoted if necessary.
  package static func written(_ field: [UInt8], separator: UInt8) -> [UInt8] {
    let quote = UInt8(ascii: "\"")
    let mustBe = field.contains { $0 == separator || $0 == quote || $0 == 0x0A || $0 == 0x0D }
    guard mustBe else { return field }
    var out = [quote]
    for byte in field {
      if byte == quote { out.append(quote) }
      out.append(byte)
    }
    return out + [quote]
  }

  private static func trimmed(_ field: ArraySlice<UInt8>) -> [UInt8] {
    var field = field.drop { $0 == 0x20 }
    while field.last == 0x20 { field.removeLast() }
    return Array(field)
  }
}

package struct CSVFault: Error {
  package var message: String
  package var column: Int

  package init(message: String, column: Int) {
    self.message = message
    self.column = column
  }
}
