import JSON

/// The differences between the JSON of two payloads.
enum PayloadChanges {
  /// As JSON; nil if a payload is not JSON.
  static func json(from before: [UInt8], to after: [UInt8]) -> String? {
    guard let old = try? JSONParser.read(before), let new = try? JSONParser.read(after) else {
      return nil
    }
    var changes: [String] = []
    compare(old, new, at: "") { path, was, now in
      let (was, now) = (literal(was, before), literal(now, after))
      if was.utf8.elementsEqual(now.utf8) { return }
      changes.append("{\"path\":\(JSONLiteral.string(path)),\"before\":\(was),\"after\":\(now)}")
    }
    return "[\(changes.joined(separator: ","))]"
  }

  /// `report` gets nil for a value that is only on the other side.
  private static func compare(
    _ old: JSONValue, _ new: JSONValue, at path: String,
    _ report: (String, JSONValue?, JSONValue?) -> Void
  ) {
    switch (old.content, new.content) {
    case (.object(let was), .object(let now)):
      let names = was.map(\.name) + now.map(\.name).filter { old[$0] == nil }
      var seen: Set<String> = []
      for name in names where seen.insert(name).inserted {
        let place = path.isEmpty ? name : "\(path).\(name)"
        each(old[name], new[name], at: place, report)
      }
    case (.array(let was), .array(let now)):
      for index in 0..<max(was.count, now.count) {
        each(
          index < was.count ? was[index] : nil, index < now.count ? now[index] : nil,
          at: "\(path)[\(index)]", report)
      }
    case (.string(let was), .string(let now)) where was.utf8.elementsEqual(now.utf8): break
    // A Double does not tell longer numbers apart, such as identifiers.
    case (.number(let was), .number(let now)) where was == now && abs(was) < 0x1p53: break
    case (.bool(let was), .bool(let now)) where was == now: break
    case (.null, .null): break
    default: report(path, old, new)
    }
  }

  private static func each(
    _ old: JSONValue?, _ new: JSONValue?, at path: String,
    _ report: (String, JSONValue?, JSONValue?) -> Void
  ) {
    if let old, let new { compare(old, new, at: path, report) } else { report(path, old, new) }
  }

  /// The value as it was written.
  private static func literal(_ value: JSONValue?, _ text: [UInt8]) -> String {
    guard let value else { return "null" }
    return JSONLiteral.string(String(decoding: text[value.offset..<value.end], as: UTF8.self))
  }
}
