import NIOSSL

/// Which versions of TLS the gateway speaks.
package enum TLSBound: String, Sendable, CaseIterable, Comparable {
  case tls1_0 = "1.0"
  case tls1_1 = "1.1"
  case tls1_2 = "1.2"
  case tls1_3 = "1.3"

  package static func < (one: TLSBound, other: TLSBound) -> Bool {
    one.rawValue < other.rawValue
  }

  fileprivate var version: TLSVersion {
    switch self {
    case .tls1_0: .tlsv1
    case .tls1_1: .tlsv11
    case .tls1_2: .tlsv12
    case .tls1_3: .tlsv13
    }
  }
}

enum GatewayTLS {
  /// Shows the server's certificate, demands one that the authority of the directory signed;
  /// in HTTP/2, where a provider token may stand for it, only where there is one.
  static func context(
    _ directory: CertificateDirectory, min: TLSBound, max: TLSBound,
    service: ConnectionFaults.Service = .binary
  ) throws(CertificateError) -> NIOSSLContext {
    do {
      var tls = TLSConfiguration.makeServerConfiguration(
        certificateChain: try NIOSSLCertificate.fromPEMFile(directory.server).map {
          .certificate($0)
        },
        privateKey: .privateKey(try NIOSSLPrivateKey(file: directory.serverKey, format: .pem)))
      tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(directory.ca))
      tls.certificateVerification =
        service == .http2 ? .optionalVerification : .noHostnameVerification
      if service == .http2 { tls.applicationProtocols = ["h2"] }
      tls.minimumTLSVersion = min.version
      tls.maximumTLSVersion = max.version
      // Once the peer has had its time, nothing is gained by waiting for its close_notify.
      tls.shutdownTimeout = .milliseconds(200)
      return try NIOSSLContext(configuration: tls)
    } catch {
      throw CertificateError(path: directory.path, message: "\(error)")
    }
  }
}
