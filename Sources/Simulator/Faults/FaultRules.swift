import JSON

/// Different faults for different connections: the first rule whose `connections` and
/// `connection_share` match a connection applies.
package struct FaultRules: Sendable {
  /// Never empty.
  package private(set) var all = [Faults()]

  package init(_ faults: Faults = Faults()) { all = [faults] }

  /// Reads a JSON object of faults, or an array of such objects.
  package init(_ json: JSONValue) throws(JSONError) {
    guard case .array(let elements) = json.content else {
      all = [try Self.faults(json)]
      return
    }
    if elements.isEmpty { throw JSONError("expected an object of faults", at: json.offset) }
    all = []
    for element in elements { all.append(try Self.faults(element)) }
  }

  package init(at path: String) throws(ListError) {
    let bytes = try WholeFile.read(path)
    do throws(JSONError) {
      try self.init(try JSONParser.read(bytes))
    } catch {
      let place = error.place(in: bytes)
      throw ListError(
        path: path, line: place.line, column: place.column, message: error.message)
    }
  }

  /// Changes the faults in a JSON object in all rules.
  package mutating func adopt(_ json: JSONValue) throws(JSONError) {
    var changed = all
    for index in changed.indices { try changed[index].adopt(json) }
    all = changed
  }

  /// Changes the fault in a command line option in all rules.
  package mutating func adopt(option: String) throws(JSONError) {
    var changed = all
    for index in changed.indices { try changed[index].adopt(option: option) }
    all = changed
  }

  /// How long connections are refused; nil if the port is open.
  package var refuseTime: Int? { all.compactMap(\.refuseTime).max() }

  /// An earlier refusal must not start again.
  mutating func forgetRefusal() {
    for index in all.indices { all[index].refuseTime = nil }
  }

  package var json: String {
    all.count == 1 ? all[0].json : "[" + all.map(\.json).joined(separator: ",") + "]"
  }

  private static func faults(_ json: JSONValue) throws(JSONError) -> Faults {
    var faults = Faults()
    try faults.adopt(json)
    return faults
  }
}
