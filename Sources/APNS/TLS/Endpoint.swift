import CAPNS
import CSystem

/// Where to connect to, how, and the name its certificate must carry.
struct Endpoint: ~Copyable {
  let host: UnsafeMutablePointer<CChar>
  let serverName: UnsafeMutablePointer<CChar>
  let port: UInt16
  private let proxy: Proxy
  private let keepAlive: KeepAlive
  /// HTTP/2 is offered to the peer (RFC 7301: ALPN), which must agree.
  let speaksHTTP2: Bool
  private let lookup: NameLookup

  /// Copies the names. `host` is the caller's or Apple's, and `orPort` the default for a port that the
  /// caller left out.
  init(
    _ peer: apns_peer_t, at host: UnsafePointer<CChar>, orPort: Int32, keepAlive: KeepAlive,
    speaksHTTP2: Bool = false
  ) throws(Failure) {
    let serverName = peer.server_name
    guard host.pointee != 0 else { throw Failure(APNS_ERR_ARGUMENT, "host is empty") }
    if let serverName, serverName.pointee == 0 {
      throw Failure(APNS_ERR_ARGUMENT, "server_name is empty")
    }
    // OpenSSL takes such a name for any host of the domain.
    if (serverName ?? host).pointee == 0x2E {
      // Declared as StaticString: a String would use memory that Swift allocates.
      let option: StaticString = serverName == nil ? "host" : "server_name"
      throw Failure(APNS_ERR_ARGUMENT) {
        $0.append(option)
        $0.append(" begins with a dot: ")
        $0.append(serverName ?? host)
      }
    }
    try Self.refuseText(host, "host")
    if let serverName { try Self.refuseText(serverName, "server_name") }
    let proxy = try Proxy.make(peer, to: host)
    let lookup = try NameLookup(peer.lookup, peer.lookup_context, addresses: peer.addresses)
    guard let copy = strdup(host) else { throw .outOfMemory }
    guard let name = strdup(serverName ?? host) else {
      free(copy)
      throw .outOfMemory
    }
    self.host = copy
    self.serverName = name
    port = peer.port == 0 ? UInt16(truncatingIfNeeded: orPort) : peer.port
    self.proxy = proxy
    self.keepAlive = keepAlive
    self.speaksHTTP2 = speaksHTTP2
    self.lookup = lookup
  }

  deinit {
    free(host)
    free(serverName)
  }

  /// A host's name is in logs and in many messages of applications.
  @inline(never)
  static func refuseText(
    _ name: UnsafePointer<CChar>, _ option: StaticString
  ) throws(Failure) {
    switch Unquoted(UnsafeRawBufferPointer(start: name, count: strlen(name))) {
    case .pem, .base64, .password: break
    case .lines, .length, nil: return
    }
    throw Failure(APNS_ERR_ARGUMENT) {
      $0.append(option)
      $0.append(" is not a name: ")
      $0.append(name)
    }
  }

  /// "gateway.example:2195" at the end of a message.
  @inline(never)
  func append(to message: inout Message) {
    message.append(host)
    message.append(":")
    message.append(Int(port))
  }

  /// "the proxy proxy.example:3128".
  @inline(never)
  func appendProxy(to message: inout Message) {
    message.append("the proxy ")
    message.append(proxy.host)
    message.append(":")
    message.append(Int(proxy.port))
  }

  /// " through the proxy proxy.example:3128", or the address if the host answered.
  @inline(never)
  func append(wayBy address: PeerAddress?, to message: inout Message) {
    if proxy.host != nil {
      message.append(" through ")
      appendProxy(to: &message)
    } else if let address {
      message.append(" at ")
      address.append(to: &message)
    }
  }

  /// True for Apple's hosts over the binary interface: nothing answers there any more.
  private var isSwitchedOff: Bool { !speaksHTTP2 && isApples }

  /// Apple's services over HTTP/2 refuse every request without a certificate or provider token.
  var needsIdentity: Bool { speaksHTTP2 && isApples }

