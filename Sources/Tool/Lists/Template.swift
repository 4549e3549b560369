import JSON

/// A payload with placeholders, {{name}}, for a device's fields: text within a string, a JSON value
/// elsewhere.
struct Template {
  private enum Piece {
    case bytes([UInt8])
    case field([UInt8], inString: Bool)
  }

  private var pieces: [Piece] = []
  let source: [UInt8]
  /// The template's identity, which stays the same if the command is repeated; the time in `source`
  /// changes.
  let identity: [UInt8]

  /// `hasFields` is true if a list fills it in; otherwise it is used unchanged.
  init(_ source: [UInt8], identity: [UInt8]? = nil, hasFields: Bool) {
    self.source = source
    self.identity = identity ?? source
    guard hasFields else {
      pieces = [.bytes(source)]
      return
    }
    var plain: [UInt8] = []
    var isInString = false
    var index = 0
    while index < source.count {
      if let (name, end) = Placeholder.name(in: source, at: index) {
        if !plain.isEmpty { pieces.append(.bytes(plain)) }
        plain = []
        pieces.append(.field(Array(source[name]), inString: isInString))
        index = end
        continue
      }
      let byte = source[index]
      plain.append(byte)
      if byte == UInt8(ascii: "\\"), isInString, index + 1 < source.count {
        plain.append(source[index + 1])
        index += 1
      } else if byte == UInt8(ascii: "\"") {
        isInString.toggle()
      }
      index += 1
    }
    if !plain.isEmpty { pieces.append(.bytes(plain)) }
  }

  var names: [[UInt8]] {
    pieces.compactMap { if case .field(let name, _) = $0 { name } else { nil } }
  }

  func filled(from record: DeviceRecord) throws(TemplateFault) -> [UInt8] {
    var out: [UInt8] = []
    for piece in pieces {
      switch piece {
      case .bytes(let bytes): out += bytes
      case .field(let name, let inString):
        guard let field = record[name] else {
          throw fault(name, "is missing in the list")
        }
        if inString {
          try fill(text: field, named: name, into: &out)
        } else {
          try fill(value: field, named: name, into: &out)
        }
      }
    }
    return out
  }

  private func fill(
    text field: DeviceRecord.Field, named name: [UInt8], into out: inout [UInt8]
  ) throws(TemplateFault) {
    switch field {
    case .text(let text):
      guard let text = String(validating: text, as: UTF8.self) else {
        throw fault(name, "is not UTF-8")
      }
      out += JSONLiteral.string(text).utf8.dropFirst().dropLast()
    case .json(let raw):
      switch raw.first {
      case UInt8(ascii: "\""): out += raw.dropFirst().dropLast()
      case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "n"):
        throw fault(name, "is within a string, so it must be text, a number, true or false")
      default: out += raw
      }
    }
  }

  private func fill(
    value field: DeviceRecord.Field, named name: [UInt8], into out: inout [UInt8]
  ) throws(TemplateFault) {
    switch field {
    case .json(let raw): out += raw
    case .text(let text):
      guard (try? JSONParser.read(text)) != nil else {
        throw fault(name, "is not a JSON value, such as a number; a text needs quotes around {{}}")
      }
      out += text
    }
  }

  private func fault(_ name: [UInt8], _ message: String) -> TemplateFault {
    TemplateFault(message: "{{\(String(decoding: name, as: UTF8.self))}} \(message)")
  }
}

struct TemplateFault: Error {
  var message: String
}
