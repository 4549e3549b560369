import COpenSSL
import CSystem

/// An SSL that represents a session in code that only knows SSLs. It has no connection: its BIO can
/// neither read nor write, so OpenSSL's own functions fail.
struct SessionSSL: ~Copyable {
  let ssl: OpaquePointer
  private let method: OpaquePointer
  private let link: UnsafeMutablePointer<Link>

  /// What the BIO points to.
  private struct Link {
    /// Different for another copy of the library in the same process.
    var copy: UnsafePointer<UInt8>
    var session: OpaquePointer
  }

  private static var name: StaticString { "apns session" }

  /// Its SSL_CTX has no key: it would keep the key of credentials that the session no longer uses.
  init(of session: OpaquePointer) throws(Failure) {
    let name = Self.name.utf8Start
    guard
      let link = malloc(MemoryLayout<Link>.size)?.bindMemory(to: Link.self, capacity: 1)
    else { throw .outOfMemory }
    link.initialize(to: Link(copy: name, session: session))
    TLSErrors.clear()
    let context = SSL_CTX_new(TLS_client_method())
    let ssl = context.flatMap { SSL_new($0) }
    // The SSL is its user from now on.
    SSL_CTX_free(context)
    let method = BIO_meth_new(
      BIO_TYPE_SOURCE_SINK | 0x7E, UnsafeRawPointer(name).assumingMemoryBound(to: CChar.self))
    let bio = method.flatMap { BIO_new($0) }
    guard let ssl, let method, let bio else {
      BIO_free(bio)
      BIO_meth_free(method)
      SSL_free(ssl)
      free(link)
      throw .outOfMemory
    }
    BIO_set_data(bio, link)
    BIO_set_init(bio, 1)
    SSL_set_bio(ssl, bio, bio)
    self.ssl = ssl
    self.method = method
    self.link = link
  }

  deinit {
    SSL_free(ssl)
    BIO_meth_free(method)
    free(link)
  }

  /// The session that an SSL represents; nil if the SSL is the application's own.
  static func session(of ssl: OpaquePointer) -> OpaquePointer? {
    guard let bio = SSL_get_rbio(ssl), BIO_method_type(bio) == BIO_TYPE_SOURCE_SINK | 0x7E,
      let name = BIO_method_name(bio),
      strcmp(name, UnsafeRawPointer(Self.name.utf8Start).assumingMemoryBound(to: CChar.self)) == 0,
      let link = BIO_get_data(bio)?.assumingMemoryBound(to: Link.self),
      link.pointee.copy == Self.name.utf8Start
    else { return nil }
    return link.pointee.session
  }
}
