import APNS
import COpenSSL
import Foundation

/// A client's TLS: version 1.2 or later, and the server's certificate must match its name.
package struct ClientTLS: Equatable, Sendable {
  /// The CA certificates in PEM; nil for the system's trust store.
  package var ca: String?
  /// The client certificate with its chain in PEM; nil for none.
  package var certificate: String?
  /// nil if the key is in the certificate's file.
  package var key: String?
  /// The name in the server's certificate; nil for the host name in the address.
  package var serverName: String?

  /// Creates the TLS connection before the handshake. Reads the files each time, so that a renewed
  /// certificate applies to the next connection.
  func open(_ descriptor: CInt, to host: String) throws(RelayFault) -> OpaquePointer {
    ERR_clear_error()
    guard let context = SSL_CTX_new(TLS_client_method()) else { throw Self.fault("OpenSSL") }
    // The connection keeps a reference.
    defer { SSL_CTX_free(context) }
    guard copenssl_set_min_version(context, TLS1_2_VERSION) == 1,
      copenssl_forbid_tickets(context) == 1
    else { throw Self.fault("OpenSSL") }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
    // A key with a passphrase is an error: OpenSSL must not prompt on the terminal.
    SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in -1 }
    if let ca {
      guard SSL_CTX_load_verify_locations(context, ca, nil) == 1 else { throw Self.fault(ca) }
    } else {
      switch SystemTrust.add(to: context) {
      case .found: break
      case .noMemory: throw Self.fault("the system's trust store")
      case .nothing:
        throw RelayFault(
          "no CA certificates found on this system: install ca-certificates or set ca")
      }
    }
    if let certificate {
      let key = key ?? certificate
      guard SSL_CTX_use_certificate_chain_file(context, certificate) == 1 else {
        throw Self.fault(certificate)
      }
      guard SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1 else {
        throw Self.fault(key)
      }
    }
    guard let ssl = SSL_new(context) else { throw Self.fault("OpenSSL") }
    copenssl_set_write_mode(ssl)
    let name = serverName ?? host
    let parameters = SSL_get0_param(ssl)
    let isNamed: Bool
    if Self.isAddress(name) {
      isNamed = X509_VERIFY_PARAM_set1_ip_asc(parameters, name) == 1
    } else {
      X509_VERIFY_PARAM_set_hostflags(
        parameters, CUnsignedInt(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
      isNamed =
        X509_VERIFY_PARAM_set1_host(parameters, name, name.utf8.count) == 1
        && copenssl_set_server_name(ssl, name) == 1
    }
    guard isNamed, SSL_set_fd(ssl, descriptor) == 1 else {
      SSL_free(ssl)
      throw Self.fault("OpenSSL")
    }
    return ssl
  }

  static func isAddress(_ name: String) -> Bool {
    var room = in6_addr()
    return inet_pton(AF_INET, name, &room) == 1 || inet_pton(AF_INET6, name, &room) == 1
  }

  private static func fault(_ what: String) -> RelayFault {
    RelayFault("\(what): \(reason ?? "it cannot be used")")
  }

  /// The first error in OpenSSL's queue.
  static var reason: String? {
    let code = ERR_get_error()
    ERR_clear_error()
    guard code != 0 else { return nil }
    if copenssl_is_not_tls(code) != 0 { return "the server does not speak TLS" }
    if copenssl_is_end_without_close(code) != 0 { return "it closed the connection" }
    if copenssl_is_no_more_pem(code) != 0 { return "contains no matching PEM block" }
    return ERR_reason_error_string(code).map { String(cString: $0) } ?? "error \(code) of OpenSSL"
  }
}
