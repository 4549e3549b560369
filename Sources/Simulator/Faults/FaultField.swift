import BinaryServer
import JSON

/// A fault, as options, rules files and the control API name it.
package struct FaultField: Sendable {
  package let name: String
  package let value: String
  package let text: String
  /// Its values are tokens or prefixes of tokens.
  let isHex: Bool
  let read: @Sendable (JSONValue, inout Faults) throws(JSONError) -> Void
  /// As JSON; nil if the fault is not set.
  let write: @Sendable (Faults) -> String?

  private static let hexList = "[hex,…]"

  typealias Path<Value> = WritableKeyPath<Faults, Value> & Sendable

  private static func field<Value: Equatable & Sendable>(
    _ name: String, _ path: Path<Value>, _ value: String, _ text: String,
    _ read: @escaping @Sendable (JSONValue) throws(JSONError) -> Value,
    _ write: @escaping @Sendable (Value) -> String? = { "\($0)" }
  ) -> FaultField {
    FaultField(
      name: name, value: value, text: text, isHex: value == hexList,
      read: { (json, faults) throws(JSONError) in
        if case .null = json.content {
          faults[keyPath: path] = Faults()[keyPath: path]
        } else {
          do throws(JSONError) {
            faults[keyPath: path] = try read(json)
          } catch {
            throw JSONError("\(name): \(error.message)", at: error.offset)
          }
        }
      },
      write: { $0[keyPath: path] == Faults()[keyPath: path] ? nil : write($0[keyPath: path]) })
  }

  static func count(
    _ name: String, _ path: Path<Int?>, _ minimum: Int, _ text: String
  ) -> FaultField {
    field(name, path, "n", text, { (json) throws(JSONError) in try number(json, minimum) }) {
      $0.map { "\($0)" }
    }
  }

  static func range(
    _ name: String, _ path: Path<ClosedRange<Int>?>, _ minimum: Int, _ text: String,
    value: String = "n|min-max"
  ) -> FaultField {
    field(name, path, value, text) { (json) throws(JSONError) in
      let range = json.string.flatMap { FaultRange.bounds(in: $0, at: json.offset) } ?? json
      if case .string = range.content {
        throw JSONError("expected a number, or a range such as 10-20", at: json.offset)
      }
      guard case .array(let bounds) = range.content else {
        let only = try number(json, minimum)
        return only...only
      }
      guard bounds.count == 2 else {
        throw JSONError("expected a number or a range", at: json.offset)
      }
      let low = try number(bounds[0], minimum)
      let high = try number(bounds[1], minimum)
      if low > high { throw JSONError("\(low) is above \(high)", at: bounds[0].offset) }
      return low...high
    } _: {
      $0.map { $0.count == 1 ? "\($0.lowerBound)" : "[\($0.lowerBound),\($0.upperBound)]" }
    }
  }

  static func share(
    _ name: String, _ path: Path<Double>, _ text: String
  ) -> FaultField {
    field(name, path, "0..1", text) { (json) throws(JSONError) in
      switch json.content {
      case .bool(let all): return all ? 1 : 0
      case .number(let share) where (0...1).contains(share): return share
      default: throw JSONError("expected a number from 0 to 1", at: json.offset)
      }
    }
  }

  static func flag(_ name: String, _ path: Path<Bool>, _ text: String) -> FaultField {
    field(name, path, "true|false", text) { (json) throws(JSONError) in
      guard case .bool(let flag) = json.content else {
        throw JSONError("expected true or false", at: json.offset)
      }
      return flag
    }
  }

  typealias Word = RawRepresentable<String> & CaseIterable & Equatable & Sendable

  static func choice<Choice: Word>(
    _ name: String, _ path: Path<Choice>, _ text: String
  ) -> FaultField {
    field(name, path, words(Choice.self, "|"), text, chosen) { "\"\($0.rawValue)\"" }
  }

  static func choice<Choice: Word>(
    _ name: String, _ path: Path<Choice?>, _ text: String
  ) -> FaultField {
    field(name, path, words(Choice.self, "|"), text, chosen) { $0.map { "\"\($0.rawValue)\"" } }
  }

  private static func words<Choice: Word>(_: Choice.Type, _ separator: String) -> String {
    Choice.allCases.map(\.rawValue).joined(separator: separator)
  }

  private static func chosen<Choice: Word>(_ json: JSONValue) throws(JSONError) -> Choice {
    if let choice = json.string.flatMap(Choice.init(rawValue:)) { return choice }
    throw JSONError("expected one of \(words(Choice.self, ", "))", at: json.offset)
  }

  static func tokens(
    _ name: String, _ path: Path<[[UInt8]]>, _ text: String
  ) -> FaultField {
    field(name, path, hexList, text) { (json) throws(JSONError) in
      try each(json) { (element) throws(JSONError) in
        guard let hex = element.string else {
          throw JSONError("expected a token in hex", at: element.offset)
        }
        do throws(TextFault) {
          return try TokenField.bytes(of: hex.utf8)
        } catch {
          throw JSONError(error.message, at: element.offset)
        }
      }
    } _: { tokens in
      "[" + tokens.map { "\"\(TokenField.hex($0))\"" }.joined(separator: ",") + "]"
    }
  }

  static func statuses(
    _ name: String, _ path: Path<[UInt8]>, _ text: String
  ) -> FaultField {
    field(name, path, "n|[n,…]", text) { (json) throws(JSONError) in
      let statuses = try each(json, byte)
      if statuses.isEmpty { throw JSONError("expected a status", at: json.offset) }
      return statuses
    } _: {
      "\($0)".replacing(" ", with: "")
    }
  }

  static func status(_ name: String, _ path: Path<UInt8>, _ text: String) -> FaultField {
    field(name, path, "n", text, byte)
  }

  static func seconds(_ name: String, _ path: Path<Int>, _ text: String) -> FaultField {
    field(name, path, "n", text, { (json) throws(JSONError) in try number(json, 0) })
  }

  static func text(_ name: String, _ path: Path<String?>, _ text: String) -> FaultField {
    field(name, path, "text", text) { (json) throws(JSONError) in
      guard let text = json.string, !text.isEmpty else {
        throw JSONError("expected a text", at: json.offset)
      }
      return text
    } _: {
      $0.map(JSONLiteral.string)
    }
  }

  static func reasons(
    _ name: String, _ path: Path<[PushReason]>, _ text: String
  ) -> FaultField {
    field(name, path, "word|[word,…]", text) { (json) throws(JSONError) in
      let reasons = try each(json) { (element) throws(JSONError) in
        if let reason = element.string.flatMap(PushReason.init(text:)) { return reason }
        throw JSONError(
          "expected one of \(PushReason.all.map(\.word).sorted().joined(separator: ", ")), or a status "
            + "and another word", at: element.offset)
      }
      if reasons.isEmpty { throw JSONError("expected a reason", at: json.offset) }
      return reasons
    } _: { reasons in
      let words = reasons.map { JSONLiteral.string($0.text) }
      return words.count == 1 ? words[0] : "[" + words.joined(separator: ",") + "]"
    }
  }

  static func alert(_ name: String, _ path: Path<UInt8?>, _ text: String) -> FaultField {
    field(name, path, "n|name", text) { (json) throws(JSONError) in
      guard let word = json.string else { return try byte(json) }
      guard let alert = TLSAlert.number(of: word) else {
        throw JSONError(
          "expected a number or one of \(TLSAlert.names.joined(separator: ", "))", at: json.offset)
      }
      return alert
    } _: {
      $0.map { "\($0)" }
    }
  }

  static func bound(
    _ name: String, _ path: Path<TLSBound?>, _ text: String
  ) -> FaultField {
    let words = TLSBound.allCases.map(\.rawValue)
    return field(name, path, words.joined(separator: "|"), text) { (json) throws(JSONError) in
      let word: String? =
        if case .number(let number) = json.content { "\(number)" } else { json.string }
      guard let bound = word.flatMap(TLSBound.init(rawValue:)) else {
        throw JSONError("expected one of \(words.joined(separator: ", "))", at: json.offset)
      }
      return bound
    } _: {
      $0.map { "\"\($0.rawValue)\"" }
    }
  }

  private static func number(_ json: JSONValue, _ minimum: Int) throws(JSONError) -> Int {
    // Larger times and sizes make no sense, and sums cannot overflow.
    guard let number = json.integer, number >= minimum, number <= 1 << 40 else {
      throw JSONError("expected a whole number of at least \(minimum)", at: json.offset)
    }
    return number
  }

  private static func byte(_ json: JSONValue) throws(JSONError) -> UInt8 {
    guard let byte = json.integer.flatMap(UInt8.init(exactly:)) else {
      throw JSONError("expected a number from 0 to 255", at: json.offset)
    }
    return byte
  }

  /// The elements of an array, or the value as the only one.
  private static func each<Element>(
    _ json: JSONValue, _ read: (JSONValue) throws(JSONError) -> Element
  ) throws(JSONError) -> [Element] {
    guard case .array(let elements) = json.content else { return [try read(json)] }
    return try elements.map(read)
  }
}
