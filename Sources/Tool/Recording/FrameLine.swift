import JSON

/// A frame in the words of the session's log: `> HEADERS, stream 5, to 5f79cfda…`.
struct FrameLine {
  var isSent: Bool
  var type: Substring
  /// 0 for the connection.
  var stream = 0
  /// The first 8 digits of the device token in a request.
  var token: Substring?
  /// The status in a response; 0 without one.
  var status = 0
  var bytes = 0
  var endsStream = false
  private var last: Substring

  /// nil if it is not a frame.
  init?(_ text: String) {
    let words = Self.withoutConnection(text)
    guard words.hasPrefix("> ") || words.hasPrefix("< ") else { return nil }
    isSent = words.hasPrefix(">")
    let parts = words.dropFirst(2).split(separator: ", ").map { $0 }
    guard let type = parts.first, let last = parts.last else { return nil }
    self.type = type
    self.last = last
    for part in parts.dropFirst() {
      if let number = Self.rest(of: part, after: "stream ") { stream = Int(number) ?? 0 }
      if let number = Self.rest(of: part, after: "status ") { status = Int(number) ?? 0 }
      // Not "channel …", nor a channel's management.
      if let token = Self.rest(of: part, after: "to "), !token.contains(" ") {
        self.token = token.prefix(8)
      }
      if part.hasSuffix(" bytes") { bytes = Int(part.dropLast(6)) ?? 0 }
      if part == "END_STREAM" { endsStream = true }
    }
  }

  var error: String { Self.error(named: last) }

  /// RFC 9113, 7: an unknown error may be treated as INTERNAL_ERROR.
  static func error(named name: Substring) -> String {
    name == "unknown" ? "INTERNAL_ERROR" : String(name)
  }

  /// The text after `connection 1: `.
  static func withoutConnection(_ text: String) -> Substring {
    guard text.hasPrefix("connection "), let colon = text.firstRange(of: ": ") else {
      return text[...]
    }
    return text[colon.upperBound...]
  }

  private static func rest(of part: Substring, after word: String) -> Substring? {
    part.hasPrefix(word) ? part.dropFirst(word.count) : nil
  }
}

/// `the service sent GOAWAY: NO_ERROR, last stream 4711, {"reason":"Shutdown"}`.
struct GoAwayLine {
  var error: String?
  var reason: String?
  /// The last stream that the service may have processed.
  var last: Int?

  init(_ text: String) {
    let parts = FrameLine.withoutConnection(text).split(
      separator: ", ", maxSplits: 2, omittingEmptySubsequences: false)
    error = parts.first.map { FrameLine.error(named: $0.split(separator: " ").last ?? "") }
    // The number of lines that were left out may follow.
    let data = parts.count > 2 ? parts[2].lastIndex(of: "}").map { parts[2][...$0] } : nil
    let json = data.flatMap { try? JSONParser.read(Array($0.utf8)) }
    reason = json?["reason"]?.string
    last = parts.count > 1 ? Int(parts[1].dropFirst("last stream ".count)) : nil
  }
}
