import Glibc
import NIOCore
import NIOSSL

/// Ends a connection so that what was sent last arrives: a pause, close_notify, and
/// then what the peer still sends is read, for a socket closed on unread bytes
/// answers with RST, and that destroys what is under way.
enum GentleClose {
  /// Some clients see the end first where it comes in one segment with the last bytes.
  static let pause = TimeAmount.milliseconds(50)
  /// How long the peer may take to close its side.
  static let patience = TimeAmount.seconds(2)

  static func begin(
    _ channel: any Channel, after pause: TimeAmount, ending: Faults.Ending = .closeNotify,
    patience: TimeAmount = patience
  ) {
    if pause == .zero {
      end(channel, ending, patience)
    } else {
      channel.eventLoop.scheduleTask(in: pause) { end(channel, ending, patience) }
    }
  }

  private static func end(
    _ channel: any Channel, _ ending: Faults.Ending, _ patience: TimeAmount
  ) {
    switch ending {
    case .closeNotify:
      channel.close(mode: .output, promise: nil)
      channel.eventLoop.scheduleTask(in: patience) { channel.close(promise: nil) }
    case .fin:
      beneathTLS(channel, .output)
      channel.eventLoop.scheduleTask(in: patience) { beneathTLS(channel, .all) }
    case .reset:
      _ = (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
      beneathTLS(channel, .all)
    case .stall:
      channel.pipeline.fireUserInboundEventTriggered(FaultEvent.stall(.end))
    }
  }

  /// Closes here and now: nothing that waits to leave, in TLS or behind a pace, does so.
  static func atOnce(_ channel: any Channel) {
    let shaper = try? channel.pipeline.syncOperations.context(handlerType: SegmentShaper.self)
    if let shaper {
      shaper.close(mode: .all, promise: nil)
    } else {
      channel.close(promise: nil)
    }
  }

  /// Closes without TLS's word for it.
  static func beneathTLS(_ channel: any Channel, _ mode: CloseMode) {
    let pipeline = channel.pipeline.syncOperations
    let tls =
      (try? pipeline.context(handlerType: NIOSSLServerHandler.self))
      ?? (try? pipeline.context(handlerType: TicketTLSHandler.self))
    if let tls {
      tls.close(mode: mode, promise: nil)
    } else {
      channel.close(mode: mode, promise: nil)
    }
  }
}