  private var isApples: Bool { Self.isApples(host) || Self.isApples(serverName) }

  /// The name is push.apple.com or a subdomain, with or without the dot of the root.
  private static func isApples(_ name: UnsafePointer<CChar>) -> Bool {
    let domain: StaticString = "push.apple.com"
    var count = strlen(name)
    if count > 0, name[count &- 1] == 0x2E { count &-= 1 }
    let rest = count &- domain.utf8CodeUnitCount
    guard rest == 0 || rest > 0 && name[rest &- 1] == 0x2E else { return false }
    for index in 0..<domain.utf8CodeUnitCount {
      // A letter matches in either case. A dot matches only a dot.
      let byte = UInt8(bitPattern: name[rest &+ index])
      if byte != domain.utf8Start[index], byte | 0x20 != domain.utf8Start[index] || byte == 0x0E {
        return false
      }
    }
    return true
  }

  /// The name is one label before push.apple.com: the sandbox's have two.
  static func isProduction(_ name: UnsafePointer<CChar>) -> Bool {
    guard let dot = strchr(name, 0x2E) else { return false }
    return strlen(dot) <= 16 && isApples(dot + 1)
  }

  /// Adds what to try instead, if no connection is possible any more.
  @inline(never)
  func appendAdvice(to message: inout Message) {
    guard isSwitchedOff else { return }
    message.append("; Apple switched its binary interface off in 2021: set the option protocol to")
    message.append(" HTTP/2 (api.")
    // Declared as StaticString, as above.
    let sandbox: StaticString = strstr(host, "sandbox") == nil ? "" : "sandbox."
    message.append(sandbox)
    message.append("push.apple.com)")
  }

  /// The failure of a connection to this endpoint, with that advice.
  @inline(never)
  func explain(_ failure: Failure) -> Failure {
    guard isSwitchedOff else { return failure }
    return failure.saying { appendAdvice(to: &$0) }
  }

  /// Starts connecting to the endpoint, or to the proxy before it. `known` saves the name lookup;
  /// `preferred` is tried first.
  @inline(never)
  func dial(
    _ known: PeerAddress?, preferring preferred: PeerAddress?, by deadline: Deadline
  ) throws(Failure) -> Dialing {
    if let known { return Dialing(known, keepAlive: keepAlive, by: deadline) }
    let query = try lookup.begin(for: proxy.host ?? host, by: deadline)
    return try Dialing.begin(
      query, port: proxy.host == nil ? port : proxy.port, preferring: preferred,
      keepAlive: keepAlive, by: deadline)
  }

  /// The request for a tunnel through the proxy; nil if there is no proxy.
  func tunnel() throws(Failure) -> ProxyTunnel? {
    proxy.host == nil ? nil : try ProxyTunnel(request: proxy.request(to: host, port: port))
  }

  private func cause(unreachable systemError: CInt) -> apns_cause_t {
    switch systemError {
    // With these errors the machine ran out of something.
    case EMFILE, ENFILE, ENOMEM, ENOBUFS: return APNS_CAUSE_NONE
    default: if proxy.host != nil { return APNS_CAUSE_PROXY_UNREACHABLE }
    }
    switch systemError {
    case ECONNREFUSED: return APNS_CAUSE_CONNECTION_REFUSED
    case ENETUNREACH, EHOSTUNREACH, ENETDOWN: return APNS_CAUSE_UNREACHABLE
    case ETIMEDOUT: return APNS_CAUSE_CONNECT_TIMEOUT
    default: return APNS_CAUSE_CONNECTION_FAILED
    }
  }

  /// The failure when nothing answered there.
  @inline(never)
  func unreachable(_ systemError: CInt) -> Failure {
    Failure(
      systemError == ETIMEDOUT ? APNS_ERR_TIMEOUT : APNS_ERR_NETWORK, systemError: systemError,
      cause: cause(unreachable: systemError)
    ) {
      $0.append("cannot connect to ")
      if proxy.host == nil { append(to: &$0) } else { appendProxy(to: &$0) }
    }
  }
}
