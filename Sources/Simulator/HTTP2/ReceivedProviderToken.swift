import JSON

/// A provider token with a signature that was verified with the key it names.
struct ReceivedProviderToken: Sendable {
  var key: String
  var team: String
  /// UNIX seconds.
  var issued: Int64

  /// nil if the text is not a valid provider token.
  init?(_ text: Substring, keys: [String: ProviderKey]) {
    let parts = text.utf8.split(
      separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 3, let head = Self.json(parts[0]), let claims = Self.json(parts[1]),
      head["alg"]?.string == "ES256", let identifier = head["kid"]?.string,
      let key = keys[identifier], let team = claims["iss"]?.string, team == key.team,
      let issued = claims["iat"].flatMap(Self.time), let signature = Base64.bytes(ofURL: parts[2]),
      key.key.isES256(signature, of: Array(text.utf8[..<parts[1].endIndex]))
    else { return nil }
    self.key = identifier
    self.team = team
    self.issued = issued
  }

  /// RFC 7519 allows a fraction. Some clients that push to Apple write a text.
  private static func time(_ claim: JSONValue) -> Int64? {
    claim.string.flatMap { Int64($0) } ?? claim.number.flatMap { Int64(exactly: $0.rounded(.down)) }
  }

  private static func json(_ part: Substring.UTF8View) -> JSONValue? {
    Base64.bytes(ofURL: part).flatMap { try? JSONParser.read($0) }
  }
}
