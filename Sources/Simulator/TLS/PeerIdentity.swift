import BinaryServer
import NIOCore

/// The identity of a client after its handshake.
struct PeerIdentity {
  let certificate: Certificate?
  /// The TLS version, such as "1.2".
  let tls: String?

  init(_ context: ChannelHandlerContext) {
    let handler = context.pipeline.syncOperations.openSSL
    certificate = handler?.peer
    tls = handler?.version?.rawValue
  }

  var subject: String? { certificate?.subject.description }
  var topic: String? { TopicRule.topic(of: certificate) }
}
