import BinaryServer
import NIOCore

extension Faults.Ending {
  /// nil if the connection is not closed.
  var connectionEnding: ConnectionEnding? {
    switch self {
    case .closeNotify: .closeNotify
    case .fin: .fin
    case .reset: .reset
    case .stall: nil
    }
  }
}

extension GracefulClose {
  /// Closes as the fault demands, or stalls instead.
  static func begin(
    _ channel: any Channel, after pause: TimeAmount, fault ending: Faults.Ending,
    timeout: TimeAmount = timeout
  ) {
    if let ending = ending.connectionEnding {
      begin(channel, after: pause, ending: ending, timeout: timeout)
    } else if pause == .zero {
      channel.pipeline.fireUserInboundEventTriggered(FaultEvent.stall(.end))
    } else {
      channel.eventLoop.scheduleTask(in: pause) {
        channel.pipeline.fireUserInboundEventTriggered(FaultEvent.stall(.end))
      }
    }
  }

  /// Closes immediately, and drops pending output in TLS and in `SegmentShaper`.
  static func atOnce(_ channel: any Channel) {
    let shaper = try? channel.pipeline.syncOperations.context(handlerType: SegmentShaper.self)
    if let shaper {
      shaper.close(mode: .all, promise: nil)
    } else {
      channel.close(promise: nil)
    }
  }
}
