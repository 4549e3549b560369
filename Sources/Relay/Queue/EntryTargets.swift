/// The devices of an entry, or its channel, and what each of them is sent.
package struct EntryTargets {
  package struct Target {
    package var position: Int
    /// "" for a channel.
    package var token: String
    package var payload: [UInt8]
  }

  /// Why an entry, or one device of it, cannot be sent.
  package struct Fault: Error, CustomStringConvertible {
    package var description: String
  }

  /// What was found at each place of the entry's tokens.
  package let all: [Result<Target, Fault>]
  /// The token at each place, as far as there is one.
  package let tokens: [String]

  package init(_ entry: NewEntry) throws(Fault) {
    let given = [entry.token, entry.tokens, entry.channel].count { $0 != nil }
    guard given == 1 else {
      throw Fault(
        description: given == 0
          ? "the entry has no token, tokens or channel"
          : "the entry has more than one of token, tokens and channel")
    }
    if let token = entry.token ?? entry.channel.map({ _ in "" }) {
      tokens = [token]
      all = [.success(Target(position: 0, token: token, payload: Array(entry.payload.utf8)))]
      return
    }
    guard let list = entry.tokens else { throw Fault(description: "the entry has no token") }
    let elements: [ArraySlice<UInt8>]
    do {
      var reader = RawJSON(list)
      elements = try reader.elements()
    } catch {
      throw Fault(description: "tokens: \(error)")
    }
    guard (1...NewEntry.mostTokens).contains(elements.count) else {
      throw Fault(
        description:
          "tokens: \(elements.count) of them, but 1 to \(NewEntry.mostTokens) are one entry")
    }
    let template = PayloadTemplate(entry.payload)
    var tokens: [String] = []
    var all: [Result<Target, Fault>] = []
    for (position, element) in elements.enumerated() {
      do throws(Fault) {
        let (token, values) = try Self.device(element)
        tokens.append(token)
        let payload = try template.filled(values)
        all.append(.success(Target(position: position, token: token, payload: payload)))
      } catch {
        if tokens.count == position { tokens.append("") }
        all.append(.failure(error))
      }
    }
    self.tokens = tokens
    self.all = all
  }

  private static func device(
    _ element: ArraySlice<UInt8>
  ) throws(Fault) -> (String, [(name: String, value: ArraySlice<UInt8>)]) {
    do {
      if let token = try RawJSON.text(element) { return (token, []) }
      var reader = RawJSON(String(decoding: element, as: UTF8.self))
      let members = try reader.members()
      guard let raw = members.last(where: { $0.name == "token" })?.value,
        let token = try RawJSON.text(raw)
      else { throw Fault(description: "there is no token in it") }
      return (token, members)
    } catch let error as Fault {
      throw error
    } catch {
      throw Fault(description: "\(error)")
    }
  }
}

/// A payload with `{{name}}` where a device's own value goes: within a string as text, elsewhere as
/// a JSON value.
package struct PayloadTemplate {
  private enum Piece {
    case bytes(ArraySlice<UInt8>)
    case value(String, isInString: Bool)
  }

  private var pieces: [Piece] = []

  package init(_ text: String) {
    let source = Array(text.utf8)
    var start = 0
    var index = 0
    var isInString = false
    while index < source.count {
      let byte = source[index]
      if byte == UInt8(ascii: "{"), let (name, end) = Self.name(in: source, at: index) {
        if start < index { pieces.append(.bytes(source[start..<index])) }
        pieces.append(.value(name, isInString: isInString))
        (start, index) = (end, end)
        continue
      }
      if byte == UInt8(ascii: "\"") { isInString.toggle() }
      index += byte == UInt8(ascii: "\\") && isInString ? 2 : 1
    }
    if start < source.count { pieces.append(.bytes(source[start...])) }
  }

  /// As in the lists of `apns send`.
  private static func name(in text: [UInt8], at start: Int) -> (String, Int)? {
    guard start + 4 < text.count, text[start + 1] == UInt8(ascii: "{") else { return nil }
    let name = text[(start + 2)...].prefix {
      switch $0 {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
        UInt8(ascii: "."), 0x80...0xFF:
        true
      default: false
      }
    }
    let end = name.endIndex
    guard !name.isEmpty, end + 1 < text.count, text[end] == UInt8(ascii: "}"),
      text[end + 1] == UInt8(ascii: "}")
    else { return nil }
    return (String(decoding: name, as: UTF8.self), end + 2)
  }

  /// What stands for a JSON value, outside all strings.
  package var valueNames: Set<String> {
    Set(
      pieces.compactMap {
        if case .value(let name, isInString: false) = $0 { name } else { nil }
      })
  }

  /// Filled with something everywhere, to see that it is JSON.
  package var sample: [UInt8] {
    var out: [UInt8] = []
    for piece in pieces {
      switch piece {
      case .bytes(let bytes): out += bytes
      case .value: out += [UInt8(ascii: "0")]
      }
    }
    return out
  }

  package func filled(
    _ values: [(name: String, value: ArraySlice<UInt8>)]
  ) throws(EntryTargets.Fault) -> [UInt8] {
    var out: [UInt8] = []
    for piece in pieces {
      switch piece {
      case .bytes(let bytes): out += bytes
      case .value(let name, let isInString):
        guard let raw = values.last(where: { $0.name == name })?.value else {
          throw EntryTargets.Fault(description: "{{\(name)}} is missing")
        }
        switch raw.first {
        case UInt8(ascii: "\"") where isInString: out += raw.dropFirst().dropLast()
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "n"):
          guard !isInString else {
            throw EntryTargets.Fault(
              description:
                "{{\(name)}} is within a string: it has to be text, a number, true or false")
          }
          out += raw
        default: out += raw
        }
      }
    }
    return out
  }
}
