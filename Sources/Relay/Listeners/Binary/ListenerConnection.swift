import APNS
import Client
import BinaryServer
import Foundation
import Logging
import NIOCore

/// A provider's connection to the binary listener, on its event loop. The data of one read is
/// queued as one batch, and the next read waits until it is stored: silence therefore means
/// accepted, even if the relay is killed. Stands between TLS and the handler that parses frames.
final class ListenerConnection: ChannelDuplexHandler, BinaryConnectionDelegate {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// The listener is shutting down: send status 10 with the last queued identifier.
  struct Leaving: Sendable {}

  /// How long the queue may fail before the client gets status 10.
  private static let patienceMS: Int64 = 30_000
  private static let shortestPauseMS: Int64 = 250
  private static let longestPauseMS: Int64 = 5000

  private let listener: BinaryListenerContext
  private let plainLogger: Logger
  private var context: ChannelHandlerContext?
  private var client: Client?
  private var ids = GrowingUUID()

  /// The notifications accepted since the last batch, and the identifier of the last one.
  private var taken: [NewEntry] = []
  private var takenIdentifier: UInt32 = 0
  /// How many of them become background pushes.
  private var silent = 0
  /// The identifier of the last queued notification.
  private var queuedIdentifier: UInt32 = 0
  /// The payload of the current frame.
  private var payload = ""
  private var isBusy = false
  private var wantsRead = false
  private var hasClientEnded = false
  /// The client is gone, and its batch waits for the queue.
  private var isOrphan = false
  private var isLeaving = false
  /// How the connection ends once the batch is queued.
  private var ending: Ending?

  private struct Client {
    var app: String
    var badTokens: BadTokens.App?
    /// The app's topic does not imply a push type, so the payloads decide.
    var hasPlainTopic: Bool
  }

  private struct Ending {
    var packet: ErrorPacket?
  }

  init(_ listener: BinaryListenerContext, logger: Logger) {
    self.listener = listener
    plainLogger = logger
  }

