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

  private enum Phase {
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

  /// How long a client may take to close after GOAWAY: RST would destroy responses in flight.
  private static let timeout = TimeAmount.seconds(10)

  private let connection: Int
  private let services: HTTP2Services
  private let faults: ConnectionFaults
  private let logger: Logger

  private var phase = Phase.closed
  private var validator: PushValidator?
  /// The client has a certificate, or a response to a good provider token was sent.
  private var isAuthorized = false
  private var settings: PushSettings?
  private var streams: [HTTP2StreamID: PushStream] = [:]
  /// Arrived during a stall.
  private var held: [HTTP2Frame] = []
  private let filter: FrameFilter
  private let writer: FrameWriter
  private lazy var scheduler = ResponseScheduler(faults: faults, sender: self)
  private let recorder: PushRecorder
  private var flow: FlowControl
  private let limit = StreamsLimit()
  /// The open streams, as the protocol counts them.
  private var openStreams = 0
  /// The highest stream ID so far.
  private var lastBegun = HTTP2StreamID.rootStream
  /// Streams over the limit.
  private var excess: Set<HTTP2StreamID> = []
  /// The highest stream with a validated request.
  private var lastValidated = HTTP2StreamID.rootStream
  private var identifiers: SplitMix64
  private var uniqueIdentifiers: SplitMix64
  /// A fault or an error closes the connection.
  private var isClosing = false
  private var hasClientClosed = false
  private var hasSentGoAway = false
  private var wantsRead = false

  init(connection: Int, services: HTTP2Services, faults: ConnectionFaults, logger: Logger) {
    self.connection = connection
    self.services = services
    self.faults = faults
    self.logger = logger
    filter = FrameFilter(faults: faults, limit: limit)
    writer = FrameWriter(faults: faults, limit: limit)
    recorder = PushRecorder(connection: connection, services: services)
    flow = FlowControl(faults: faults)
    identifiers = faults.identifiers(.request)
    uniqueIdentifiers = faults.identifiers(.unique)
  }

  // MARK: Start and end

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    // Not passed on: they come with every push, and no other handler needs them.
    case let event as StreamClosedEvent:
      streams[event.streamID] = nil
      openStreams -= 1
      return
    case is NIOHTTP2StreamCreatedEvent:
      openStreams += 1
      return
    case let event as NIOHTTP2WindowUpdatedEvent:
      if event.streamID == .rootStream, let left = event.inboundWindowSize {
        flow.windowUpdated(left)
      }
      return
    case TLSUserEvent.handshakeCompleted(let negotiated): begin(context, negotiated)
    case FaultEvent.changed: adapt(context)
    case is ReadingResumed: resume(context)
    case ChannelEvent.inputClosed:
      hasClientClosed = true
      closeIfDone(context)
    default: break
    }
    context.fireUserInboundEventTriggered(event)
  }

  private func begin(_ context: ChannelHandlerContext, _ negotiated: String?) {
    services.ledger.connect(connection)
    guard negotiated == "h2" else {
      logger.notice("no ALPN h2")
      GracefulClose.begin(context.channel, after: .zero)
      return
    }
    let pipeline = context.pipeline.syncOperations
    let peer = PeerIdentity(context)
    let topics = peer.certificate.map(CertificateTopics.all)
    let authority = ConnectionAuthority(
      topics: topics, rules: services.rules.rules, tokens: services.tokens,
      address: context.channel.remoteAddress?.host ?? "")
    validator = PushValidator(authority: authority, services: services, faults: faults)
    isAuthorized = topics != nil
    if services.ledger.tellsConnections {
      services.ledger.identify(connection, tls: peer.tls, subject: peer.subject)
    }
    let settings = PushSettings(faults.faults, isAuthorized: isAuthorized)
    self.settings = settings
    phase = .validating
    logger.debug("connected")
    do {
      try pipeline.addHandlers(
        [writer, filter] as [any ChannelHandler], position: .before(self))
      try pipeline.addHandler(HTTP2Limits.handler(PushSettings.ours), position: .before(self))
    } catch {
      return context.close(promise: nil)
    }
    limit.set(settings.streams)
    write(.settings(.settings(settings.initial)), on: .rootStream, context)
    context.flush()
    let credit = flow.begin()
    if credit > 0 {
      grant(credit, on: .rootStream, context)
      context.flush()
    }
  }

  /// Sends changed settings to the client.
  private func adapt(_ context: ChannelHandlerContext) {
    guard phase != .closed, let old = settings else { return }
    let new = PushSettings(faults.faults, isAuthorized: isAuthorized)
    settings = new
    if new == old { return }
    if new.streams != old.streams { limit.set(new.streams) }
    write(.settings(.settings(new.changes(from: old))), on: .rootStream, context)
    if !scheduler.isReading { context.flush() }
  }

  func channelInactive(context: ChannelHandlerContext) {
    phase = .closed
    streams = [:]
    held = []
    scheduler.forget()
    logger.debug("closed")
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

  private func close(_ context: ChannelHandlerContext, _ ending: Faults.Ending) {
    if isClosing { return }
    isClosing = true
    phase = .discarding
    scheduler.forget()
    GracefulClose.begin(
      context.channel, after: .zero, fault: ending,
      timeout: hasSentGoAway ? Self.timeout : GracefulClose.timeout)
  }

  /// After a half-close or GOAWAY, a client gets its pending responses first.
  private func closeIfDone(_ context: ChannelHandlerContext) {
    if phase == .draining, streams.isEmpty {
      close(context, faults.faults.ending)
    } else if hasClientClosed, !isClosing, scheduler.isEmpty, phase != .stalled {
      context.close(promise: nil)
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
    case .headers where frame.streamID > lastBegun:
      lastBegun = frame.streamID
      if openStreams >= limit.inForce { excess.insert(frame.streamID) }
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

  private func endBatch() {
    recorder.discard(filter.takeDropped())
    recorder.endBatch()
  }

  private func take(_ frame: HTTP2Frame, _ context: ChannelHandlerContext) {
    let id = frame.streamID
    switch frame.payload {
    case .headers(let headers):
      recorder.receive(headers.headers.count)
      if excess.remove(id) != nil { return refuseStream(id, headers.headers, context) }
      if streams[id] == nil { streams[id] = PushStream(request: received(headers.headers)) }
      if headers.endStream { finish(id, context) }
    case .data(let data):
      guard case .byteBuffer(var bytes) = data.data else { return }
      recorder.receive(bytes.readableBytes)
      streams[id]?.request.append(&bytes)
      giveCredit(for: FlowControl.size(of: data), id, isLast: data.endStream, context)
      if data.endStream { finish(id, context) }
    case .rstStream: streams[id] = nil
    default: break
    }
  }

  private func received(_ headers: HPACKHeaders) -> ReceivedPush {
    var request = ReceivedPush(headers)
    if recorder.keepsRecentPushes { request.headers = headers }
    return request
  }

  private func giveCredit(
    for size: Int, _ id: HTTP2StreamID, isLast: Bool, _ context: ChannelHandlerContext
  ) {
    let credit = flow.use(size)
    if credit > 0 { grant(credit, on: .rootStream, context) }
    guard !isLast, let window = settings?.window else { return }
    let more = streams[id]?.credit.use(size, of: window, share: flow.share) ?? 0
    if more > 0 { grant(more, on: id, context) }
  }

  private func grant(_ credit: Int, on id: HTTP2StreamID, _ context: ChannelHandlerContext) {
    write(.windowUpdate(windowSizeIncrement: credit), on: id, context)
    // Only now: while it writes, NIO may still report the old window.
    if id == .rootStream { flow.granted(credit) }
  }

  // MARK: One push

  /// The request is complete.
  private func finish(_ id: HTTP2StreamID, _ context: ChannelHandlerContext) {
    guard let stream = streams[id], !stream.isWhole else { return }
    streams[id]?.isWhole = true
    let request = stream.request
    // From here on the stream only waits for its response.
    streams[id]?.request.payload = ByteBuffer()
    var push = Push(
      id: id, request: request, identifier: identifier(of: request),
      isChannelRequest: services.managesChannels)
    if phase == .discarding {
      push.topic = push.namedTopic
      recorder.discard(push, key: validator?.lastKey)
      streams[id] = nil
      return
    }
    lastValidated = max(lastValidated, id)
    switch validator?.validate(&push) ?? .refused(.missingProviderToken, since: nil) {
    case .accepted: accept(push, context)
    case .refused(let reason, let time): refuse(push, reason, since: time, context)
    case .reset: reset(push, context)
    }
  }

  private func identifier(of request: ReceivedPush) -> String {
    let isPush = !services.managesChannels && request.broadcastApp == nil
    return (isPush ? request.identifier : request.requestIdentifier)
      ?? PushIdentifier.make(&identifiers)
  }

  private func accept(_ push: Push, _ context: ChannelHandlerContext) {
    var push = push
    if let reason = validator?.carryOut(&push) { return refuse(push, reason, since: nil, context) }
    if services.isSandbox, !push.isChannelRequest {
      push.uniqueIdentifier = PushIdentifier.make(&uniqueIdentifiers)
    }
    recorder.accept(push, key: validator?.lastKey)
    // GOAWAY is sent once.
    switch hasSentGoAway ? nil : faults.endAfterAcceptance() {
    case nil: respond(push, nil, since: nil, context)
    case .shutdown: goAway(push, context)
    case .cut: cut(push, context)
    }
  }

  private func refuse(
    _ push: Push, _ reason: PushReason, since time: Int64?, _ context: ChannelHandlerContext
  ) {
    logger.info("stream \(Int(push.id)) refused: \(reason.status) \(reason.word)")
    recorder.refuse(push, reason, key: validator?.lastKey)
    respond(push, reason, since: time, context)
  }

  /// Refuses a stream over the limit. The rest of its input is discarded.
  private func refuseStream(
    _ id: HTTP2StreamID, _ headers: HPACKHeaders, _ context: ChannelHandlerContext
  ) {
    let request = received(headers)
    var push = Push(
      id: id, request: request, identifier: identifier(of: request),
      isChannelRequest: services.managesChannels)
    push.topic = push.namedTopic
    // Only fills in the token: the stream is refused anyway.
    _ = services.rules.fault(of: request, &push.token)
    recorder.ignore(push, key: validator?.lastKey)
    logger.info("stream \(Int(id)) refused: more than \(limit.inForce) open streams")
    write(.rstStream(.refusedStream), on: id, context)
  }

  private func reset(_ push: Push, _ context: ChannelHandlerContext) {
    let code = HTTP2ErrorCode(networkCode: Int(faults.faults.resetCode))
    if code == .refusedStream {
      recorder.ignore(push, key: validator?.lastKey)
    } else {
      var push = push
      if let reason = validator?.carryOut(&push) {
        return refuse(push, reason, since: nil, context)
      }
      recorder.accept(push, key: validator?.lastKey)
    }
    logger.info("stream \(Int(push.id)) reset: \(code)")
    streams[push.id] = nil
    write(.rstStream(code), on: push.id, context)
  }

  // MARK: Closing by faults

  private func goAway(_ push: Push, _ context: ChannelHandlerContext) {
    recorder.shutDown()
    hasSentGoAway = true
    let manner = faults.faults.goaway
    logger.info(
      "GOAWAY, \(manner.rawValue), after \(recorder.acceptedCount) accepted, stream \(Int(lastValidated))"
    )
    if manner != .immediate { respond(push, nil, since: nil, context) }
    endBatch()
    scheduler.sendAll(context)
    let above = streams.keys.filter { $0 > lastValidated }
    recorder.discard(above.count)
    for id in above { streams[id] = nil }
    filter.close(above: manner == .immediate ? 0 : UInt32(Int(lastValidated)))
    writer.goAway(
      last: UInt32(Int(lastValidated)), error: faults.faults.goawayError,
      reason: faults.faults.goawayReason)
    switch manner {
    case .open: break
    case .graceful: phase = .draining
    case .immediate: close(context, faults.faults.ending)
    }
  }

  /// Closes or stalls without GOAWAY.
  private func cut(_ push: Push, _ context: ChannelHandlerContext) {
    let ending = faults.faults.cutEnding
    logger.info(
      "\(ending.rawValue) after \(recorder.acceptedCount) accepted, stream \(Int(push.id))")
    // Earlier pushes get their responses; this one does not.
    endBatch()
    scheduler.sendAll(context)
    if ending == .stall {
      respond(push, nil, since: nil, context)
      phase = .stalled
      context.pipeline.fireUserInboundEventTriggered(FaultEvent.stall(.notifications))
    } else {
      close(context, ending)
    }
  }

  // MARK: Responding

  private func respond(
    _ push: Push, _ reason: PushReason?, since time: Int64?, _ context: ChannelHandlerContext
  ) {
    if reason == nil, faults.dropsResponse() { return }
    scheduler.add(PushResponse(push, reason, since: time), on: push.id, context)
  }

  private func write(
    _ response: PushResponse, on id: HTTP2StreamID, _ context: ChannelHandlerContext
  ) {
    let body = response.body
    write(.headers(.init(headers: response.headers, endStream: body == nil)), on: id, context)
    if let body {
      let data = IOData.byteBuffer(ByteBuffer(string: body))
      write(.data(.init(data: data, endStream: true)), on: id, context)
    }
  }

  private func write(
    _ payload: HTTP2Frame.FramePayload, on id: HTTP2StreamID, _ context: ChannelHandlerContext
  ) {
    context.write(wrapOutboundOut(HTTP2Frame(streamID: id, payload: payload)), promise: nil)
  }
}

extension PushHandler: ResponseSender {
  var canRespond: Bool { phase != .closed && !isClosing }

  func sentLate(_ context: ChannelHandlerContext) { closeIfDone(context) }

  func send(_ responses: [(HTTP2StreamID, PushResponse)], _ context: ChannelHandlerContext) {
    let isEach = faults.faults.answers == .each
    for (id, response) in responses where streams[id] != nil {
      streams[id] = nil
      write(response, on: id, context)
      if validator?.isAuthorityProven == true, !isAuthorized {
        isAuthorized = true
        adapt(context)
      }
      if isEach { context.flush() }
    }
    if !isEach { context.flush() }
  }
}
