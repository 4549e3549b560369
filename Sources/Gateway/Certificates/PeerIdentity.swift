import NIOCore
import NIOSSL
import X509

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
    if let der = try? certificate.toDERBytes(), let whole = try? Certificate(derEncoded: der) {
      subject = Self.text(of: whole.subject)
    }
  }

  /// As RFC 4514 has it, where a UID is called so.
  private static func text(of subject: DistinguishedName) -> String {
    let text = ",\(subject)"
    return String(text.replacing(",0.9.2342.19200300.100.1.1=", with: ",UID=").dropFirst())
  }
}
