/// Builds a JSON object.
package struct JSONMembers {
  private var members: [String] = []

  package init() {}

  package mutating func add(_ name: String, json: String?) {
    if let json { members.append("\(JSONLiteral.string(name)):\(json)") }
  }
  package mutating func add(_ name: String, text: String?) {
    add(name, json: text.map { JSONLiteral.string($0) })
  }
  package mutating func add(_ name: String, number: some BinaryInteger) {
    add(name, json: "\(number)")
  }
  package mutating func add(_ name: String, texts: [String]) {
    if !texts.isEmpty { add(name, list: texts.map { JSONLiteral.string($0) }) }
  }
  package mutating func add(_ name: String, list: [String]) {
    add(name, json: "[" + list.joined(separator: ",") + "]")
  }

  package var object: String { "{" + members.joined(separator: ",") + "}" }
}
