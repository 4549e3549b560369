import Testing

@testable import APNS

/// A text of fixed size stays valid after any append and wherever it is cut.
@Suite struct MessageTests {
  private static let pieces: [[UInt8]] = [
    Array("a".utf8), Array("ß".utf8), Array("€".utf8), Array("😀".utf8), [0xFF], [0xE2, 0x80],
    Array("\u{202E}".utf8), Array("\u{9B}".utf8), Array("\n".utf8),
  ]

  private func line(_ message: Message, room: Int) -> [UInt8] {
    let target = UnsafeMutableRawBufferPointer.allocate(byteCount: room + 1, alignment: 1)
    defer { target.deallocate() }
    for index in target.indices { target[index] = 0x5A }
    message.copy(to: UnsafeMutableRawBufferPointer(rebasing: target[0..<room]))
    #expect(target[room] == 0x5A)
    #expect(room == 0 || target[0..<room].contains(0))
    return Array(target[0..<room].prefix { $0 != 0 })
  }

  @Test func wholeCharacters() {
    var random = SplitMix64(seed: 16)
    for _ in 0..<300 {
      var message = Message()
      var expected = ""
      for _ in 0..<Int.random(in: 1...200, using: &random) {
        let piece = Self.pieces.randomElement(using: &random) ?? []
        piece.withUnsafeBytes { message.append(text: $0) }
        if let text = String(validating: piece, as: UTF8.self) {
          expected +=
            piece.count == 1
              || text.unicodeScalars.allSatisfy {
                $0.properties.isEmoji || $0.properties.isAlphabetic || $0 == "€"
              }
            ? text == "\n" ? "?" : text : "?"
        } else {
          expected += String(repeating: "?", count: piece.count)
        }
      }
      for room in [0, 1, 2, 3, 7, 40, 160, 237, 238, 239, 240, 300] {
        let told = line(message, room: room)
        let text = String(validating: told, as: UTF8.self)
        #expect(text != nil)
        #expect(expected.utf8.starts(with: told))
        // Only the character that does not fit is left off.
        #expect(told.count + 4 > min(expected.utf8.count, max(0, min(room, 240) - 1)))
      }
    }
  }

  /// Text after a cut would seem to belong to the cut text.
  @Test func nothingIsAppendedAfterACut() {
    var message = Message()
    for _ in 0..<238 { message.append("x") }
    message.append("é")
    message.append("y")
    #expect(line(message, room: 240) == Array(repeating: 0x78, count: 238))
  }

  @Test func sizes() {
    var message = Message()
    message.append(size: -1)
    message.append(" ")
    message.append(size: .max)
    message.append(" ")
    message.append(Int.min)
    #expect(
      line(message, room: 240)
        == Array("18446744073709551615 9223372036854775807 -9223372036854775808".utf8))
  }
}
