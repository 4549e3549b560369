import NIOCore
import NIOSSL

/// Who a client is, by its handshake.
struct PeerIdentity {
  /// As the fault tls_min names it.
  var tls: String?
  /// Of its certificate.
  var subject: String?
  var topic: String?

  init(_ context: ChannelHandlerContext) {
    let pipeline = context.pipeline.syncOperations
    tls = pipeline.tlsBound?.rawValue
    guard let certificate = pipeline.peerCertificate else { return }
    topic = TopicRule.topic(of: certificate)
    subject = Certificate(certificate)?.subject.description
  }
}

extension Certificate {
  /// A peer's, to be looked at by OpenSSL.
  convenience init?(_ certificate: NIOSSLCertificate) {
    guard let der = try? certificate.toDERBytes() else { return nil }
    self.init(der: der)
  }
}
