import BinaryServer
import NIOCore
import NIOSSL

extension ChannelPipeline.SynchronousOperations {
  /// The client's certificate, whichever library speaks TLS with it.
  var peerCertificate: NIOSSLCertificate? {
    guard let openSSL else { return try? nioSSL_peerCertificate() }
    return openSSL.peerCertificate.flatMap { try? NIOSSLCertificate(bytes: $0, format: .der) }
  }

  var tlsBound: TLSBound? {
    if let openSSL { return openSSL.version }
    return switch try? nioSSL_tlsVersion() {
    case .tlsv1: .tls1_0
    case .tlsv11: .tls1_1
    case .tlsv12: .tls1_2
    case .tlsv13: .tls1_3
    case nil: nil
    }
  }
}
