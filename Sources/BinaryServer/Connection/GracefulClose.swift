import Glibc
import NIOCore

/// Closes a connection without losing the last bytes. After a pause it sends close_notify or FIN
/// and continues to read: closing a socket with unread bytes makes TCP send RST, which destroys
/// bytes in flight.
package enum GracefulClose {
  /// Some clients notice the end of the connection only in the same segment as the last bytes.
  package static let pause = TimeAmount.milliseconds(50)
  /// How long the peer may take to close its side.
  package static let timeout = TimeAmount.seconds(2)

  package static func begin(
    _ channel: any Channel, after pause: TimeAmount, ending: ConnectionEnding = .closeNotify,
    timeout: TimeAmount = timeout
  ) {
    if pause == .zero {
      end(channel, ending, timeout)
    } else {
      channel.eventLoop.scheduleTask(in: pause) { end(channel, ending, timeout) }
    }
  }

  private static func end(
    _ channel: any Channel, _ ending: ConnectionEnding, _ timeout: TimeAmount
  ) {
    switch ending {
    case .closeNotify:
      channel.close(mode: .output, promise: nil)
      channel.eventLoop.scheduleTask(in: timeout) { channel.close(promise: nil) }
    case .fin:
      closeBeneathTLS(channel, .output)
      channel.eventLoop.scheduleTask(in: timeout) { closeBeneathTLS(channel, .all) }
    case .reset:
      _ = (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
      closeBeneathTLS(channel, .all)
    }
  }

  /// Closes without close_notify.
  private static func closeBeneathTLS(_ channel: any Channel, _ mode: CloseMode) {
    let tls = try? channel.pipeline.syncOperations.context(handlerType: OpenSSLServerHandler.self)
    if let tls {
      tls.close(mode: mode, promise: nil)
    } else {
      channel.close(mode: mode, promise: nil)
    }
  }
}
