import BinaryServer
import Logging
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOTLS

/// One provider's connection to the HTTP/2 gateway. Handles the frames of all its streams itself:
/// a channel for each stream would cost several times as much.
///
/// `PushValidator` decides the outcome of a push, `ResponseScheduler` when its response is sent.
/// `PushRecorder` counts and records it, and `FlowControl` gives credit for the bytes read.
final class PushHandler: ChannelDuplexHandler {
  typealias InboundIn = HTTP2Frame
  typealias OutboundIn = Never
  typealias OutboundOut = HTTP2Frame

  enum Phase {
    /// Before the end of the handshake, and after the end of the connection.
    case closed
    case validating
    /// Keeps further input for later.
    case stalled
    /// GOAWAY is sent. Earlier streams still get their responses.
    case draining
    /// Counts and discards all further input.
    case discarding
  }

  private let connection: Int
  let services: HTTP2Services
  let faults: ConnectionFaults
  let logger: Logger

  var phase = Phase.closed
  private(set) var validator: PushValidator?
  var settings: AnnouncedSettings
  var streams: PushStreams
  var requests: PushRequests
  /// Arrived during a stall.
  private var held: [HTTP2Frame] = []
  let filter: FrameFilter
  let writer: FrameWriter
  private(set) lazy var scheduler = ResponseScheduler(faults: faults, sender: self)
  let recorder: PushRecorder
  private var flow: FlowControl
  let limit = StreamsLimit()
  /// A fault or an error closes the connection.
  var isClosing = false
  private(set) var hasClientClosed = false
  var hasSentGoAway = false
  private var wantsRead = false
  /// The time of the handshake, and the GOAWAY that its age brings.
  private(set) var began = NIODeadline.now()
  var retirement: Scheduled<Void>?

  init(connection: Int, services: HTTP2Services, faults: ConnectionFaults, logger: Logger) {
    self.connection = connection
    self.services = services
    self.faults = faults
    self.logger = logger
    filter = FrameFilter(faults: faults, limit: limit)
    writer = FrameWriter(faults: faults, limit: limit)
    recorder = PushRecorder(connection: connection, services: services)
    flow = FlowControl(faults: faults)
    settings = AnnouncedSettings(faults, limit)
    streams = PushStreams(replay: services.replay)
    requests = PushRequests(services, faults, keepsHeaders: recorder.keepsRecentPushes)
  }

