#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A block between BEGIN and END in a text.
struct PEMBlock {
  var label: String
  /// Empty if it is broken, or encrypted in the legacy format.
  var bytes: [UInt8]

  static func all(in text: [UInt8]) -> [PEMBlock] {
    var blocks: [PEMBlock] = []
    var open: (label: String, base64: String)?
    for line in text.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
      let line = String(decoding: line, as: UTF8.self)
      if line.hasPrefix("-----BEGIN "), line.hasSuffix("-----"),
        !line.dropFirst(5).dropLast(5).contains("-")
      {
        open = (String(line.dropFirst(11).dropLast(5)), "")
      } else if line.hasPrefix("-----END "), let block = open {
        let data = Data(base64Encoded: block.base64)
        blocks.append(PEMBlock(label: block.label, bytes: data.map(Array.init) ?? []))
        open = nil
      } else {
        open?.base64 += line.filter { $0 != " " }
      }
    }
    return blocks
  }
}
