import COpenSSL
import Foundation

/// Who may use a door: bearer tokens, one in each line of a file.
final class AuthorizationList: Sendable {
  /// Only digests are kept, and compared: neither the tokens nor the time tell anything.
  private let digests: [[UInt8]]

  init(file: String) throws {
    guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
      throw QueueFault(description: "\(file): cannot be read")
    }
    let lines = text.split(whereSeparator: \.isNewline)
      .map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty && !$0.hasPrefix("#") }
    guard !lines.isEmpty else { throw QueueFault(description: "\(file): there is no token in it") }
    if let short = lines.first(where: { $0.utf8.count < 16 }) {
      throw QueueFault(
        description:
          "\(file): a token has \(short.utf8.count) characters, but fewer than 16 can be guessed")
    }
    digests = lines.map { SHA256Digest.of(Array($0.utf8)) }
  }

  /// The value of the header `authorization`.
  func knows(_ value: String) -> Bool {
    let words = value.split(separator: " ", maxSplits: 1)
    guard words.count == 2, words[0].lowercased() == "bearer" else { return false }
    let said = SHA256Digest.of(Array(words[1].trimmingCharacters(in: .whitespaces).utf8))
    return digests.contains { CRYPTO_memcmp($0, said, said.count) == 0 }
  }
}
