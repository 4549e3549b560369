import CAPNS
import COpenSSL
import Foundation
import Glibc
import Testing

@testable import APNS

/// A key like Apple's, made for the test.
private final class SigningKey: @unchecked Sendable {
  let key: OpaquePointer
  let pem: [UInt8]

  init() {
    let context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil)
    defer { EVP_PKEY_CTX_free(context) }
    var made: OpaquePointer?
    precondition(EVP_PKEY_keygen_init(context) == 1)
    precondition(EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1)
    precondition(EVP_PKEY_keygen(context, &made) == 1)
    key = made!
    let bio = BIO_new(BIO_s_mem())
    defer { BIO_free(bio) }
    precondition(PEM_write_bio_PKCS8PrivateKey(bio, key, nil, nil, 0, nil, nil) == 1)
    var start: UnsafeMutablePointer<CChar>?
    let count = copenssl_written(bio, &start)
    pem = (0..<count).map { UInt8(bitPattern: start![$0]) }
  }

  deinit { EVP_PKEY_free(key) }

  /// OpenSSL's verification, with the public key alone.
  func verifies(_ signature: [UInt8], of bytes: [UInt8]) -> Bool {
    guard signature.count == 64 else { return false }
    let made = ECDSA_SIG_new()
    defer { ECDSA_SIG_free(made) }
    guard
      ECDSA_SIG_set0(
        made, BN_bin2bn(Array(signature[..<32]), 32, nil),
        BN_bin2bn(Array(signature[32...]), 32, nil))
        == 1
    else { return false }
    var der: UnsafeMutablePointer<UInt8>?
    let length = i2d_ECDSA_SIG(made, &der)
    defer { copenssl_free(der) }
    var encoded: UnsafeMutablePointer<UInt8>?
    let encodedLength = i2d_PUBKEY(key, &encoded)
    defer { copenssl_free(encoded) }
    var next = UnsafePointer(encoded)
    let publicKey = d2i_PUBKEY(nil, &next, Int(encodedLength))
    defer { EVP_PKEY_free(publicKey) }
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, publicKey) == 1
      && EVP_DigestVerify(context, der, Int(length), bytes, bytes.count) == 1
  }
}

/// Credentials with only this key.
private func token(of key: SigningKey) throws -> ProviderToken {
  let pem = UnsafeMutableRawBufferPointer.allocate(byteCount: key.pem.count, alignment: 1)
  pem.copyBytes(from: key.pem)
  let (keyID, teamID, off) = (strdup("ABC123DEFG")!, strdup("DEF123GHIJ")!, strdup("off")!)
  // Wiped before they are freed: they are valid only during the call.
  defer {
    memset(pem.baseAddress!, 0x78, pem.count)
    memset(keyID, 0x78, 10)
    memset(teamID, 0x78, 10)
    pem.deallocate()
    free(keyID)
    free(teamID)
    free(off)
  }
  var options = apns_credentials_options_t()
  options.token_key_bytes = UnsafeRawPointer(pem.baseAddress)
  options.token_key_length = pem.count
  options.key_id = UnsafePointer(keyID)
  options.team_id = UnsafePointer(teamID)
  options.token_cache_file = UnsafePointer(off)
  if let made = try ProviderToken(options) { return made }
  throw CancellationError()
}

