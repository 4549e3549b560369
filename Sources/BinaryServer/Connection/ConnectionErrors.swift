import Logging
import NIOCore

/// Logs the errors that end connections.
package enum ConnectionErrors {
  /// True if the client half-closed without close_notify, and may still read.
  package static func isHalfClose(_ error: any Error) -> Bool {
    if case .halfClose? = error as? ServerTLSError { return true }
    return false
  }

  /// Logs the error. True if the handshake failed.
  package static func log(_ error: any Error, to logger: Logger) -> Bool {
    switch error as? ServerTLSError {
    case .handshake(let reason)?:
      logger.notice("refused in the handshake: \(reason)")
      return true
    case .halfClose?:
      logger.debug("the client closed without close_notify")
    default:
      logger.debug("the connection broke: \(error)")
    }
    return false
  }
}
