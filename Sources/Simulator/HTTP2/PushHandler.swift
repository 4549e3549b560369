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
  /// The last response was a rejection.
  private var isRejected = false
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
  /// The time of the handshake, and the GOAWAY that its age brings.
  private var began = NIODeadline.now()
  private var retirement: Scheduled<Void>?

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
    isAuthorized = topics != nil
    if services.ledger.tellsConnections {
      services.ledger.identify(connection, tls: peer.tls, subject: peer.subject)
    }
    let settings = PushSettings(faults.faults, isAuthorized: isAuthorized)
    self.settings = settings
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
    scheduleRetirement(context)
    let new = PushSettings(faults.faults, isAuthorized: isAuthorized, isRejected: isRejected)
    settings = new
    if new == old { return }
    if new.streams != old.streams { limit.set(new.streams) }
    write(.settings(.settings(new.changes(from: old))), on: .rootStream, context)
    if !scheduler.isReading { context.flush() }
  }

  func channelInactive(context: ChannelHandlerContext) {
    phase = .closed
    giveBack(streams.keys)
    streams = [:]
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

  private func close(
    _ context: ChannelHandlerContext, _ ending: Faults.Ending, after pause: TimeAmount = .zero
  ) {
    if isClosing { return }
    isClosing = true
    phase = .discarding
    giveBack(streams.keys)
    scheduler.forget()
    GracefulClose.begin(
      context.channel, after: pause, fault: ending,
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
    switch validator?.validate(&push) ?? .refused(.missingProviderToken, since: nil) {
    case .accepted:
      if let step = services.replay?.take(push.token) { return play(step, push, context) }
      lastValidated = max(lastValidated, id)
      accept(push, context)
    case .refused(let reason, let time):
      lastValidated = max(lastValidated, id)
      refuse(push, reason, since: time, context)
    case .reset:
      lastValidated = max(lastValidated, id)
      reset(push, faults.faults.resetCode, context)
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

  private func reset(_ push: Push, _ number: UInt8, _ context: ChannelHandlerContext) {
    let code = HTTP2ErrorCode(networkCode: Int(number))
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
    if faults.faults.goaway != .immediate { respond(push, nil, since: nil, context) }
    goAway(
      faults.faults.goaway, error: faults.faults.goawayError, reason: faults.faults.goawayReason,
      context)
  }

  private func goAway(
    _ manner: Faults.Goaway, error: UInt8, reason: String?, _ context: ChannelHandlerContext
  ) {
    recorder.shutDown()
    hasSentGoAway = true
    logger.info(
      "GOAWAY, \(manner.rawValue), after \(recorder.acceptedCount) accepted, stream \(Int(lastValidated))"
    )
    endBatch()
    scheduler.sendAll(context)
    let above = streams.keys.filter { $0 > lastValidated }
    recorder.discard(above.count)
    giveBack(above)
    for id in above { streams[id] = nil }
    filter.close(above: manner == .immediate ? 0 : UInt32(Int(lastValidated)))
    writer.goAway(last: UInt32(Int(lastValidated)), error: error, reason: reason)
    switch manner {
    case .open: break
    case .graceful: phase = .draining
    case .immediate: close(context, faults.faults.ending)
    }
  }

  /// GOAWAY at the age that the faults demand.
  private func scheduleRetirement(_ context: ChannelHandlerContext) {
    retirement?.cancel()
    guard let age = faults.goawayAge else { return }
    retirement = later(began + age - NIODeadline.now(), context) { me, context in
      guard me.canRespond, !me.hasSentGoAway, me.phase == .validating else { return }
      let faults = me.faults.faults
      me.inBatch {
        me.goAway(faults.goaway, error: faults.goawayError, reason: faults.goawayReason, context)
      }
      me.closeIfDone(context)
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

  // MARK: A recording

  /// Answers as the service did.
  private func play(
    _ step: Replay.Step, _ push: Push, _ context: ChannelHandlerContext
  ) {
    streams[push.id]?.step = step
    streams[push.id]?.token = push.token
    var push = push
    push.delay = step.delay
    switch step.answer {
    // Above the last stream of a GOAWAY, so that the client may send it again.
    case .lost: break
    default: lastValidated = max(lastValidated, push.id)
    }
    switch step.answer {
    case .accepted: accept(push, context)
    case .refused(let reason):
      let time = reason.tellsTime ? WallClock.milliseconds : nil
      refuse(push, reason, since: time, context)
    case .reset(let code):
      later(step.delay, context) { me, context in
        guard me.canRespond, me.streams[push.id] != nil else { return }
        me.inBatch { me.reset(push, code, context) }
        context.flush()
      }
    case .silence: recorder.ignore(push, key: validator?.lastKey)
    case .lost:
      streams[push.id]?.lost = push
      later(step.delay, context) { me, context in
        guard me.canRespond, me.streams[push.id]?.lost != nil, let replay = me.services.replay
        else { return }
        // The recorded end has happened, on another connection.
        if !replay.end(step, on: context.channel) { me.inBatch { me.playNext(push, context) } }
      }
    }
  }

  private func end(_ end: RecordedEnd, _ context: ChannelHandlerContext) {
    guard canRespond, !hasSentGoAway else { return }
    switch end.manner {
    case .close(let ending):
      logger.info("\(ending.rawValue), as recorded")
      // RST would destroy the responses that the client has not read.
      close(context, ending, after: GracefulClose.pause)
    case .goAway(let error, let reason):
      inBatch {
        // GOAWAY with a higher ID does not say that the client may send these again.
        for (id, stream) in streams where id < lastValidated {
          if let lost = stream.lost { playNext(lost, context) }
        }
        goAway(.graceful, error: error, reason: reason, context)
      }
      closeIfDone(context)
    }
  }

  /// A push that cannot be lost any more gets the answer that followed.
  private func playNext(_ push: Push, _ context: ChannelHandlerContext) {
    streams[push.id]?.lost = nil
    if let step = services.replay?.take(push.token) { return play(step, push, context) }
    lastValidated = max(lastValidated, push.id)
    accept(push, context)
  }

  /// The answers that these streams did not get are for the next pushes to their devices.
  private func giveBack(_ ids: some Sequence<HTTP2StreamID>) {
    guard let replay = services.replay else { return }
    for id in ids {
      if let step = streams[id]?.step { replay.giveBack(step, streams[id]?.token ?? []) }
      streams[id]?.step = nil
    }
  }

  /// Outside of a read, records in a batch of its own.
  private func inBatch(_ work: () -> Void) {
    if scheduler.isReading { return work() }
    recorder.beginBatch()
    work()
    endBatch()
  }

  @discardableResult
  private func later(
    _ delay: TimeAmount, _ context: ChannelHandlerContext,
    _ work: @escaping (PushHandler, ChannelHandlerContext) -> Void
  ) -> Scheduled<Void> {
    let bound = NIOLoopBound((self, context, work), eventLoop: context.eventLoop)
    return context.eventLoop.scheduleTask(in: delay) {
      let (me, context, work) = bound.value
      work(me, context)
    }
  }

  // MARK: Responding

  private func respond(
    _ push: Push, _ reason: PushReason?, since time: Int64?, _ context: ChannelHandlerContext
  ) {
    if reason == nil, faults.dropsResponse() { return }
    scheduler.add(
      PushResponse(push, reason, since: time), on: push.id, after: push.delay, context)
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
      let wasRejected = isRejected
      isRejected = response.reason != nil
      if isRejected != wasRejected, faults.faults.rejectedStreams != nil { adapt(context) }
      if isEach { context.flush() }
    }
    if !isEach { context.flush() }
  }
}
