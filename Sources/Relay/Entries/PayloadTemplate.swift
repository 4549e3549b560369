import JSON

/// A payload with `{{name}}` in place of a device's values: text inside a string, a JSON value
/// elsewhere.
package struct PayloadTemplate {
  /// The text before a placeholder, and the placeholder's name, as ranges of the source.
  private struct Piece {
    var bytes: Range<Int>
    var name: Range<Int>
    var isInString: Bool
  }

  let source: [UInt8]
  private var pieces: [Piece] = []
  /// The text after the last placeholder.
  private let rest: Range<Int>

  package init(_ text: String) {
    source = Array(text.utf8)
    var start = 0
    var index = 0
    var isInString = false
    while index < source.count {
      let byte = source[index]
      if byte == UInt8(ascii: "{"), let (name, end) = Placeholder.name(in: source, at: index) {
        pieces.append(Piece(bytes: start..<index, name: name, isInString: isInString))
        (start, index) = (end, end)
        continue
      }
      if byte == UInt8(ascii: "\"") { isInString.toggle() }
      index += byte == UInt8(ascii: "\\") && isInString ? 2 : 1
    }
    rest = start..<source.count
  }

  /// Whether the payload is the same for all devices.
  package var isPlain: Bool { pieces.isEmpty }

  /// The names of the placeholders outside strings.
  package var valueNames: Set<String> {
    Set(pieces.lazy.filter { !$0.isInString }.map(name))
  }

  private func name(of piece: Piece) -> String {
    String(decoding: source[piece.name], as: UTF8.self)
  }

  /// The payload with a 0 for each placeholder, to check that it is JSON.
  package var sample: [UInt8] {
    pieces.flatMap { source[$0.bytes] + [UInt8(ascii: "0")] } + source[rest]
  }

  /// Appends a device's payload to `out`. The device's members are at `own`.
  func fill(
    _ members: [RawJSON.Member], _ own: Range<Int>, of json: RawJSON, into out: inout [UInt8]
  ) throws(RelayFault) {
    try source.withUnsafeBufferPointer { source throws(RelayFault) in
      for piece in pieces {
        out.append(contentsOf: UnsafeBufferPointer(rebasing: source[piece.bytes]))
        let name = UnsafeBufferPointer(rebasing: source[piece.name])
        guard let member = json.last(name, of: members, own) else {
          throw RelayFault("{{\(self.name(of: piece))}} is missing")
        }
        var value = member.value
        if piece.isInString {
          switch json.bytes[value.lowerBound] {
          case UInt8(ascii: "\""): value = value.lowerBound + 1..<value.upperBound - 1
          case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "n"):
            throw RelayFault(
              "{{\(self.name(of: piece))}} is within a string: it must be text, a number, true or false"
            )
          default: break
          }
        }
        json.append(value, to: &out)
      }
      out.append(contentsOf: UnsafeBufferPointer(rebasing: source[rest]))
    }
  }
}
