import JSON

/// One device of a list, with its fields.
struct DeviceRecord {
  enum Field {
    /// In CSV everything is text.
    case text([UInt8])
    /// The unchanged JSON from the list.
    case json([UInt8])
  }

  /// Counted from 1.
  var number: Int
  var line: Int
  var names: [[UInt8]]
  var fields: [Field]

  subscript(name: [UInt8]) -> Field? {
    // A CSV line may end before the last columns.
    guard let index = names.lastIndex(of: name), index < fields.count else { return nil }
    return fields[index]
  }

  /// A field's text in either kind of list; nil if it is missing.
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
