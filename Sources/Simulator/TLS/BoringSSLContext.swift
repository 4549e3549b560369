import BinaryServer
import NIOSSL

extension ServerTLS {
  /// For NIO's TLS, which is BoringSSL's.
  func boringSSLContext() throws -> NIOSSLContext {
    var tls = TLSConfiguration.makeServerConfiguration(
      certificateChain: try NIOSSLCertificate.fromPEMFile(certificateFile).map { .certificate($0) },
      privateKey: .privateKey(try NIOSSLPrivateKey(file: keyFile, format: .pem)))
    if let clientAuthorityFile {
      tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(clientAuthorityFile))
    }
    switch clientCertificate {
    case .required: tls.certificateVerification = .noHostnameVerification
    case .optional: tls.certificateVerification = .optionalVerification
    case .unverified: tls.certificateVerification = .none
    }
    tls.applicationProtocols = applicationProtocols
    tls.minimumTLSVersion = min.version
    tls.maximumTLSVersion = max.version
    // The peer had its time to close by then. Waiting for its close_notify gains nothing.
    tls.shutdownTimeout = .milliseconds(200)
    return try NIOSSLContext(configuration: tls)
  }
}

extension TLSBound {
  fileprivate var version: TLSVersion {
    switch self {
    case .tls1_0: .tlsv1
    case .tls1_1: .tlsv11
    case .tls1_2: .tlsv12
    case .tls1_3: .tlsv13
    }
  }
}
