import APNS

/// The reason why a text cannot be read, and the position.
struct TextFault: Error, Equatable {
  var message: String
  /// In bytes from the start of the text.
  var offset: Int
}

/// A device token in hex as the core reads it, but with tabs as well as spaces.
package enum TokenField {
  static func bytes(of text: some Collection<UInt8>) throws(TextFault) -> [UInt8] {
    let spaced = text.map { $0 == UInt8(ascii: "\t") ? UInt8(ascii: " ") : $0 }
    var token = [UInt8](repeating: 0, count: TokenText.maxLength)
    let result: Result<Int, TokenText.Fault> = spaced.withUnsafeBytes { source in
      token.withUnsafeMutableBytes { target in
        Result { () throws(TokenText.Fault) in try TokenText.decode(source, into: target) }
      }
    }
    switch result {
    case .success(let count): return Array(token.prefix(count))
    case .failure(let fault): throw TextFault(fault, in: spaced)
    }
  }

  package static func hex(_ token: some Sequence<UInt8>) -> String {
    let bytes = Array(token)
    return String(unsafeUninitializedCapacity: bytes.count * 2) { target in
      bytes.withUnsafeBytes { source in
        guard let start = target.baseAddress else { return }
        TokenText.encode(source, into: start)
      }
      return bytes.count * 2
    }
  }
}

extension TextFault {
  fileprivate init(_ fault: TokenText.Fault, in text: [UInt8]) {
    switch fault {
    case .notHex(let position, let byte):
      let name =
        (0x21...0x7e).contains(byte)
        ? "'\(Character(UnicodeScalar(byte)))'" : "byte \(byte)"
      self.init(message: "\(name) is not a hex digit", offset: position)
    case .description:
      self.init(message: "this is the description of a Data, not a token", offset: 0)
    case .oddDigits:
      let digits = text.indices.filter { Self.isDigit(text[$0]) }
      self.init(message: "the number of hex digits is odd", offset: digits.last ?? 0)
    case .noDigits: self.init(message: "no token", offset: text.count)
    case .tooLong:
      let digits = text.indices.filter { Self.isDigit(text[$0]) }
      self.init(
        message: "a token has at most \(TokenText.maxLength) bytes",
        offset: digits.dropFirst(TokenText.maxLength * 2).first ?? 0)
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    UnicodeScalar(byte).properties.isASCIIHexDigit
  }
}
