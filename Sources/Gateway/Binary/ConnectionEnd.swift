import Logging
import NIOCore
import NIOSSL

/// How a connection ended that was not closed in order.
enum ConnectionEnd {
  /// True where the client has but closed its side without TLS's word for it.
  static func isHalf(_ error: any Error) -> Bool {
    if case .half? = error as? TicketTLSError { return true }
    if case .uncleanShutdown? = error as? NIOSSLError { return true }
    return false
  }

  /// Says so in the log; true where it never got past the handshake.
  static func log(_ error: any Error, to logger: Logger) -> Bool {
    if case .handshake(let reason)? = error as? TicketTLSError {
      logger.notice("refused in the handshake: \(reason)")
      return true
    }
    switch error as? NIOSSLError {
    case .handshakeFailed(let reason)?:
      logger.notice("refused in the handshake: \(words(of: reason))")
      return true
    case _ where isHalf(error):
      logger.debug("the client left without close_notify")
    default:
      logger.debug("the connection broke: \(error)")
    }
    return false
  }

  /// BoringSSL's own words, without where in its sources they stand.
  private static func words(of error: BoringSSLError) -> String {
    guard case .sslError(let stack) = error, let first = stack.first else { return "\(error)" }
    let fields = "\(first)".split(separator: " at ")[0].split(separator: ":")
    return fields.last.map { $0.lowercased().replacing("_", with: " ") } ?? "\(error)"
  }
}
