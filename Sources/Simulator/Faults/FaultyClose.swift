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

extension GentleClose {
  /// Closes as a fault says, or stalls in place of closing.
  static func begin(
    _ channel: any Channel, after pause: TimeAmount, fault ending: Faults.Ending,
    patience: TimeAmount = patience
  ) {
    if let ending = ending.connectionEnding {
      begin(channel, after: pause, ending: ending, patience: patience)
    } else if pause == .zero {
      channel.pipeline.fireUserInboundEventTriggered(FaultEvent.stall(.end))
    } else {
      channel.eventLoop.scheduleTask(in: pause) {
        channel.pipeline.fireUserInboundEventTriggered(FaultEvent.stall(.end))
      }
    }
  }

  /// Closes now, without what still waits to leave in TLS or in `SegmentShaper`.
  static func atOnce(_ channel: any Channel) {
    let shaper = try? channel.pipeline.syncOperations.context(handlerType: SegmentShaper.self)
    if let shaper {
      shaper.close(mode: .all, promise: nil)
    } else {
      channel.close(promise: nil)
    }
  }
}
