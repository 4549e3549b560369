/// A device token written in hex: either case, with the `<`, `>` and spaces of NSData.
enum TokenText {
  struct Fault: Error, Equatable {
    var message: String
    /// Counted in bytes from the text's first.
    var offset: Int
  }

  static let longest = 100

  static func bytes(of text: some Collection<UInt8>) throws(Fault) -> [UInt8] {
    var token: [UInt8] = []
    var high: UInt8?
    var offset = 0
    var end = 0
    for character in text {
      defer { offset += 1 }
      if character == UInt8(ascii: "<") || character == UInt8(ascii: ">")
        || character == UInt8(ascii: " ") || character == UInt8(ascii: "\t")
      {
        continue
      }
      guard let digit = digit(character) else {
        throw Fault(message: "\(name(character)) is not a hex digit", offset: offset)
      }
      end = offset + 1
      if let first = high {
        token.append(first << 4 | digit)
        high = nil
      } else {
        if token.count == longest {
          throw Fault(message: "a token has at most \(longest) bytes", offset: offset)
        }
        high = digit
      }
    }
    if high != nil { throw Fault(message: "the last hex digit has no partner", offset: end - 1) }
    if token.isEmpty { throw Fault(message: "no token", offset: offset) }
    return token
  }

  static func hex(_ token: some Sequence<UInt8>) -> String {
    var text: [UInt8] = []
    for byte in token {
      text.append(JSONText.hexDigits[Int(byte >> 4)])
      text.append(JSONText.hexDigits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static func digit(_ character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  private static func name(_ character: UInt8) -> String {
    (0x21...0x7e).contains(character)
      ? "'\(Character(UnicodeScalar(character)))'" : "byte \(character)"
  }
}
