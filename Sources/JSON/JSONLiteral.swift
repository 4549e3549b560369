/// Writes strings as JSON.
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
