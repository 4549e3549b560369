import APNS
import Client
import CAPNS
import COpenSSL
import Foundation

/// Supplies the queue's provider token to the library. The first relay that needs it signs a new
/// one every 45 minutes.
final class QueueToken: ProviderTokenSource, @unchecked Sendable {
  enum Need: String {
    case first, aged, refused

    init(_ request: apns_token_request_t) {
      self =
        switch UInt32(bitPattern: request.need) {
        case APNS_TOKEN_REFUSED.rawValue: .refused
        case APNS_TOKEN_AGED.rawValue: .aged
        default: .first
        }
    }
  }

  /// APNs accepts a token for an hour, and allows a new one only 20 minutes after the last.
  private static let lifetimeMS: Int64 = 45 * 60_000
  private static let soonestMS: Int64 = 20 * 60_000
  /// The time that a relay has for signing, before another takes over.
  private static let makingMS: Int64 = 5000

  private let privateKey: OpaquePointer
  private let key: String
  /// The key's name in the queue, with a fingerprint: a different key file under the same ID is
  /// another key.
  private let keyMark: String
  private let team: String
  private let queue: any ProviderTokenStore

  init(
    p8: String, key: String, team: String, passphrase: String? = nil, queue: any ProviderTokenStore
  ) throws {
    let lent = LentStrings()
    var options = apns_credentials_options_t()
    options.size = MemoryLayout<apns_credentials_options_t>.size
    options.token_key_file = lent.lend(p8)
    options.key_id = lent.lend(key)
    options.team_id = lent.lend(team)
    options.passphrase = lent.lend(passphrase)
    var error = apns_error_t()
    error.size = MemoryLayout<apns_error_t>.size
    let read = withExtendedLifetime(lent) { TokenKey.read(options, &error) }
    guard let read else {
      throw RelayFault(description: LibraryError(APNS_ERR_CREDENTIALS, error).message)
    }
    privateKey = read
    self.key = key
    keyMark = "\(key) \(Self.fingerprint(of: read))"
    self.team = team
    self.queue = queue
  }

  deinit { EVP_PKEY_free(privateKey) }

  @discardableResult
  func token(_ need: Need) throws -> (token: SharedToken, now: Int64) {
    let now = RelayClock.now
    // A refused token is replaced as soon as APNs allows a new one.
    let life = need == .refused ? Self.soonestMS : Self.lifetimeMS
    let token = try queue.providerToken(
      team: team, key: keyMark, madeAfter: now - life, at: now, within: Self.makingMS
    ) {
      SharedToken(text: try signed(at: now / 1000), made: now)
    }
    return (token, now)
  }

  /// The start of the public key's SHA-256 digest, in hex.
  private static func fingerprint(of key: OpaquePointer) -> String {
    var bytes: UnsafeMutablePointer<UInt8>?
    let count = i2d_PUBKEY(key, &bytes)
    defer { CRYPTO_free(bytes, nil, 0) }
    guard count > 0, let bytes else { return "" }
    var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    guard EVP_Digest(bytes, Int(count), &digest, nil, EVP_sha256(), nil) == 1 else { return "" }
    return digest.prefix(8).map { String(format: "%02x", $0) }.joined()
  }

  func tryToken() throws { try token(.first) }

  func answer(_ request: inout apns_token_request_t) -> CInt {
    do {
      let (token, now) = try token(Need(request))
      return request.give(token.text, renewAfterMS: token.made + Self.lifetimeMS - now)
    } catch {
      return request.fail("\(error)")
    }
  }

  /// A JSON Web Token, signed with ES256 (RFC 7518, 3.4).
  private func signed(at seconds: Int64) throws -> String {
    let head = Self.base64URL(Array("{\"alg\":\"ES256\",\"kid\":\"\(key)\"}".utf8))
    let claims = Self.base64URL(Array("{\"iss\":\"\(team)\",\"iat\":\(seconds)}".utf8))
    let message = Array("\(head).\(claims)".utf8)
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    var der = [UInt8](repeating: 0, count: 128)
    var length = der.count
    guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, privateKey) == 1,
      EVP_DigestSign(context, &der, &length, message, message.count) == 1
    else { throw RelayFault(description: "the provider token could not be signed") }
    guard let signature = Self.rawSignature(der.prefix(length)) else {
      throw RelayFault(description: "the provider token's signature is not valid DER")
    }
    return "\(head).\(claims).\(Self.base64URL(signature))"
  }

  /// Converts a DER signature to r and s with 32 bytes each.
  private static func rawSignature(_ der: ArraySlice<UInt8>) -> [UInt8]? {
    var rest = der.dropFirst(2)
    var out: [UInt8] = []
    for _ in 0..<2 {
      guard rest.first == 2, rest.count > 2 else { return nil }
      let count = Int(rest[rest.startIndex + 1])
      let number = rest.dropFirst(2).prefix(count).drop { $0 == 0 }
      guard number.count <= 32 else { return nil }
      out += [UInt8](repeating: 0, count: 32 - number.count) + number
      rest = rest.dropFirst(2 + count)
    }
    return out
  }

  private static func base64URL(_ bytes: [UInt8]) -> String {
    Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
      .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
  }
}