  /// Names the client. Built on demand, because thousands of connections are idle.
  private var logger: Logger {
    guard let client else { return plainLogger }
    var logger = plainLogger
    logger[metadataKey: "app"] = "\(client.app)"
    return logger
  }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }
  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  // MARK: Client

  func connected(_ context: ChannelHandlerContext) {
    let tls = context.pipeline.syncOperations.openSSL
    let apps = listener.relay.apps()
    let finding = listener.clients.find(tls, apps: apps)
    tls?.dropPeerKey()
    switch finding {
    case .app(let name, let how):
      let topic = apps[name]?.topic ?? ""
      client = Client(
        app: name, badTokens: listener.relay.badTokens[name],
        hasPlainTopic: Array(topic.utf8).withUnsafeBytes { PushType.named(in: $0) == nil })
      logger.info("a client of \(name), \(how)")
      let isIn = listener.admit(context.channel, name, listener.gateway)
      if isLeaving || !isIn || listener.isFull { leave() }
    case .unknown(let why):
      logger.notice("a client is refused: \(why)")
      listener.figures.refuse()
      self.context?.fireUserInboundEventTriggered(ConnectionDismissed(with: nil))
    }
  }

  func handshakeFailed() { listener.figures.refuse() }

  // MARK: Frames

  func received(_ count: Int) {}
  func beginBatch() {}
  func endBatch() {}

  func rejection(of frame: Frame) -> Rejection? {
    let checksJSON = listener.configuration.checksJSON
    guard let text = String(validating: frame.notification.payload, as: UTF8.self) else {
      return Rejection(
        frame, status: checksJSON ? 7 : 1, reason: "payload: not UTF-8")
    }
    payload = text
    // Command 0 has no error packet: a client that was cut off could not know why, and would lose
    // every later notification.
    if frame.command == .simple { return nil }
    if checksJSON, !RawJSON.isValue(text) {
      return Rejection(frame, status: 7, reason: "payload: no JSON")
    }
    return listener.configuration.sendsTokenErrors ? rejection(ofTokenIn: frame) : nil
  }

  private func rejection(ofTokenIn frame: Frame) -> Rejection? {
    let token = frame.notification.token
    if let sizes = listener.configuration.tokenBytes, !sizes.contains(size: token.count),
      client?.badTokens?.sizes.contains(size: token.count) != true
    {
      listener.sayRefusedSize(token.count, logger)
      return Rejection(frame, status: 5, reason: "the app's tokens are not \(token.count) bytes")
    }
    guard let badTokens = client?.badTokens, badTokens.contains(token, at: RelayClock.now) else {
      return nil
    }
    return Rejection(frame, status: 8, reason: "APNs rejected the token")
  }

  func accepted(
    _ frame: Frame, _ bytes: UnsafeRawBufferPointer, _ context: ChannelHandlerContext
  ) -> AfterAcceptance {
    guard let client else { return .close(.closeNotify) }
    let push = frame.notification
    var entry = NewEntry(
      app: client.app, id: ids.next(at: RelayClock.now),
      token: DeviceToken.hex(of: Array(push.token)), payload: payload)
    // The expiry is over, or a duration was sent by mistake. Apple tried such a notification once
    // and did not store it.
    let now = RelayClock.now / 1000
    entry.expiry = push.expiry.map { Int64($0) > now ? Int64($0) : 0 }
    entry.priority = push.priority.map { Int($0) }
    // APNs accepts silent pushes only as background pushes with priority 5, which the session
    // chooses if no priority is set. A frame without a priority means 10.
    if push.priority != 5, PushType.inferred(from: push.payload) == .background {
      entry.priority = nil
      if client.hasPlainTopic { silent += 1 }
    }
    taken.append(entry)
    takenIdentifier = push.identifier ?? 0
    return .readOn
  }

  func rejected(_ rejection: inout Rejection, _ bytes: UnsafeRawBufferPointer) -> AfterRejection {
    .answer
  }

  func discarded(_ frame: UnsafeRawBufferPointer) {
    listener.figures.count { $0.discarded += 1 }
  }

  /// The packet is sent once everything before it is queued.
  func close(with packet: ErrorPacket?, _ context: ChannelHandlerContext) {
    ending = Ending(packet: packet)
    give()
    if !isBusy { finish() }
  }

  func closed() {}

  // MARK: The queue

  private func give() {
    guard !taken.isEmpty, !isBusy, let loop = context?.eventLoop else { return }
    isBusy = true
    let batch = taken
    taken = []
    if silent > 0 { listener.countSilent(silent, logger) }
    silent = 0
    listener.batches.enter()
    put(batch, takenIdentifier, since: RelayClock.monotonic, on: loop)
  }

  private func put(
    _ batch: [NewEntry], _ identifier: UInt32, since: Int64, on loop: any EventLoop
  ) {
    let bound = NIOLoopBound(self, eventLoop: loop)
    listener.relay.queue.add(batch) { taking in
      loop.execute { bound.value.hear(taking, batch, identifier, since: since, on: loop) }
    }
  }

  private func hear(
    _ taking: ListenerQueue.Taking, _ batch: [NewEntry], _ identifier: UInt32, since: Int64,
    on loop: any EventLoop
  ) {
    switch taking {
    case .success:
      queuedIdentifier = identifier
      listener.figures.count { $0.queued += batch.count }
      listener.relay.look(batch[0].app)
    case .failure:
      // A client that is gone gets no error packet, and relies on everything it wrote. A
      // half-closed client may do the same: most programs only write.
      let isGone = context == nil || hasClientEnded
      let waited = RelayClock.monotonic - since
      if isGone || waited < Self.patienceMS, !listener.isOver {
        if context == nil, !isOrphan {
          isOrphan = true
          listener.adopt()
        }
        let bound = NIOLoopBound(self, eventLoop: loop)
        let pause = min(max(waited / 8, Self.shortestPauseMS), Self.longestPauseMS)
        loop.scheduleTask(in: .milliseconds(pause)) {
          bound.value.put(batch, identifier, since: since, on: loop)
        }
        return
      }
      if isGone {
        logger.error(
          "\(batch.count) notifications are lost: the queue fails, and the client has disconnected")
      }
      // The client resends everything after the last queued one.
      isLeaving = true
      ending = ending.map { _ in Ending(packet: shutdown) }
    }
    isBusy = false
    if isOrphan { listener.release() }
    isOrphan = false
    listener.batches.leave()
    goOn()
  }

  private var shutdown: ErrorPacket {
    ErrorPacket(status: ErrorPacket.shutdown, identifier: queuedIdentifier)
  }

  private func goOn() {
    guard let context else { return }
    if ending != nil {
      finish()
    } else if isLeaving {
      leave()
    } else if hasClientEnded {
      context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    }
    if wantsRead {
      wantsRead = false
      context.read()
    }
  }

  /// Goes through the frame handler, which then stops accepting.
  private func leave() {
    context?.fireUserInboundEventTriggered(ConnectionDismissed(with: shutdown))
  }

  private func finish() {
    guard let context, let ending else { return }
    if let packet = ending.packet {
      // It completes no pending request.
      listener.figures.count { $0.responses[Int(packet.status), default: 0] += 1 }
      BinaryHandler.write(packet, context)
    }
    GracefulClose.begin(
      context.channel, after: ending.packet == nil ? .zero : GracefulClose.pause)
  }

  // MARK: Channel events

  func channelReadComplete(context: ChannelHandlerContext) {
    give()
    acknowledge(context)
    context.fireChannelReadComplete()
  }

  /// Acknowledges immediately. A legacy client leaves Nagle's algorithm on, so its next small write
  /// waits for this ACK. The listener sends no data that could carry it, so the kernel would delay
  /// it by 40 ms.
  private func acknowledge(_ context: ChannelHandlerContext) {
    try? context.channel.syncOptions?.setOption(.tcpOption(.init(rawValue: TCP_QUICKACK)), value: 1)
  }

  func read(context: ChannelHandlerContext) {
    if isBusy { wantsRead = true } else { context.read() }
  }

  /// Stops reading from a client that does not read: it could make TLS queue replies without limit.
  func channelWritabilityChanged(context: ChannelHandlerContext) {
    _ = context.channel.setOption(.autoRead, value: context.channel.isWritable)
    context.fireChannelWritabilityChanged()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case ChannelEvent.inputClosed where isBusy || !taken.isEmpty:
      // Its notifications are queued first.
      hasClientEnded = true
      give()
      return
    case is Leaving:
      isLeaving = true
      if client == nil {
        context.close(promise: nil)
      } else if !isBusy, taken.isEmpty, ending == nil {
        leave()
      }
      return
    default: context.fireUserInboundEventTriggered(event)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    give()
    context.fireChannelInactive()
  }
}
