import Foundation

/// A provider token from another program: a JSON Web Token (RFC 7519), signed with ES256. Parses
/// the signer and the time; APNs verifies the signature.
struct ProviderJWT: Equatable {
  /// APNs accepts a token for an hour; an older one than this is about to expire.
  static let oldestS: Int64 = 55 * 60
  /// The tolerated difference between clocks.
  private static let aheadS: Int64 = 300
  /// APNS_PROVIDER_TOKEN_MAX
  private static let longest = 1000

  let text: String
  let keyID: String
  let teamID: String
  /// UNIX seconds.
  let issuedAt: Int64

  /// Errors never repeat the text.
  init(_ text: String, at now: Int64) throws(RelayFault) {
    guard text.utf8.count <= Self.longest else {
      throw RelayFault("it has more than \(Self.longest) bytes")
    }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3,
      parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(Self.isBase64URL) })
    else {
      throw RelayFault("not a JSON Web Token: three base64url parts separated by dots")
    }
    guard let head = Self.object(parts[0]), let claims = Self.object(parts[1]) else {
      throw RelayFault("its parts are not base64url-encoded JSON")
    }
    guard head["alg"] as? String == "ES256" else {
      throw RelayFault("its alg is not ES256")
    }
    guard let key = head["kid"] as? String, !key.isEmpty else {
      throw RelayFault("it has no kid, the key ID")
    }
    guard let team = claims["iss"] as? String, !team.isEmpty else {
      throw RelayFault("it has no iss, the team ID")
    }
    guard let issued = claims["iat"] as? NSNumber,
      let issued = Int64(exactly: issued.doubleValue.rounded())
    else {
      throw RelayFault("it has no iat, its time of issue in UNIX seconds")
    }
    guard issued <= now + Self.aheadS else {
      throw RelayFault("its iat is \(issued - now) s ahead of this machine's clock: set the clocks")
    }
    guard issued >= now - Self.oldestS else {
      throw RelayFault("it is \((now - issued) / 60) minutes old, and APNs accepts none after 60")
    }
    self.text = text
    keyID = key
    teamID = team
    issuedAt = min(issued, now)
  }

  private static func isBase64URL(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
    default: false
    }
  }

  private static func object(_ part: Substring) -> [String: Any]? {
    let plain = part.replacing("-", with: "+").replacing("_", with: "/")
    let padding = String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
    return Data(base64Encoded: plain + padding)
      .flatMap { try? JSONSerialization.jsonObject(with: $0) } as? [String: Any]
  }
}
