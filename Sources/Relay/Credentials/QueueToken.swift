import APNS
import Client
import CAPNS
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

  private let signer: TokenKey
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
    guard let signer = withExtendedLifetime(lent, { TokenKey(options, &error) }) else {
      throw RelayFault(LibraryError(APNS_ERR_CREDENTIALS, error).message)
    }
    self.signer = signer
    keyMark = "\(key) \((0..<8).map { signer.fingerprint[$0] }.hex)"
    self.team = team
    self.queue = queue
  }

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

  func tryToken() throws { try token(.first) }

  func answer(_ request: inout apns_token_request_t) -> CInt {
    do {
      let (token, now) = try token(Need(request))
      return request.give(token.text, renewAfterMS: token.made + Self.lifetimeMS - now)
    } catch {
      return request.fail("\(error)")
    }
  }

  private func signed(at seconds: Int64) throws -> String {
    var error = apns_error_t()
    error.size = MemoryLayout<apns_error_t>.size
    let text = String(unsafeUninitializedCapacity: TokenKey.capacity) {
      signer.write(at: seconds, to: $0.baseAddress!, &error)
    }
    if text.isEmpty {
      throw RelayFault(LibraryError(APNS_ERR_CREDENTIALS, error).message)
    }
    return text
  }
}
