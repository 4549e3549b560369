/// Makes foreign text safe for a terminal, so that it cannot move, hide or reverse other text.
enum Printable {
  static func line(_ text: String) -> String {
    var out = ""
    for scalar in text.unicodeScalars {
      if isHarmless(scalar) {
        out.unicodeScalars.append(scalar)
      } else if scalar == "\n" || scalar == "\t" {
        out += " "
      } else {
        out += "\\u{\(String(scalar.value, radix: 16))}"
      }
    }
    return out
  }

  /// The number of terminal columns it takes.
  static func width(_ text: String) -> Int { text.reduce(0) { $0 + width($1) } }

  /// The longest prefix that fits into `columns`.
  static func prefix(_ text: String, columns: Int) -> String {
    var (out, used) = ("", 0)
    for character in text {
      used += width(character)
      if used > columns { break }
      out.append(character)
    }
    return out
  }

  static func width(_ character: Character) -> Int {
    guard let first = character.unicodeScalars.first else { return 0 }
    if character.unicodeScalars.contains(where: { $0.value == 0xFE0F }) { return 2 }
    switch first.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF,
      0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD:
      return 2
    default:
      if first.properties.isEmojiPresentation { return 2 }
      let category = first.properties.generalCategory
      return category == .nonspacingMark || category == .enclosingMark || category == .format
        ? 0 : 1
    }
  }

  /// Lines of at most `columns`, after an indent that the first one already has.
  static func wrapped(_ text: String, indent: Int, columns: Int) -> String {
    var (out, used) = ("", indent)
    for word in text.split(separator: " ") {
      let width = width(String(word))
      if used > indent, used + 1 + width > columns {
        out += "\n" + String(repeating: " ", count: indent)
        used = indent
      } else if used > indent {
        out += " "
        used += 1
      }
      out += word
      used += width
    }
    return out
  }

  /// 12345 as 12,345.
  static func grouped(_ number: Int) -> String {
    var out = ""
    for (index, digit) in "\(number)".enumerated() {
      if index > 0, ("\(number)".count - index) % 3 == 0 { out += "," }
      out.append(digit)
    }
    return out
  }

  private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0: false
    // Marks that change the direction of writing, and line and paragraph separators.
    case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: false
    default: true
    }
  }
}
