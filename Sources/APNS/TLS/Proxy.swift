import CAPNS
import COpenSSL
import CSystem

/// An HTTP proxy between the provider and its gateway (RFC 9110, 9.3.6), and the provider's
/// credentials for it (RFC 7617).
struct Proxy: ~Copyable {
  /// NULL: no proxy.
  let host: UnsafeMutablePointer<CChar>?
  let port: UInt16
  /// "user:password" in base64 with a NUL, wiped at the end; NULL: the proxy asks for none.
  private let credentials: UnsafeMutablePointer<CChar>?

  @inline(never)
  static func make(
    _ host: UnsafePointer<CChar>?, port: UInt16, user: UnsafePointer<CChar>?,
    password: UnsafePointer<CChar>?
  ) throws(Failure) -> Proxy {
    guard let host else {
      if port == 0, user == nil, password == nil {
        return Proxy(host: nil, port: 0, credentials: nil)
      }
      throw Failure(APNS_ERR_ARGUMENT, "proxy_host is NULL, but other proxy options are set")
    }
    if host.pointee == 0 { throw Failure(APNS_ERR_ARGUMENT, "proxy_host is empty") }
    try Endpoint.refuseText(host, "proxy_host")
    if port == 0 { throw Failure(APNS_ERR_ARGUMENT, "proxy_port is 0") }
    if user == nil, password != nil {
      throw Failure(APNS_ERR_ARGUMENT, "proxy_password is given without proxy_user")
    }
    guard let copy = strdup(host) else { throw .outOfMemory }
    var credentials: UnsafeMutablePointer<CChar>?
    if let user {
      do throws(Failure) {
        credentials = try encode(user, password)
      } catch {
        free(copy)
        throw error
      }
    }
    return Proxy(host: copy, port: port, credentials: credentials)
  }

  private init(
    host: UnsafeMutablePointer<CChar>?, port: UInt16, credentials: UnsafeMutablePointer<CChar>?
  ) {
    (self.host, self.port, self.credentials) = (host, port, credentials)
  }

  deinit {
    free(host)
    if let credentials {
      OPENSSL_cleanse(credentials, strlen(credentials))
      free(credentials)
    }
  }

  @inline(never)
  private static func encode(
    _ user: UnsafePointer<CChar>, _ password: UnsafePointer<CChar>?
  ) throws(Failure) -> UnsafeMutablePointer<CChar> {
    let (userLength, passwordLength) = (strlen(user), password.map { strlen($0) } ?? 0)
    guard userLength &+ passwordLength <= 1024 else {
      throw Failure(APNS_ERR_ARGUMENT, "proxy_user and proxy_password are longer than 1024 bytes")
    }
    guard strchr(user, 0x3A) == nil else {
      throw Failure(APNS_ERR_ARGUMENT, "proxy_user has a colon in it")
    }
    let length = userLength &+ 1 &+ passwordLength
    let size = (length &+ 2) / 3 &* 4 &+ 1
    guard let plain = malloc(length) else { throw .outOfMemory }
    guard let text = malloc(size) else {
      free(plain)
      throw .outOfMemory
    }
    plain.copyMemory(from: user, byteCount: userLength)
    plain.storeBytes(of: 0x3A, toByteOffset: userLength, as: UInt8.self)
    if let password {
      (plain + userLength + 1).copyMemory(from: password, byteCount: passwordLength)
    }
    let encoded = text.bindMemory(to: UInt8.self, capacity: size)
    _ = EVP_EncodeBlock(
      encoded, plain.assumingMemoryBound(to: UInt8.self), CInt(truncatingIfNeeded: length))
    OPENSSL_cleanse(plain, length)
    free(plain)
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

/// A request while it is put together. What does not fit is left off.
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
    if isIPv6 { append(byte: 0x5B) }
    append(host)
    if isIPv6 { append(byte: 0x5D) }
    append(byte: 0x3A)
    var digits = Message()
    digits.append(Int(port))
    for index in 0..<digits.count { append(byte: digits.bytes[index]) }
  }
}
