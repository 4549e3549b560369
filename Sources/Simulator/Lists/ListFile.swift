import BinaryServer
import JSON

/// Lists with one item per line; `#` starts a comment.
package enum ListFile {
  /// Device tokens in hex.
  package static func tokens(at path: String) throws(ListError) -> TokenSet {
    var tokens = TokenSet()
    try eachLine(of: path) { (line) throws(TextFault) in
      tokens.insert(try TokenField.bytes(of: line))
    }
    return tokens
  }

  /// `<unix seconds> <token hex>`.
  package static func feedback(at path: String) throws(ListError) -> [FeedbackEntry] {
    var entries: [FeedbackEntry] = []
    try eachLine(of: path) { (line) throws(TextFault) in
      let digits = line.prefix { !isBlank($0) }
      guard digits.allSatisfy(\.isDigit),
        let timestamp = UInt32(String(decoding: digits, as: UTF8.self))
      else {
        throw TextFault(
          message: "expected UNIX seconds, 0 to \(UInt32.max), then a token", offset: 0)
      }
      do throws(TextFault) {
        let token = try TokenField.bytes(of: line[digits.endIndex...])
        entries.append(FeedbackEntry(timestamp: timestamp, token: token))
      } catch {
        throw TextFault(message: error.message, offset: error.offset + digits.count)
      }
    }
    return entries
  }

  /// `<token hex> <channel identifier>`.
  package static func subscriptions(at path: String) throws(ListError) -> [Subscription] {
    var subscriptions: [Subscription] = []
    try eachLine(of: path) { (line) throws(TextFault) in
      guard let blank = line.lastIndex(where: isBlank) else {
        throw TextFault(
          message: "expected a token, then a channel ID", offset: line.count)
      }
      let channel = String(decoding: line[(blank + 1)...], as: UTF8.self)
      let offset = blank + 1 - line.startIndex
      if ChannelIdentifier.bytes(of: channel) == nil {
        throw TextFault(message: "\(channel) is not a channel ID", offset: offset)
      }
      subscriptions.append(
        Subscription(token: try TokenField.bytes(of: line[..<blank]), channel: channel))
    }
    return subscriptions
  }

  /// Passes on each non-empty line, without surrounding blanks and comment.
  private static func eachLine(
    of path: String, _ take: (ArraySlice<UInt8>) throws(TextFault) -> Void
  ) throws(ListError) {
    let bytes = try WholeFile.read(path)
    var number = 0
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      let indent = line.prefix(while: isBlank).count
      var content = line.dropFirst(indent).prefix { $0 != UInt8(ascii: "#") }
      while let last = content.last, isBlank(last) { content.removeLast() }
      if content.isEmpty { continue }
      do throws(TextFault) {
        try take(content)
      } catch {
        throw ListError(
          path: path, line: number, column: indent + error.offset + 1, message: error.message)
      }
    }
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
  }
}
