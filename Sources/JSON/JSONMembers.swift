/// Builds a JSON object.
package struct JSONMembers: ExpressibleByDictionaryLiteral {
  /// nil leaves the member out.
  package struct Value {
    fileprivate let json: String?

    package static func json(_ json: String?) -> Value { Value(json: json) }
    package static func text(_ text: String?) -> Value {
      Value(json: text.map { JSONLiteral.string($0) })
    }
    package static func text(nonempty text: String) -> Value { .text(text.isEmpty ? nil : text) }
    package static func number(_ number: (some BinaryInteger)?) -> Value {
      Value(json: number.map { "\($0)" })
    }
    package static func number(nonzero number: some BinaryInteger) -> Value {
      .number(number == 0 ? nil : number)
    }
    package static func flag(_ flag: Bool?) -> Value { Value(json: flag.map { "\($0)" }) }
    package static func list(_ list: [String]) -> Value {
      Value(json: "[" + list.joined(separator: ",") + "]")
    }
    package static func texts(nonempty texts: [String]) -> Value {
      texts.isEmpty ? .json(nil) : .list(texts.map { JSONLiteral.string($0) })
    }
  }

  private var members: [String] = []

  package init(dictionaryLiteral members: (String, Value)...) {
    for (name, value) in members { add(name, value) }
  }

  package mutating func add(_ name: String, _ value: Value) {
    if let json = value.json { members.append("\(JSONLiteral.string(name)):\(json)") }
  }

  package mutating func add(_ others: JSONMembers) { members += others.members }

  package var object: String { "{" + members.joined(separator: ",") + "}" }

  package static func object(_ members: JSONMembers) -> String { members.object }
}
