/// A payload with `{{name}}` where a device's own value goes: within a string as text, elsewhere as
/// a JSON value.
package struct PayloadTemplate {
  private enum Piece {
    case bytes(ArraySlice<UInt8>)
    case value([UInt8], isInString: Bool)
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
  private static func name(in text: [UInt8], at start: Int) -> ([UInt8], Int)? {
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
    return (Array(name), end + 2)
  }

  /// Whether it is the same for all devices.
  package var isPlain: Bool {
    pieces.allSatisfy { if case .bytes = $0 { true } else { false } }
  }

  /// What stands for a JSON value, outside all strings.
  package var valueNames: Set<String> {
    Set(
      pieces.compactMap {
        if case .value(let name, isInString: false) = $0 {
          String(decoding: name, as: UTF8.self)
        } else {
          nil
        }
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

  /// Writes the payload of a device with these members to `out`, behind what is there.
  package func fill(
    _ members: [RawJSON.Member], of json: RawJSON, into out: inout [UInt8]
  ) throws(EntryTargets.Fault) {
    for piece in pieces {
      switch piece {
      case .bytes(let bytes): out += bytes
      case .value(let name, let isInString):
        guard let member = members.last(where: { json.isName(of: $0, name) }) else {
          throw EntryTargets.Fault(
            description: "{{\(String(decoding: name, as: UTF8.self))}} is missing")
        }
        var value = member.value
        switch json.bytes[value.lowerBound] {
        case UInt8(ascii: "\"") where isInString:
          value = value.lowerBound + 1..<value.upperBound - 1
        case UInt8(ascii: "{") where isInString, UInt8(ascii: "[") where isInString,
          UInt8(ascii: "n") where isInString:
          throw EntryTargets.Fault(
            description:
              "{{\(String(decoding: name, as: UTF8.self))}} is within a string: it has to be text, a number, true or false"
          )
        default: break
        }
        json.append(value, to: &out)
      }
    }
  }
}
