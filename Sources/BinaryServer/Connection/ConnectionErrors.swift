import Logging
import NIOCore
import NIOSSL

/// Logs the errors that end connections.
package enum ConnectionErrors {
  /// True when the client closed its side without close_notify and may still read.
  package static func isHalfClose(_ error: any Error) -> Bool {
    if case .halfClose? = error as? OpenSSLServerError { return true }
    if case .uncleanShutdown? = error as? NIOSSLError { return true }
    return false
  }

  /// Logs the error. True when the handshake failed.
  package static func log(_ error: any Error, to logger: Logger) -> Bool {
    if case .handshake(let reason)? = error as? OpenSSLServerError {
      logger.notice("refused in the handshake: \(reason)")
      return true
    }
    switch error as? NIOSSLError {
    case .handshakeFailed(let reason)?:
      logger.notice("refused in the handshake: \(text(of: reason))")
      return true
    case _ where isHalfClose(error):
      logger.debug("the client left without close_notify")
    default:
      logger.debug("the connection broke: \(error)")
    }
    return false
  }

  /// BoringSSL's text without the place in its sources.
  private static func text(of error: BoringSSLError) -> String {
    guard case .sslError(let stack) = error, let first = stack.first else { return "\(error)" }
    let fields = "\(first)".split(separator: " at ")[0].split(separator: ":")
    return fields.last.map { $0.lowercased().replacing("_", with: " ") } ?? "\(error)"
  }
}