  // MARK: Start and end

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    // Not passed on: they come with every push, and no other handler needs them.
    case let event as StreamClosedEvent:
      streams.waiting[event.streamID] = nil
      streams.openCount -= 1
      return
    case is NIOHTTP2StreamCreatedEvent:
      streams.openCount += 1
      return
    case let event as NIOHTTP2WindowUpdatedEvent:
      if event.streamID == .rootStream, let left = event.inboundWindowSize {
        flow.windowUpdated(left)
      }
      return
    case TLSUserEvent.handshakeCompleted: begin(context)
    case FaultEvent.changed: adapt(context)
    case FaultEvent.recordedEnd(let end): self.end(end, context)
    case is ReadingResumed: resume(context)
    case ChannelEvent.inputClosed:
      hasClientClosed = true
      closeIfDone(context)
    default: break
    }
    context.fireUserInboundEventTriggered(event)
  }

  /// As at Apple, a client may speak HTTP/2 without ALPN.
  private func begin(_ context: ChannelHandlerContext) {
    services.ledger.connect(connection)
    let pipeline = context.pipeline.syncOperations
    let peer = PeerIdentity(context)
    let topics = peer.certificate.map(CertificateTopics.all)
    let authority = ConnectionAuthority(
      topics: topics, rules: services.rules.rules, tokens: services.tokens,
      address: context.channel.remoteAddress?.host ?? "")
    validator = PushValidator(authority: authority, services: services, faults: faults)
    if services.ledger.tellsConnections {
      services.ledger.identify(connection, tls: peer.tls, subject: peer.subject)
    }
    phase = .validating
    began = .now()
    scheduleRetirement(context)
    services.replay?.begin(context.channel)
    logger.debug("connected")
    do {
      try pipeline.addHandlers(
        [writer, filter] as [any ChannelHandler], position: .before(self))
      try pipeline.addHandler(HTTP2Limits.handler(PushSettings.ours), position: .before(self))
    } catch {
      return context.close(promise: nil)
    }
    let first = settings.begin(isAuthorized: topics != nil)
    write(.settings(.settings(first)), on: .rootStream, context)
    context.flush()
    let credit = flow.begin()
    if credit > 0 {
      grant(credit, on: .rootStream, context)
      context.flush()
    }
  }

  /// Sends changed settings to the client.
  func adapt(_ context: ChannelHandlerContext) {
    if phase == .closed { return }
    scheduleRetirement(context)
    guard let changes = settings.change() else { return }
    write(.settings(.settings(changes)), on: .rootStream, context)
    if !scheduler.isReading { context.flush() }
  }

  func channelInactive(context: ChannelHandlerContext) {
    phase = .closed
    streams.giveBackAll()
    streams.waiting = [:]
    held = []
    scheduler.forget()
    logger.debug("closed")
    retirement?.cancel()
    services.ledger.close(connection)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch error {
    case let error as NIOHTTP2Errors.StreamError:
      logger.info("stream \(Int(error.streamID)): \(error.baseError)")
    case is any NIOHTTP2Error:
      logger.info("the connection broke: \(error)")
      // NIO has sent GOAWAY.
      close(context, .closeNotify)
    default:
      if ConnectionErrors.log(error, to: logger) { services.ledger.refuse() }
      // After a half-close, an event decides whether the connection ends.
      if !ConnectionErrors.isHalfClose(error) { context.close(promise: nil) }
    }
  }

  // MARK: Reading

  /// Does not read from a client that does not read: responses would pile up.
  func read(context: ChannelHandlerContext) {
    if context.channel.isWritable { context.read() } else { wantsRead = true }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if wantsRead, context.channel.isWritable {
      wantsRead = false
      context.read()
    }
    context.fireChannelWritabilityChanged()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if phase == .closed { return }
    if !scheduler.isReading {
      scheduler.isReading = true
      recorder.beginBatch()
    }
    let frame = unwrapInboundIn(data)
    switch frame.payload {
    case .headers: streams.receivedHeaders(on: frame.streamID, limit: limit.inForce)
    case .data(let data): flow.received(FlowControl.size(of: data))
    default: break
    }
    if phase == .stalled { held.append(frame) } else { take(frame, context) }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    scheduler.isReading = false
    endBatch()
    let dropped = filter.takeDroppedData() + flow.takeIgnored()
    if dropped > 0 {
      giveCredit(for: dropped, .rootStream, isLast: true, context)
      context.flush()
    }
    scheduler.endRead(context)
    closeIfDone(context)
    context.fireChannelReadComplete()
  }

  private func resume(_ context: ChannelHandlerContext) {
    guard phase == .stalled else { return }
    phase = .validating
    let frames = held
    held = []
    recorder.beginBatch()
    for frame in frames {
      if phase == .stalled { held.append(frame) } else { take(frame, context) }
    }
    endBatch()
    if faults.faults.answers != .batch { scheduler.sendAll(context) }
    context.flush()
    closeIfDone(context)
  }

  func endBatch() {
    recorder.discard(filter.takeDropped())
    recorder.endBatch()
  }

  private func take(_ frame: HTTP2Frame, _ context: ChannelHandlerContext) {
    let id = frame.streamID
    switch frame.payload {
    case .headers(let headers):
      recorder.receive(headers.headers.count)
      if streams.takeExcess(id) { return refuseStream(id, headers.headers, context) }
      if streams.waiting[id] == nil {
        streams.waiting[id] = PushStream(request: requests.received(headers.headers))
      }
      if headers.endStream { finish(id, context) }
    case .data(let data):
      guard case .byteBuffer(var bytes) = data.data else { return }
      recorder.receive(bytes.readableBytes)
      streams.waiting[id]?.request.append(&bytes)
      giveCredit(for: FlowControl.size(of: data), id, isLast: data.endStream, context)
      if data.endStream { finish(id, context) }
    case .rstStream: streams.waiting[id] = nil
    default: break
    }
  }

  private func giveCredit(
    for size: Int, _ id: HTTP2StreamID, isLast: Bool, _ context: ChannelHandlerContext
  ) {
    let credit = flow.use(size)
    if credit > 0 { grant(credit, on: .rootStream, context) }
    guard !isLast, let window = settings.window else { return }
    let more = streams.waiting[id]?.credit.use(size, of: window, share: flow.share) ?? 0
    if more > 0 { grant(more, on: id, context) }
  }

  private func grant(_ credit: Int, on id: HTTP2StreamID, _ context: ChannelHandlerContext) {
    write(.windowUpdate(windowSizeIncrement: credit), on: id, context)
    // Only now: while it writes, NIO may still report the old window.
    if id == .rootStream { flow.granted(credit) }
  }

  func write(
    _ payload: HTTP2Frame.FramePayload, on id: HTTP2StreamID, _ context: ChannelHandlerContext
  ) {
    context.write(wrapOutboundOut(HTTP2Frame(streamID: id, payload: payload)), promise: nil)
  }
}
