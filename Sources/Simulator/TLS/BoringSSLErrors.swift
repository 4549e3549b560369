import BinaryServer
import NIOCore
import NIOSSL

/// Right behind NIO's TLS: tells its errors as the server's own TLS does.
final class BoringSSLErrors: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch error as? NIOSSLError {
    case .handshakeFailed(let reason)?:
      context.fireErrorCaught(ServerTLSError.handshake(Self.text(of: reason)))
    case .uncleanShutdown?: context.fireErrorCaught(ServerTLSError.halfClose)
    default: context.fireErrorCaught(error)
    }
  }

  /// BoringSSL's text without the place in its sources.
  private static func text(of error: BoringSSLError) -> String {
    guard case .sslError(let stack) = error, let first = stack.first else { return "\(error)" }
    let fields = "\(first)".split(separator: " at ")[0].split(separator: ":")
    return fields.last.map { $0.lowercased().replacing("_", with: " ") } ?? "\(error)"
  }
}
