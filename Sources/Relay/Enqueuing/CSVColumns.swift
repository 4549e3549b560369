import CSV
import JSON

/// The columns of a CSV list, and the conversion of its records to JSON objects.
struct CSVColumns {
  private let separator: UInt8
  private let names: [String]
  private let valueNames: Set<String>
  /// The first line has the column names; otherwise it is a device.
  let hasNames: Bool

  static func isToken(_ text: String) -> Bool {
    text.utf8.count % 2 == 0 && isHex(text)
  }

  static func isHex(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { UnicodeScalar($0).properties.isASCIIHexDigit }
  }

  /// nil if a list that begins with this line is not CSV. Unnamed columns are numbered, as in the
  /// lists of `apns send`.
  init?(_ first: [UInt8], valueNames: Set<String>) throws(CSVFault) {
    separator = CSVLine.separator(of: first)
    self.valueNames = valueNames
    guard let fields = try CSVLine.fields(of: first, separator: separator) else { return nil }
    var names = try fields.map(Self.text)
    if let index = names.firstIndex(where: { $0.lowercased() == "token" }) {
      names[index] = "token"
      hasNames = true
    } else if names.count > 1, Self.isToken(names[0]) {
      names = names.indices.map { $0 == 0 ? "token" : "\($0 + 1)" }
      hasNames = false
    } else {
      return nil
    }
    self.names = names
  }

  /// nil if a quoted field continues in the next line.
  func object(_ record: [UInt8]) throws(CSVFault) -> String? {
    guard let fields = try CSVLine.fields(of: record, separator: separator) else { return nil }
    guard fields.count <= names.count else {
      throw fault("\(fields.count) fields, but there are \(names.count) columns")
    }
    var members: [String] = []
    for (name, field) in zip(names, fields) {
      let text = try Self.text(field)
      if name == "token" {
        guard Self.isHex(text) else { throw fault("the token is not hex") }
        if let wrong = DeviceLines.fault(ofToken: text) { throw fault(wrong) }
      }
      let content = try value(name, text)
      members.append("\(JSONLiteral.string(name)):\(content)")
    }
    // A record may omit its last columns.
    guard zip(names, fields).contains(where: { $0.0 == "token" }) else {
      throw fault("there is no token")
    }
    return "{\(members.joined(separator: ","))}"
  }

  private func value(_ name: String, _ text: String) throws(CSVFault) -> String {
    guard valueNames.contains(name) else { return JSONLiteral.string(text) }
    guard RawJSON.isValue(text) else {
      throw fault(
        "\(name) is not a JSON value, such as a number; a text needs quotes around {{\(name)}}")
    }
    return text
  }

  private static func text(_ field: [UInt8]) throws(CSVFault) -> String {
    guard let text = String(validating: field, as: UTF8.self) else {
      throw CSVFault(message: "is not UTF-8", column: 1)
    }
    return text
  }

  private func fault(_ message: String) -> CSVFault { CSVFault(message: message, column: 1) }
}