private func decode(_ part: Substring) throws -> [UInt8] {
  #expect(!part.contains { "+/=".contains($0) })
  let standard = part.replacing("-", with: "+").replacing("_", with: "/")
  let padded = standard + String(repeating: "=", count: (4 - standard.count % 4) % 4)
  return Array(try #require(Data(base64Encoded: String(padded))))
}

private func authorization(_ text: borrowing BearerText) -> String {
  String(decoding: text.authorization, as: UTF8.self)
}

@Suite struct ProviderTokenTests {
  private let key = SigningKey()
  private func time(_ seconds: Int64) -> TokenTime {
    TokenTime(unix: 1_700_000_000 + seconds, monotonic: 50 + seconds)
  }

  /// Repeated often, because a number that begins with zeros occurs only once in 128 signatures.
  @Test func everyTokenIsValidForAPNs() throws {
    let token = try token(of: key)
    var text = try BearerText()
    #expect(text.generation == 0)
    #expect(text.authorization.count == 0)
    var seen: Set<String> = []
    for round in 0..<Int64(600) {
      let now = time(round * 3600)
      try token.update(&text, at: now)
      #expect(text.generation == UInt32(round) + 1)
      let header = authorization(text)
      #expect(header.hasPrefix("bearer "))
      let parts = header.dropFirst(7).split(separator: ".", omittingEmptySubsequences: false)
      try #require(parts.count == 3)
      let head =
        try JSONSerialization.jsonObject(with: Data(try decode(parts[0]))) as? [String: String]
      #expect(head == ["alg": "ES256", "kid": "ABC123DEFG"])
      let claims =
        try JSONSerialization.jsonObject(with: Data(try decode(parts[1]))) as? [String: Any]
      #expect(claims?.count == 2)
      #expect(claims?["iss"] as? String == "DEF123GHIJ")
      #expect(claims?["iat"] as? Int64 == now.unix)
      let signature = try decode(parts[2])
      #expect(signature.count == 64)
      let signed = Array((parts[0] + "." + parts[1]).utf8)
      #expect(key.verifies(signature, of: signed))
      #expect(!key.verifies(signature, of: signed.dropLast() + [0x21]))
      #expect(seen.insert(header).inserted)
    }
  }

  @Test func anyTime() throws {
    for unix in [Int64.min, -1, 0, .max] {
      let token = try token(of: key)
      var text = try BearerText()
      try token.update(&text, at: TokenTime(unix: unix, monotonic: 0))
      let parts = authorization(text).split(separator: ".")
      #expect(String(decoding: try decode(parts[1]), as: UTF8.self).hasSuffix("\"iat\":\(unix)}"))
      #expect(text.authorization.count <= TokenSigner.capacity)
    }
  }

  @Test func theCurrentTime() throws {
    let token = try token(of: key)
    var text = try BearerText()
    // Not Date(), because time() may be a tick behind it.
    let before = Int64(Glibc.time(nil))
    try token.update(&text, at: .now)
    let claims = try decode(authorization(text).split(separator: ".")[1])
    let object = try JSONSerialization.jsonObject(with: Data(claims)) as? [String: Any]
    let made = try #require(object?["iat"] as? Int64)
    #expect((before...Int64(Glibc.time(nil))).contains(made))
  }

  @Test func oneTokenServesAllSessions() throws {
    let first = try token(of: key)
    let second = ProviderToken(sharing: first)
    var one = try BearerText()
    var other = try BearerText()
    try first.update(&one, at: time(0))
    try second.update(&other, at: time(9))
    #expect(authorization(one) == authorization(other))
    #expect(other.generation == 1)
    try first.update(&one, at: time(2699))
    #expect(one.generation == 1)
    // The first session gets a rejection; the other refreshes its token without one.
    #expect(try first.replace(&one, refused: 1, at: time(2699)))
    #expect(one.generation == 2)
    #expect(authorization(one) != authorization(other))
    try second.update(&other, at: time(2699))
    #expect(authorization(one) == authorization(other))
    // Both get a rejection of the same token.
    #expect(try second.replace(&other, refused: 1, at: time(2700)))
    #expect(other.generation == 2)
    #expect(authorization(one) == authorization(other))
  }

  @Test func earlyReplacementsAreLimited() throws {
    let token = try token(of: key)
    var text = try BearerText()
    try token.update(&text, at: time(0))
    #expect(try token.replace(&text, refused: 1, at: time(1)))
    #expect(try !token.replace(&text, refused: 2, at: time(2)))
    #expect(text.generation == 2)
    #expect(try token.replace(&text, refused: 2, at: time(1201)))
    #expect(text.generation == 3)
  }

  /// The source that was made first may be freed already.
  @Test func theLastUserKeepsIt() throws {
    var text = try BearerText()
    var second = try token(of: key)
    second = ProviderToken(sharing: second)
    try second.update(&text, at: time(0))
    #expect(text.generation == 1)
    #expect(String(cString: second.keyID!) == "ABC123DEFG")
    #expect(String(cString: second.teamID!) == "DEF123GHIJ")
  }

  /// A process forks while another thread holds the lock. In the child the lock is held and
  /// that thread does not exist.
  @Test func aChildDoesNotWaitForAThreadOfItsParent() throws {
    let token = try token(of: key)
    var text = try BearerText()
    try token.update(&text, at: time(0))
    token.numbers[ProviderToken.holder] = UInt32(bitPattern: getpid()) &+ 1
    #expect(try token.replace(&text, refused: 1, at: time(1)))
    #expect(text.generation == 2)
    #expect(token.numbers[ProviderToken.holder] == 0)
    // The other thread's work may be incomplete, so it is discarded.
    token.numbers[ProviderToken.holder] = UInt32(bitPattern: getpid()) &+ 1
    var other = try BearerText()
    try token.update(&other, at: time(2))
    #expect(other.generation == 3)
  }

  /// All threads get the rejection together. One new token serves them all, and it is signed once
  /// per round.
  @Test func threads() throws {
    let (threads, rounds) = (8, Int64(200))
    let token = try token(of: key)
    let shared = SharedByThreads(threads)
    let group = DispatchGroup()
    for _ in 0..<threads {
      let own = Handle(token: ProviderToken(sharing: token))
      group.enter()
      Thread.detachNewThread {
        for round in 0..<rounds {
          let now = TokenTime(unix: 1_700_000_000 + round * 1300, monotonic: round * 1300)
          shared.meet()
          do {
            try own.token.update(&own.text, at: now)
            let (refused, before) = (own.text.generation, authorization(own.text))
            shared.meet()
            let isOther = try own.token.replace(&own.text, refused: refused, at: now)
            let after = authorization(own.text)
            shared.note(refused, before)
            shared.note(own.text.generation, after)
            if !isOther || own.text.generation != refused + 1 { shared.fail() }
          } catch {
            shared.fail()
          }
        }
        group.leave()
      }
    }
    group.wait()
    #expect(shared.failures == 0)
    // Each generation has one text, the same in every thread.
    #expect(shared.texts.count == Int(rounds) + 1)
    #expect(shared.texts.values.allSatisfy { $0.count == 1 })
    let text = try #require(shared.texts[UInt32(rounds) + 1]?.first)
    let parts = text.dropFirst(7).split(separator: ".")
    #expect(key.verifies(try decode(parts[2]), of: Array((parts[0] + "." + parts[1]).utf8)))
  }
}

private final class SharedByThreads: @unchecked Sendable {
  private let lock = NSLock()
  private let barrier = UnsafeMutablePointer<pthread_barrier_t>.allocate(capacity: 1)
  private(set) var texts: [UInt32: Set<String>] = [:]
  private(set) var failures = 0

  init(_ threads: Int) { pthread_barrier_init(barrier, nil, UInt32(threads)) }
  deinit {
    pthread_barrier_destroy(barrier)
    barrier.deallocate()
  }

  func meet() { pthread_barrier_wait(barrier) }
  func note(_ generation: UInt32, _ text: String) {
    lock.withLock { _ = texts[generation, default: []].insert(text) }
  }
  func fail() { lock.withLock { failures += 1 } }
}

private final class Handle: @unchecked Sendable {
  let token: ProviderToken
  var text = try! BearerText()
  init(token: consuming ProviderToken) { self.token = token }
}
