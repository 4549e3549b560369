import Simulator

/// Builds a JSON object.
struct JSONMembers {
  private var members: [String] = []

  mutating func add(_ name: String, json: String?) {
    if let json { members.append("\(JSONLiteral.string(name)):\(json)") }
  }
  mutating func add(_ name: String, text: String?) {
    add(name, json: text.map { JSONLiteral.string($0) })
  }
  mutating func add(_ name: String, number: some BinaryInteger) { add(name, json: "\(number)") }
  mutating func add(_ name: String, texts: [String]) {
    if !texts.isEmpty {
      add(name, json: "[" + texts.map { JSONLiteral.string($0) }.joined(separator: ",") + "]")
    }
  }

  var object: String { "{" + members.joined(separator: ",") + "}" }
}
