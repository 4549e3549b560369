import JSON

extension Faults {
  /// Changes the faults that a JSON object names.
  package mutating func adopt(_ json: JSONValue) throws(JSONError) {
    guard case .object(let members) = json.content else {
      throw JSONError("expected an object of faults", at: json.offset)
    }
    var changed = self
    for member in members {
      guard let field = FaultField.all.first(where: { $0.name == member.name }) else {
        throw JSONError("unknown fault \(member.name)", at: member.offset)
      }
      try field.read(member.value, &changed)
    }
    self = changed
  }

  /// Reads a fault from the command line: `name=value`. The value is JSON or a word, or several
  /// words separated by commas.
  package mutating func adopt(option: String) throws(JSONError) {
    let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { throw JSONError("expected name=value", at: 0) }
    let name = String(parts[0])
    let isHex = FaultField.all.contains { $0.name == name && $0.isHex }
    let value = Self.value(String(parts[1]), isHex: isHex)
    try adopt(JSONValue(.object([JSONValue.Member(name: name, offset: 0, value: value)])))
  }

  private static func value(_ text: String, isHex: Bool) -> JSONValue {
    // Hex, because it may look like a number.
    if !isHex || text.hasPrefix("["), let json = try? JSONParser.read(text.utf8) { return json }
    let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { part in
      isHex
        ? JSONValue(.string(String(part)))
        : (try? JSONParser.read(part.utf8)) ?? JSONValue(.string(String(part)))
    }
    return parts.count == 1 ? parts[0] : JSONValue(.array(parts))
  }

  /// The faults that are set, as a JSON object.
  package var json: String {
    let members = FaultField.all.compactMap { field in
      field.write(self).map { "\"\(field.name)\":\($0)" }
    }
    return "{" + members.joined(separator: ",") + "}"
  }
}
