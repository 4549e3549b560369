import CAPNS
import COpenSSL
import CSystem

/// An HTTP proxy between the provider and its gateway (RFC 9110, 9.3.6), and the provider's
/// credentials for it (RFC 7617).
struct Proxy: ~Copyable {
  /// NULL: no proxy.
  let host: UnsafeMutablePointer<CChar>?
  let port: UInt16
  /// "user:password" in base64 with a NUL, wiped at the end; NULL: none.
  private let credentials: UnsafeMutablePointer<CChar>?

  /// The proxy of the options, or else the environment's for the host, if that counts.
  @inline(never)
  static func make(
    _ peer: apns_peer_t, to host: UnsafePointer<CChar>
  ) throws(Failure) -> Proxy {
    if let text = peer.proxy { return try Proxy(ProxyURL(text, "proxy")) }
    // `addresses` are the host's; a proxy from the environment has others.
    if peer.proxy_from_environment != 0, peer.addresses == nil,
      let found = EnvironmentProxy.proxy(for: host)
    {
      return try Proxy(ProxyURL(found.text, found.name))
    }
    return Proxy()
  }

  private init() { (host, port, credentials) = (nil, 0, nil) }

  private init(_ url: ProxyURL) throws(Failure) {
    let credentials = try Self.encode(url.credentials())
    guard let copy = malloc(url.host.count &+ 1)?.assumingMemoryBound(to: CChar.self) else {
      if let credentials { Self.drop(credentials) }
      throw .outOfMemory
    }
    UnsafeMutableRawBufferPointer(start: copy, count: url.host.count).copyMemory(from: url.host)
    copy[url.host.count] = 0
    (host, port, self.credentials) = (copy, url.port, credentials)
  }

  deinit {
    free(host)
    if let credentials { Self.drop(credentials) }
  }

  private static func drop(_ credentials: UnsafeMutablePointer<CChar>) {
    OPENSSL_cleanse(credentials, strlen(credentials))
    free(credentials)
  }

  /// In base64, with a NUL; nil without credentials.
  @inline(never)
  private static func encode(
    _ plain: consuming WipedBytes?
  ) throws(Failure) -> UnsafeMutablePointer<CChar>? {
    guard let plain else { return nil }
    let size = (plain.count &+ 2) / 3 &* 4 &+ 1
    guard let text = malloc(size) else { throw .outOfMemory }
    _ = EVP_EncodeBlock(
      text.bindMemory(to: UInt8.self, capacity: size),
      plain.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
      CInt(truncatingIfNeeded: plain.count))
    return text.assumingMemoryBound(to: CChar.self)
  }

  /// The request for a tunnel to a host, in memory that the caller wipes and frees.
  func request(
    to host: UnsafePointer<CChar>, port: UInt16
  ) throws(Failure) -> UnsafeMutableRawBufferPointer {
    for index in 0..<strlen(host) where host[index] <= 0x20 || host[index] == 0x7F {
      throw Failure(
        APNS_ERR_ARGUMENT,
        "host has a space or a control character, which a proxy cannot be asked for")
    }
    let room = 256 &+ 2 &* strlen(host) &+ (credentials.map { strlen($0) } ?? 0)
    guard let memory = malloc(room) else { throw .outOfMemory }
    var text = RequestText(UnsafeMutableRawBufferPointer(start: memory, count: room))
    text.append("CONNECT ")
    text.append(host, port)
    text.append(" HTTP/1.1\r\nHost: ")
    text.append(host, port)
    if let credentials {
      text.append("\r\nProxy-Authorization: Basic ")
      text.append(credentials)
    }
    text.append("\r\n\r\n")
    return UnsafeMutableRawBufferPointer(start: memory, count: text.count)
  }
}

/// A request being built. Text that does not fit is left off.
private struct RequestText {
  private let room: UnsafeMutableRawBufferPointer
  private(set) var count = 0

  init(_ room: UnsafeMutableRawBufferPointer) { self.room = room }

  @inline(never)
  mutating func append(byte: UInt8) {
    guard count < room.count else { return }
    room[count] = byte
    count &+= 1
  }

  @inline(never)
  mutating func append(_ text: StaticString) {
    for index in 0..<text.utf8CodeUnitCount { append(byte: text.utf8Start[index]) }
  }

  @inline(never)
  mutating func append(_ text: UnsafePointer<CChar>) {
    for index in 0..<strlen(text) { append(byte: UInt8(bitPattern: text[index])) }
  }

  /// "host:port"; an IPv6 address goes into brackets (RFC 3986, 3.2.2).
  @inline(never)
  mutating func append(_ host: UnsafePointer<CChar>, _ port: UInt16) {
    let isIPv6 = strchr(host, 0x3A) != nil
    if isIPv6 { append(byte: UInt8(ascii: "[")) }
    append(host)
    if isIPv6 { append(byte: UInt8(ascii: "]")) }
    append(byte: UInt8(ascii: ":"))
    var digits = Message()
    digits.append(Int(port))
    for index in 0..<digits.count { append(byte: digits.bytes[index]) }
  }
}
