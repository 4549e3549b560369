import APNS

/// Strings as JSON.
package enum JSONLiteral {
  package static let hexDigits = Array("0123456789abcdef".utf8)

  package static func string(_ text: String) -> String {
    var quoted: [UInt8] = [UInt8(ascii: "\"")]
    escape(text.utf8, into: &quoted)
    quoted.append(UInt8(ascii: "\""))
    return String(decoding: quoted, as: UTF8.self)
  }

  /// null for nil.
  package static func string(_ text: String?) -> String { text.map { string($0) } ?? "null" }

  /// The text of a string that the reader has checked, given without its quotes.
  package static func text(_ bytes: UnsafeRawBufferPointer) -> String {
    guard bytes.contains(UInt8(ascii: "\\")) else { return String(decoding: bytes, as: UTF8.self) }
    var text: [UInt8] = []
    var index = 0
    while index < bytes.count {
      guard bytes[index] == UInt8(ascii: "\\"), let escape = try? JSONEscape.read(bytes, at: index),
        let scalar = UnicodeScalar(escape.scalar)
      else {
        text.append(bytes[index])
        index += 1
        continue
      }
      text += String(Character(scalar)).utf8
      index += escape.length
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Whether a text may stand between quotes unchanged. False for some that may.
  package static func isPlain(_ bytes: UnsafeRawBufferPointer) -> Bool {
    JSONText.plainEnd(bytes, from: 0) == bytes.count
  }

  package static func escape(_ bytes: some Sequence<UInt8>, into text: inout [UInt8]) {
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        text.append(UInt8(ascii: "\\"))
        text.append(byte)
      case UInt8(ascii: "\n"): text += "\\n".utf8
      case UInt8(ascii: "\r"): text += "\\r".utf8
      case UInt8(ascii: "\t"): text += "\\t".utf8
      case 0..<0x20:
        text += "\\u00".utf8
        text.append(hexDigits[Int(byte >> 4)])
        text.append(hexDigits[Int(byte & 15)])
      default: text.append(byte)
      }
    }
  }
}
