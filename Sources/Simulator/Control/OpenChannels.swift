import BinaryServer
import NIOConcurrencyHelpers
import NIOCore

/// The open connections of one service by number, to send them events.
final class OpenChannels: Sendable {
  private let channels = NIOLockedValueBox<[Int: any Channel]>([:])

  func add(_ channel: any Channel, _ number: Int) {
    channels.withLockedValue { $0[number] = channel }
    channel.closeFuture.whenComplete { _ in
      self.channels.withLockedValue { _ = $0.removeValue(forKey: number) }
    }
  }

  /// Cuts all connections; they are closed when it returns.
  func cut() async {
    let open = channels.withLockedValue { Array($0.values) }
    for channel in open {
      channel.eventLoop.execute { GracefulClose.atOnce(channel) }
    }
    for channel in open { try? await channel.closeFuture.get() }
  }

  func send(_ event: FaultEvent) {
    for channel in channels.withLockedValue({ Array($0.values) }) {
      channel.pipeline.fireUserInboundEventTriggered(event)
    }
  }

  /// False if the connection does not exist.
  func send(_ event: FaultEvent, to number: Int) -> Bool {
    guard let channel = channels.withLockedValue({ $0[number] }) else { return false }
    channel.pipeline.fireUserInboundEventTriggered(event)
    return true
  }
}
