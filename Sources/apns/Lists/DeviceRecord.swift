import Simulator

/// One device of a list, with what the list says of it.
struct DeviceRecord {
  /// What a list says under one name.
  enum Field {
    /// Of CSV, where all is text.
    case text([UInt8])
    /// Of JSON, as it stands there.
    case json([UInt8])
  }

  /// From 1.
  var number: Int
  var line: Int
  var names: [[UInt8]]
  var fields: [Field]

  subscript(name: [UInt8]) -> Field? {
    // A line of CSV may end before the last columns.
    guard let index = names.lastIndex(of: name), index < fields.count else { return nil }
    return fields[index]
  }

  /// A field's text, whichever kind of list it is of; nil where there is none.
  func text(_ name: [UInt8]) -> [UInt8]? {
    switch self[name] {
    case nil: return nil
    case .text(let text): return text
    case .json(let raw):
      if case .string(let text) = (try? JSONParser.read(raw))?.content { return Array(text.utf8) }
      return raw == Array("null".utf8) ? nil : raw
    }
  }
}
