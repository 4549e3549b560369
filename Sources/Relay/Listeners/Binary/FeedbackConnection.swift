import Client
import BinaryServer
import Dispatch
import Logging
import NIOCore

/// A provider's connection to the feedback service. The list is removed from the queue once the
/// client has read all of it; a truncated list is sent again.
final class FeedbackConnection: FeedbackDelegate {
  /// How long the client may take to read the data in the socket buffer.
  private static let patience = TimeAmount.seconds(60)
  /// Limits the memory for a list that no client read for years. The next connection gets the
  /// following devices.
  private static let most = 100_000
  /// Runs the queue's calls, because an event loop must not block.
  private static let threads = DispatchQueue(label: "feedback", attributes: .concurrent)

  private struct Fault: Error {}

  private let listener: BinaryListenerContext
  private let logger: Logger
  private var app = ""
  private var told: [GoneToken] = []

  init(_ listener: BinaryListenerContext, logger: Logger) {
    self.listener = listener
    self.logger = logger
  }

  func takeEntries(_ context: ChannelHandlerContext) -> EventLoopFuture<[FeedbackEntry]> {
    switch listener.clients.find(
      context.pipeline.syncOperations.openSSL, apps: listener.relay.apps())
    {
    case .app(let name, let how):
      logger.info("a client of \(name) requests feedback, \(how)")
      app = name
      guard listener.admit(context.channel, name, listener.feedbackPort) else {
        return context.eventLoop.makeFailedFuture(Fault())
      }
    case .unknown(let why):
      logger.notice("a feedback client is refused: \(why)")
      listener.figures.refuse()
      return context.eventLoop.makeFailedFuture(Fault())
    }
    let (engine, app, logger, channel) = (listener.relay.engine, app, logger, context.channel)
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    return listener.feedback.take(app, channel).flatMap { () -> EventLoopFuture<[GoneToken]> in
      guard channel.isActive else { return channel.eventLoop.makeFailedFuture(Fault()) }
      return Self.threads.asyncWithFuture(eventLoop: channel.eventLoop) {
        do {
          return try engine.feedback(app: app, most: Self.most)
        } catch {
          logger.error("feedback cannot be read: \(error)")
          throw error
        }
      }
    }.map { devices in
      if devices.count == Self.most {
        logger.notice(
          "the list of \(app) is long: \(devices.count) devices are sent now, the rest on the next connections"
        )
      }
      bound.value.told = devices
      return devices.compactMap { device in
        BadTokens.bytes(device.token).map {
          FeedbackEntry(timestamp: UInt32(clamping: device.since), token: $0)
        }
      }
    }
  }

  /// The whole list is in the socket buffer. TLS sends close_notify now, but TCP is closed only
  /// after the client closes, so that its acknowledgements can still be read.
  func close(_ channel: any Channel) {
    guard channel.isActive else { return sayCutOff() }
    let witness = try? channel.pipeline.syncOperations.handler(type: ReadingWitness.self)
    let (engine, app, told, logger) = (listener.relay.engine, app, told, logger)
    witness?.expectEnd { isRead in
      guard isRead else { return self.sayCutOff() }
      guard !told.isEmpty else { return }
      Self.threads.async {
        do {
          try engine.forgetFeedback(told, app: app)
          logger.info("tuples sent and removed: \(told.count)")
        } catch {
          logger.error("sent feedback cannot be removed, and is sent again: \(error)")
        }
      }
    }
    GracefulClose.begin(channel, after: GracefulClose.pause, timeout: Self.patience)
  }

  private func sayCutOff() {
    logger.info("the client did not read the whole list: it is sent again")
  }

  func handshakeFailed() { listener.figures.refuse() }
}
