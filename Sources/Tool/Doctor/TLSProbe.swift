import BinaryServer
import COpenSSL
import Client
import Glibc

/// Probes a service's TLS as a client that accepts any version and any certificate, has no
/// certificate, and sends no data. The library is too strict for that.
struct TLSProbe {
  /// The service's first bytes, unencrypted.
  var hello = HelloBytes()
  /// The service's certificate, then its chain.
  var certificates: [Certificate] = []
  var application: String?

  /// Waits at most for the peer's connect timeout.
  static func take(_ place: ServicePlace, peer: Peer, isHTTP2: Bool) -> TLSProbe {
    var probe = TLSProbe()
    let proxy = peer.proxyAddress
    let socket = try? TimedSocket.connect(
      host: proxy?.host ?? place.host, port: proxy?.port ?? place.port,
      seconds: Double(peer.connectTimeoutMS) / 1000)
    guard let socket else { return probe }
    if let proxy {
      let handshake = ProxyHandshake(to: place, user: proxy.user, password: proxy.password)
      guard handshake.isGranted(by: socket) else { return probe }
    }
    defer { ERR_clear_error() }
    guard let context = SSL_CTX_new(TLS_client_method()) else { return probe }
    defer { SSL_CTX_free(context) }
    // The connection carries no data worth protecting.
    guard SSL_CTX_set_cipher_list(context, "DEFAULT:@SECLEVEL=0") == 1,
      copenssl_set_min_version(context, TLS1_VERSION) == 1, let ssl = SSL_new(context)
    else { return probe }
    defer { SSL_free(ssl) }
    guard let incoming = BIO_new(BIO_s_mem()), let outgoing = BIO_new(BIO_s_mem()) else {
      return probe
    }
    SSL_set_bio(ssl, incoming, outgoing)
    SSL_set_connect_state(ssl)
    if isHTTP2, copenssl_offer_http2(ssl) == 0 { return probe }
    if !isAddress(place.serverName) { _ = copenssl_set_server_name(ssl, place.serverName) }
    probe.shakeHands(ssl, incoming, outgoing, socket)
    let chain = SSL_get_peer_cert_chain(ssl)
    probe.certificates = (0..<copenssl_certificate_count(chain)).compactMap {
      guard let certificate = copenssl_certificate(chain, $0) else { return nil }
      X509_up_ref(certificate)
      return Certificate(certificate)
    }
    if copenssl_has_http2(ssl) == 1 { probe.application = "h2" }
    return probe
  }

  private mutating func shakeHands(
    _ ssl: OpaquePointer, _ incoming: OpaquePointer, _ outgoing: OpaquePointer,
    _ socket: borrowing TimedSocket
  ) {
    while true {
      ERR_clear_error()
      let result = SSL_do_handshake(ssl)
      let isWaiting = result != 1 && SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ
      if result == 1 { SSL_shutdown(ssl) }
      var words = [UInt8](repeating: 0, count: BIO_ctrl_pending(outgoing))
      if BIO_read(outgoing, &words, CInt(words.count)) > 0 { socket.send(words) }
      guard isWaiting else { return }
      let answer = socket.read()
      if answer.isEmpty { return }
      hello.add(answer)
      guard BIO_write(incoming, answer, CInt(answer.count)) == answer.count else { return }
    }
  }

  /// SNI does not allow addresses.
  private static func isAddress(_ name: String) -> Bool {
    var room = in6_addr()
    return inet_pton(AF_INET, name, &room) == 1 || inet_pton(AF_INET6, name, &room) == 1
  }
}
