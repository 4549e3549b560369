import Foundation

/// The clients of a listener and their apps. Each line of the file has a bearer token and the apps,
/// or `*` for all of them.
final class AuthorizationList: Sendable {
  /// The apps that a client may push for; nil for all.
  typealias Apps = Set<String>

  /// The line names the token in logs.
  private typealias Client = (line: Int, apps: Apps?)

  /// By the digest of the secret and the token, so that neither memory nor timing reveals a token.
  private let clients: [[UInt8]: Client]
  /// Random, so that nobody else can compute the digests.
  private let secret = (0..<32).map { _ in UInt8.random(in: 0...255) }

  /// `apps` are the relay's apps. `own` is the app that the listener is bound to, if any.
  init(file: String, apps: [String], own: String?) throws {
    guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
      throw RelayFault("\(file): cannot be read")
    }
    var clients: [[UInt8]: Client] = [:]
    let known = Set(apps)
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (number, line) in zip(1..., lines) {
      let words = line.split { $0 == " " || $0 == "\t" }
      guard let token = words.first, !token.hasPrefix("#") else { continue }
      func fault(_ text: String) -> RelayFault {
        RelayFault("\(file):\(number): \(text)")
      }
      guard token.utf8.count >= 16 else {
        throw fault("a token has \(token.utf8.count) characters; it needs at least 16")
      }
      guard words.count <= 2 else {
        throw fault("a line must be a token, a space, and apps separated by commas")
      }
      let client = (number, try Self.apps(words.dropFirst().first, known, own: own, fault))
      // Only one of two lines with the same token could apply.
      guard clients.updateValue(client, forKey: SHA256Digest.of(secret + token.utf8)) == nil else {
        throw fault("the token appears in another line too")
      }
    }
    guard !clients.isEmpty else {
      throw RelayFault("\(file): contains no token")
    }
    self.clients = clients
  }

  private static func apps(
    _ named: Substring?, _ apps: Set<String>, own: String?, _ fault: (String) -> RelayFault
  ) throws -> Apps? {
    guard let named else {
      if let only = own ?? (apps.count == 1 ? apps.first : nil) { return [only] }
      throw fault(
        "the token names no app, and the relay has \(apps.count): write them after it, or * for all"
      )
    }
    if named == "*" { return nil }
    let wanted = named.split(separator: ",").map(String.init)
    for app in wanted where !apps.contains(app) { throw fault("there is no app '\(app)'") }
    if let own, wanted != [own] {
      throw fault("the token is for \(named), but every request here is for \(own)")
    }
    return Set(wanted)
  }

  /// The apps of the client with this `authorization` header; nil if the list does not have it.
  func client(_ value: String) -> Apps?? {
    let words = value.split(separator: " ", maxSplits: 1)
    guard words.count == 2, words[0].lowercased() == "bearer" else { return nil }
    return owner(ofToken: words[1].trimmingCharacters(in: .whitespaces)).map(\.apps)
  }

  /// The line of a token and its apps; nil if the list does not have it.
  func owner(ofToken token: String) -> (line: Int, apps: Apps?)? {
    clients[SHA256Digest.of(secret + token.utf8)]
  }
}
