/// How soon an entry is sent. A lane overtakes those after it, which keep a share of what is sent.
package enum Lane: String, CaseIterable, Sendable {
  case urgent, normal, bulk

  /// Of this many notifications each waiting lane gets at least one.
  package static let share = 16

  /// The message for a word that names no lane.
  static func fault(_ word: String) -> String {
    "lane is urgent, normal or bulk, not '\(word.prefix(40))'"
  }
}

/// A value for each lane.
struct ByLane<Value> {
  private var values: InlineArray<3, Value>

  init(_ value: Value) { values = InlineArray(repeating: value) }

  subscript(_ lane: Lane) -> Value {
    // In place, because a copy of an array would be copied whole by a change.
    _read { yield values[Self.place(lane)] }
    _modify { yield &values[Self.place(lane)] }
  }

  private static func place(_ lane: Lane) -> Int {
    switch lane {
    case .urgent: 0
    case .normal: 1
    case .bulk: 2
    }
  }
}

extension ByLane: Sendable where Value: Sendable {}
