/// A device's field in a payload, such as {{name}}.
package enum Placeholder {
  package static func isNamePart(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
      UInt8(ascii: "."), 0x80...0xFF:
      true
    default: false
    }
  }

  /// The whole text is one.
  package static func isWhole(_ text: String) -> Bool {
    text.hasPrefix("{{") && text.hasSuffix("}}") && text.utf8.count > 4
      && text.utf8.dropFirst(2).dropLast(2).allSatisfy { isNamePart($0) }
  }
}
