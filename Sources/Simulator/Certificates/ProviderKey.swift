import BinaryServer

/// A key that may sign provider tokens, and the team it belongs to.
package struct ProviderKey: Sendable {
  package var identifier: String
  package var team: String
  let key: KeyPair
  /// The only environment of the key; nil for both.
  private(set) var environment: String?

  /// Apple's identifiers have ten characters.
  private static let count = 10

  init(identifier: String, team: String, key: KeyPair) {
    self.identifier = identifier
    self.team = team
    self.key = key
  }

  /// Reads `key id:team id:file`, perhaps after `sandbox:` or `production:`. The file has the private
  /// key, as Apple issues it, or the public one, in PEM.
  package init(option: String) throws(ListError) {
    let environment = ["sandbox", "production"].first { option.hasPrefix("\($0):") }
    let rest = option.dropFirst(environment.map { $0.utf8.count + 1 } ?? 0)
    let parts = rest.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      .map(String.init)
    guard parts.count == 3, parts[0].utf8.count == Self.count, parts[1].utf8.count == Self.count,
      !parts[2].isEmpty
    else {
      throw ListError(
        path: option, message: "expected KEYID:TEAMID:FILE, both IDs of \(Self.count) characters")
    }
    try self.init(identifier: parts[0], team: parts[1], path: parts[2])
    self.environment = environment
  }

  package init(identifier: String, team: String, path: String) throws(ListError) {
    let text = String(decoding: try WholeFile.read(path), as: UTF8.self)
    guard let key = Self.key(in: text) else {
      throw ListError(path: path, message: "no P-256 key in PEM, private or public")
    }
    self.init(identifier: identifier, team: team, key: key)
  }

  private static func key(in text: String) -> KeyPair? {
    let key = KeyPair.privateKey(in: text) ?? KeyPair.publicKey(in: text)
    return key.flatMap { $0.isP256 ? $0 : nil }
  }
}
