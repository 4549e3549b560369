import Foundation

/// A queue in Redis.
struct RedisLocation: QueueLocation {
  static let engine = "Redis"
  static let key = "redis.url"
  static let options: [RelayOption<Self>] = [
    .section("redis", \.self, keys, check: { try $0.check($1) })
  ]

  private static let keys: [RelayOption<Self>] = [
    .value(
      "url", \.url,
      "instead of file: redis://user:password@host:port/0, redis+cluster://…, unix:/path",
      shown: { OptionText.quoted($0.map(RedisAddress.shown)) }
    ) { section, key, _ in try section.text(key) },
    .file("password_file", \.passwordFile, "its first line is the password"),
    .section("tls", \.tls, tlsKeys) { tls, section in
      guard tls.key == nil || tls.certificate != nil else {
        throw section.fault("key", "is set without a certificate")
      }
    },
  ]

  private static let tlsKeys: [RelayOption<ClientTLS>] = [
    .file(
      "ca", \.ca, "for rediss://: CA certificates in PEM; default: the system's trust store"),
    .file("certificate", \.certificate, "the relay's client certificate in PEM"),
    .file("key", \.key, "default: in the certificate's file"),
    .text("server_name", \.serverName, "the name in the server's certificate; default: host"),
  ]

  /// The URL as it is written, perhaps with a password; nil for no queue.
  var url: String?
  var passwordFile: String?
  /// Used if the URL requires TLS.
  var tls = ClientTLS()

  init() {}
  init(_ text: String) { url = text }
  static func isOne(_ text: String) -> Bool { RedisAddress.isOne(text) }
  var isNamed: Bool { url != nil }
  var name: String { url.flatMap { try? RedisAddress($0).name } ?? "redis" }

  private func check(_ section: ConfigurationSection) throws {
    guard let url else {
      if passwordFile != nil { throw section.fault("password_file", "is set without url") }
      if tls != ClientTLS() { throw section.fault("tls", "is set without url") }
      return
    }
    let address: RedisAddress
    do throws(RelayFault) {
      address = try RedisAddress(url)
    } catch {
      throw section.fault("url", error.description)
    }
    if address.password != nil, passwordFile != nil {
      throw section.fault("password_file", "url has a password too: give one")
    }
    if tls != ClientTLS(), address.tls == nil {
      throw section.fault("tls", "needs a url that begins with rediss://")
    }
  }

  /// The keys of such an app would share no hash tag.
  func fault(ofApp name: String) -> String? {
    guard name.hasPrefix("}"), let url, case .cluster? = (try? RedisAddress(url))?.place else {
      return nil
    }
    return "begins with }, so a Redis Cluster would not keep its keys together"
  }

  /// Redis has its own setting for what a change survives.
  func open(_: QueueSync) throws -> any QueueEngine { try RedisQueue(address()) }
  func openForReading() throws -> any QueueReading { try RedisQueue(reading: address()) }

  private func address() throws -> RedisAddress {
    var address: RedisAddress
    do throws(RelayFault) {
      address = try RedisAddress(url ?? "")
    } catch {
      throw RelayFault("queue.redis.url: \(error)")
    }
    if address.tls != nil { address.tls = tls }
    if let file = passwordFile {
      guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
        throw RelayFault("\(file): cannot be read")
      }
      address.password = text.split(whereSeparator: \.isNewline).first.map(String.init)
      if address.password == nil { throw RelayFault("\(file): is empty") }
    }
    return address
  }
}
