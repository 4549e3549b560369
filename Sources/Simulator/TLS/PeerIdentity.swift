import BinaryServer
import NIOCore
import NIOSSL

/// Who a client is, according to its handshake.
struct PeerIdentity {
  /// The version of TLS: "1.2".
  var tls: String?
  /// The subject of its certificate.
  var subject: String?
  /// The topic in its certificate.
  var topic: String?

  init(_ context: ChannelHandlerContext) {
    let pipeline = context.pipeline.syncOperations
    tls = pipeline.tlsBound?.rawValue
    guard let certificate = pipeline.peerCertificate.flatMap({ Certificate($0) }) else { return }
    topic = certificate.subject.userIdentifier
    subject = certificate.subject.description
  }
}

extension Certificate {
  /// Reads a certificate that NIO holds with OpenSSL.
  convenience init?(_ certificate: NIOSSLCertificate) {
    guard let der = try? certificate.toDERBytes() else { return nil }
    self.init(der: der)
  }
}
