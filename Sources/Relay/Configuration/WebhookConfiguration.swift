import Foundation
import HTTPServer

/// The receiver of an app's outcomes.
package struct WebhookConfiguration: Equatable, Sendable {
  /// nil for no webhook.
  package var url: String?
  package var secretFile: String?
  /// The file's secrets. Each signs, so that a receiver may know the old one or the new one.
  package var secrets: [[UInt8]] = []
  package var only: [String] = []
  package var most = 100
  package var timeoutS = 10.0
  package var ca: String?
  package var allowsHTTP = false

  /// A URL as a request needs it.
  package struct Address: Equatable, Sendable {
    package var isSecure: Bool
    /// Without the brackets of an IPv6 address.
    package var host: String
    package var port: Int
    /// With the query, which may be a secret.
    package var path: String

    /// nil for another text.
    package init?(_ text: String) {
      guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
        ["http", "https"].contains(scheme), let host = parts.percentEncodedHost, !host.isEmpty,
        parts.user == nil, parts.password == nil, parts.fragment == nil,
        // Nothing may end the request's line.
        text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
      else { return nil }
      isSecure = scheme == "https"
      self.host = host.trimmingCharacters(in: ["[", "]"])
      port = parts.port ?? (isSecure ? 443 : 80)
      guard (1...65535).contains(port) else { return nil }
      path =
        (parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath)
        + (parts.percentEncodedQuery.map { "?\($0)" } ?? "")
    }

    /// The value of `Host`.
    package var authority: String {
      let name = host.contains(":") ? "[\(host)]" : host
      return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    /// As it may be logged: path and query may be secrets.
    package var shown: String { "\(isSecure ? "https" : "http")://\(authority)" }
  }

  package var address: Address? { url.flatMap { Address($0) } }

  package var filter: OutcomeFilter {
    only.isEmpty ? OutcomeFilter() : (try? OutcomeFilter(only: only)) ?? OutcomeFilter()
  }

  /// Warnings for the operator.
  package var warnings: [String] {
    guard let address, !address.isSecure, !Authority.isLoopback(address.host) else { return [] }
    return ["tokens of devices cross the network to \(address.shown) without TLS"]
  }

  static let options: [RelayOption<Self>] = [
    .text("url", \.url, "https://… that gets the outcomes in batches; default: none"),
    .file("secret_file", \.secretFile, "whsec_…, which signs the batches; one per line, all sign"),
    .value(
      "only", \.only, "such as [rejected, gone, dead]; default: all",
      shown: { $0.isEmpty ? "" : "[\($0.joined(separator: ", "))]" }
    ) { section, key, _ in
      let words = try section.words(key)
      do throws(OutcomeFilter.UnknownWord) {
        _ = try OutcomeFilter(only: words)
      } catch {
        throw section.fault(key, "has \(OutcomeFilter.words), not '\(error.word)'")
      }
      return words
    },
    .integer("batch", \.most, 1...1000, "maximum number of outcomes in a request"),
    .duration("timeout", \.timeoutS, 0.1...300, "how long a request may take"),
    .file("ca", \.ca, "CA certificates in PEM; default: the system's trust store"),
    .flag(
      "allow_http", \.allowsHTTP, "true: http:// beyond this machine, where anyone can read it"),
  ]

  mutating func check(_ section: ConfigurationSection) throws {
    guard url != nil else {
      if secretFile != nil { throw section.fault("url", "is missing") }
      return
    }
    // Not shown, because it may have a secret.
    guard let address else {
      throw section.fault("url", "must be https://HOST[:PORT]/PATH, without a user")
    }
    guard address.isSecure || allowsHTTP || Authority.isLoopback(address.host) else {
      throw section.fault(
        "url", "is http:// beyond this machine: use https://, or 'allow_http: true'")
    }
    guard let secretFile else {
      throw section.fault("secret_file", "is missing: the receiver checks the signature by it")
    }
    secrets = try Self.secrets(secretFile) { section.fault("secret_file", $0) }
  }

  /// Faults do not show a line, because it is a secret.
  private static func secrets(
    _ file: String, _ fault: (String) -> ConfigurationFault
  ) throws -> [[UInt8]] {
    guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
      throw fault("the file (name not shown) cannot be read")
    }
    var secrets: [[UInt8]] = []
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (number, line) in zip(1..., lines) {
      let words = line.trimmingCharacters(in: .whitespaces)
      if words.isEmpty || words.hasPrefix("#") { continue }
      let start = "whsec_"
      guard words.hasPrefix(start),
        let key = Data(base64Encoded: String(words.dropFirst(start.count))),
        (24...64).contains(key.count)
      else {
        throw fault("line \(number) is not whsec_ and the base64 of 24 to 64 bytes")
      }
      secrets.append(Array(key))
    }
    guard !secrets.isEmpty else { throw fault("contains no secret") }
    return secrets
  }
}
