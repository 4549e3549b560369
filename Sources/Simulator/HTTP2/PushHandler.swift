import BinaryServer
import Logging
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOSSL
import NIOTLS

/// One provider's connection to the HTTP/2 gateway. Takes the frames of all its streams: a
/// channel for each would cost several times as much.
final class PushHandler: ChannelDuplexHandler {
  typealias InboundIn = HTTP2Frame
  typealias OutboundIn = Never
  typealias OutboundOut = HTTP2Frame

  private enum Phase {
    /// In the handshake.
    case closed
    case judging
    /// By order leaves what comes next where it is.
    case stalled
    /// GOAWAY is sent, and what came before it is answered yet.
    case leaving
    /// Counts and throws away whatever else comes.
    case discarding
  }

  /// How long whoever was told to go may take: answers are on their way, and RST destroys them.
  private static let patience = TimeAmount.seconds(10)

  private let connection: Int
  private let services: HTTP2Services
  private let faults: ConnectionFaults
  private let logger: Logger

  private var phase = Phase.closed
  private var authority: ConnectionAuthority?
  /// With a certificate, or once a provider token was good.
  private var isAuthorized = false
  private var settings: PushSettings?
  private var streams: [HTTP2StreamID: PushStream] = [:]
  /// Came while it stalls.
  private var held: [HTTP2Frame] = []
  private let gate: FrameFilter
  private let writer: FrameWriter
  private var answers: PushAnswers
  private var credit = WindowCredit()
  private var use = WindowUse()
  private let limit = StreamsLimit()
  /// As the protocol counts them.
  private var openStreams = 0
  /// The highest stream that was begun.
  private var begun = HTTP2StreamID.rootStream
  /// Were one too many when they began.
  private var excess: Set<HTTP2StreamID> = []
  /// The highest stream whose request was looked at.
  private var last = HTTP2StreamID.rootStream
  private var identifiers: SplitMix64
  private var count = 0
  /// An order or an error is to end the connection.
  private var isEnding = false
  /// The client has closed its side.
  private var isLeft = false
  private var hasGoneAway = false
  private var isReading = false
  private var wantsRead = false

  // What the ledger and the records have not been given yet.
  private var tally = Tally()
  private var accepted: NotificationLines?
  private var fates: NotificationLines?
  private var recentPushes: [RecentPush] = []
  private let isSeen: Bool

  init(connection: Int, services: HTTP2Services, faults: ConnectionFaults, logger: Logger) {
    self.connection = connection
    self.services = services
    self.faults = faults
    self.logger = logger
    gate = FrameFilter(faults: faults, limit: limit)
    writer = FrameWriter(faults: faults, limit: limit)
    answers = PushAnswers()
    identifiers = faults.identifiers()
    isSeen = services.ledger.recentPushes != nil
    if services.records.accepted != nil || services.ledger.keeps > 0 {
      accepted = NotificationLines(tellsFate: false)
    }
    if services.records.ledger != nil { fates = NotificationLines(tellsFate: true) }
  }

  // MARK: How it begins and ends

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    // These come with every push, and nobody else wants them.
    case let event as StreamClosedEvent:
      streams[event.streamID] = nil
      openStreams -= 1
      return
    case is NIOHTTP2StreamCreatedEvent:
      openStreams += 1
      return
    case let event as NIOHTTP2WindowUpdatedEvent:
      if event.streamID == .rootStream, let left = event.inboundWindowSize { use.left = left }
      return
    case TLSUserEvent.handshakeCompleted(let negotiated): begin(context, negotiated)
    case FaultEvent.changed: adapt(context)
    case is ReadingResumed: wake(context)
    case ChannelEvent.inputClosed:
      isLeft = true
      leaveIfDone(context)
    default: break
    }
    context.fireUserInboundEventTriggered(event)
  }

  private func begin(_ context: ChannelHandlerContext, _ negotiated: String?) {
    services.ledger.connect()
    guard negotiated == "h2" else {
      logger.notice("no ALPN h2: \(negotiated ?? "none")")
      context.close(promise: nil)
      return
    }
    let pipeline = context.pipeline.syncOperations
    let certificate = try? pipeline.nioSSL_peerCertificate()
    let topics = certificate.map(CertificateTopics.all)
    authority = ConnectionAuthority(
      topics: topics, rule: services.rules.rules.topic, tokens: services.tokens,
      address: context.channel.remoteAddress?.host ?? "")
    isAuthorized = topics != nil
    if services.ledger.tellsConnections {
      let peer = PeerIdentity(context)
      services.ledger.identify(connection, tls: peer.tls, subject: peer.subject)
    }
    let settings = PushSettings(faults.faults, isAuthorized: isAuthorized)
    self.settings = settings
    phase = .judging
    logger.debug("connected")
    do {
      try pipeline.addHandlers(
        [writer, gate] as [any ChannelHandler], position: .before(self))
      try pipeline.addHandler(HTTP2Limits.handler(PushSettings.ours), position: .before(self))
    } catch {
      return context.close(promise: nil)
    }
    limit.set(settings.streams)
    write(.settings(.settings(settings.initial)), on: .rootStream, context)
    context.flush()
    guard let window = faults.faults.connectionWindowSize else { return }
    let difference = min(window, Int(Int32.max)) - PushSettings.window
    if difference > 0 {
      grant(difference, on: .rootStream, context)
      context.flush()
    } else {
      credit.withhold(-difference)
    }
  }

  /// Goes by the faults that came meanwhile.
  private func adapt(_ context: ChannelHandlerContext) {
    guard phase != .closed, let old = settings else { return }
    let new = PushSettings(faults.faults, isAuthorized: isAuthorized)
    settings = new
    if new == old { return }
    if new.streams != old.streams { limit.set(new.streams) }
    write(.settings(.settings(new.changes(from: old))), on: .rootStream, context)
    if !isReading { context.flush() }
  }

  func channelInactive(context: ChannelHandlerContext) {
    phase = .closed
    streams = [:]
    held = []
    answers.forget()
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
      // GOAWAY is on its way.
      end(context, .closeNotify)
    default:
      if ConnectionErrors.log(error, to: logger) { services.ledger.refuse() }
      // Whether that is the end is said by an event.
      if !ConnectionErrors.isHalfClose(error) { context.close(promise: nil) }
    }
  }

  private func end(_ context: ChannelHandlerContext, _ ending: Faults.Ending) {
    if isEnding { return }
    isEnding = true
    phase = .discarding
    answers.forget()
    GentleClose.begin(
      context.channel, after: .zero, fault: ending,
      patience: hasGoneAway ? Self.patience : GentleClose.patience)
  }

  /// Who has closed its side, or was told to go, has its answers first.
  private func leaveIfDone(_ context: ChannelHandlerContext) {
    if phase == .leaving, streams.isEmpty {
      end(context, faults.faults.ending)
    } else if isLeft, !isEnding, answers.waiting == 0, phase != .stalled {
      context.close(promise: nil)
    }
  }

  // MARK: Reading

  /// Whoever does not read is not read from: its answers would pile up.
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
    if !isReading {
      isReading = true
      beginBatch()
    }
    let frame = unwrapInboundIn(data)
    switch frame.payload {
    case .headers where frame.streamID > begun:
      begun = frame.streamID
      if openStreams >= limit.inForce { excess.insert(frame.streamID) }
    case .data(let data): use.count(Self.size(of: data))
    default: break
    }
    if phase == .stalled { held.append(frame) } else { take(frame, context) }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    isReading = false
    settle()
    let dropped = gate.takeDroppedData() + use.takeIgnored()
    if dropped > 0 {
      refill(dropped, .rootStream, isLast: true, context)
      context.flush()
    }
    if faults.faults.answers != .batch { send(context) }
    leaveIfDone(context)
    context.fireChannelReadComplete()
  }

  private func wake(_ context: ChannelHandlerContext) {
    guard phase == .stalled else { return }
    phase = .judging
    let frames = held
    held = []
    beginBatch()
    for frame in frames {
      if phase == .stalled { held.append(frame) } else { take(frame, context) }
    }
    settle()
    if faults.faults.answers != .batch { send(context) }
    context.flush()
    leaveIfDone(context)
  }

  private func take(_ frame: HTTP2Frame, _ context: ChannelHandlerContext) {
    let id = frame.streamID
    switch frame.payload {
    case .headers(let headers):
      tally.bytes += headers.headers.count
      if excess.remove(id) != nil { return refuseStream(id, headers.headers, context) }
      if streams[id] == nil {
        streams[id] = PushStream(request: ReceivedPush(headers.headers))
        if isSeen { streams[id]?.request.headers = headers.headers }
      }
      if headers.endStream { finish(id, context) }
    case .data(let data):
      guard case .byteBuffer(var bytes) = data.data else { return }
      tally.bytes += bytes.readableBytes
      let size = Self.size(of: data)
      streams[id]?.request.append(&bytes)
      refill(size, id, isLast: data.endStream, context)
      if data.endStream { finish(id, context) }
    case .rstStream: streams[id] = nil
    default: break
    }
  }

  /// What it takes of a window.
  private static func size(of data: HTTP2Frame.FramePayload.Data) -> Int {
    data.data.readableBytes + (data.paddingBytes.map { $0 + 1 } ?? 0)
  }

  /// Gives credit for what was read, once it is time.
  private func refill(
    _ size: Int, _ id: HTTP2StreamID, isLast: Bool, _ context: ChannelHandlerContext
  ) {
    let share = faults.faults.creditShare
    let whole = faults.faults.connectionWindowSize ?? PushSettings.window
    let grantable = credit.use(size, of: whole, share: share)
    if grantable > 0 { grant(grantable, on: .rootStream, context) }
    guard !isLast, let window = settings?.window else { return }
    let more = streams[id]?.credit.use(size, of: window, share: share) ?? 0
    if more > 0 { grant(more, on: id, context) }
  }

  private func grant(_ size: Int, on id: HTTP2StreamID, _ context: ChannelHandlerContext) {
    write(.windowUpdate(windowSizeIncrement: size), on: id, context)
    // What HTTP/2 told of the window before is told by now.
    if id == .rootStream { use.grant(size) }
  }

  // MARK: Judging

  /// All of a request has come.
  private func finish(_ id: HTTP2StreamID, _ context: ChannelHandlerContext) {
    guard let stream = streams[id], !stream.isWhole else { return }
    streams[id]?.isWhole = true
    let request = stream.request
    // Kept for its answer only.
    streams[id]?.request.payload = ByteBuffer()
    let identifier = request.identifier ?? PushIdentifier.make(&identifiers)
    if phase == .discarding {
      tally.discarded += 1
      fates?.append(
        request, stream: Int(id), identifier: identifier, topic: request.topic, key: nil,
        token: [], .discarded)
      see(Push(id: id, request: request, identifier: identifier, topic: request.topic), .discarded)
      streams[id] = nil
      return
    }
    last = max(last, id)
    let push = Push(id: id, request: request, identifier: identifier)
    judge(push, context)
  }

  private struct Push {
    var id: HTTP2StreamID
    var request: ReceivedPush
    var identifier: String
    var topic: String?
    var token: [UInt8] = []
  }

  private func judge(_ push: Push, _ context: ChannelHandlerContext) {
    var push = push
    if let reason = fault(of: &push) { return refuse(push, reason, since: nil, context) }
    if let gone = services.gone[push.token] {
      return refuse(push, gone.reason, since: gone.time, context)
    }
    if faults.isJudging, let reason = push.token.withUnsafeBytes(faults.badReason) {
      var time: Int64?
      if reason.tellsTime {
        time = WallClock.milliseconds
        services.feedback.append(
          FeedbackEntry(timestamp: WallClock.seconds, token: push.token))
      }
      return refuse(push, reason, since: time, context)
    }
    if faults.isReset() { return reset(push, context) }
    accept(push, context)
  }

  /// Why it is refused for what it is. Fills in its token and topic.
  private func fault(of push: inout Push) -> PushReason? {
    guard let authority else { return .missingProviderToken }
    let rules = services.rules
    let form = rules.fault(of: push.request, &push.token)
    if form == .badPath || form == .methodNotAllowed || form == .duplicateHeaders { return form }
    let now = Int64(WallClock.seconds)
    if let reason = authority.fault(of: push.request, at: now, faults.faults) { return reason }
    isProven = true
    if let form { return form }
    switch authority.topic(of: push.request) {
    case .failure(let fault): return fault.reason
    case .success(let topic): push.topic = topic
    }
    return rules.fault(ofToken: push.token) ?? rules.fault(ofTopic: push.topic ?? "")
      ?? push.request.payload.withUnsafeReadableBytes(rules.fault(ofPayload:))
  }

  /// A provider token was good, or there is a certificate: more streams once that is answered.
  private var isProven = false

  private func accept(_ push: Push, _ context: ChannelHandlerContext) {
    tally.accepted += 1
    count += 1
    note(push)
    // It is said once.
    switch hasGoneAway ? nil : faults.turn() {
    case nil: answer(push, nil, since: nil, context)
    case .shutdown: goAway(push, context)
    case .cut: cut(push, context)
    }
  }

  private func note(_ push: Push) {
    let key = authority?.lastKey
    accepted?.append(
      push.request, stream: Int(push.id), identifier: push.identifier, topic: push.topic, key: key,
      token: push.token)
    guard services.ledger.watchesDuplicates else { return see(push, .accepted) }
    let isDuplicate = push.token.withUnsafeBytes { token in
      push.request.payload.withUnsafeReadableBytes { payload in
        services.ledger.isDuplicate(token, payload, identifier: push.request.identifier)
      }
    }
    if isDuplicate { tally.duplicates += 1 }
    fates?.append(
      push.request, stream: Int(push.id), identifier: push.identifier, topic: push.topic, key: key,
      token: push.token, .accepted, isDuplicate: isDuplicate)
    see(push, .accepted, isDuplicate: isDuplicate)
  }

  /// Keeps what came for those who look on.
  private func see(_ push: Push, _ fate: Fate, isDuplicate: Bool = false) {
    if !isSeen { return }
    let payload = Array(push.request.payload.readableBytesView)
    let headers = (push.request.headers ?? [:]).map { name, value, _ in
      RecentPush.Header(
        name: name,
        value: name == "authorization"
          ? "\(value.prefix(7))… (\(value.utf8.count) bytes\(authority?.lastKey.map { ", key \($0)" } ?? ""))"
          : value)
    }
    var recentPush = RecentPush(
      time: WallClock.milliseconds, connection: connection,
      form: .http2(stream: Int(push.id), identifier: push.identifier, headers: headers),
      topic: push.topic ?? push.request.topic, token: push.token, bytes: payload,
      payload: payload.indices, fate: "", isDuplicate: isDuplicate)
    recentPush.take(fate)
    recentPushes.append(recentPush)
  }

  private func refuse(
    _ push: Push, _ reason: PushReason, since time: Int64?, _ context: ChannelHandlerContext
  ) {
    tally.reasons[reason.word, default: 0] += 1
    logger.info("stream \(Int(push.id)) refused: \(reason.status) \(reason.word)")
    fates?.append(
      push.request, stream: Int(push.id), identifier: push.identifier, topic: push.request.topic,
      key: authority?.lastKey, token: push.token, .refused(reason))
    see(push, .refused(reason))
    answer(push, reason, since: time, context)
  }

  /// It is one stream too many. What is still sent on it is not processed.
  private func refuseStream(
    _ id: HTTP2StreamID, _ headers: HPACKHeaders, _ context: ChannelHandlerContext
  ) {
    var request = ReceivedPush(headers)
    if isSeen { request.headers = headers }
    var push = Push(
      id: id, request: request,
      identifier: request.identifier ?? PushIdentifier.make(&identifiers), topic: request.topic)
    // For the record alone: the stream is refused whatever it asks for.
    _ = services.rules.fault(of: request, &push.token)
    ignore(push)
    logger.info("stream \(Int(id)) refused: more than \(limit.inForce) at once")
    write(.rstStream(.refusedStream), on: id, context)
  }

  private func ignore(_ push: Push) {
    tally.ignored += 1
    fates?.append(
      push.request, stream: Int(push.id), identifier: push.identifier, topic: push.topic,
      key: authority?.lastKey, token: push.token, .ignored)
    see(push, .ignored)
  }

  private func reset(_ push: Push, _ context: ChannelHandlerContext) {
    let code = HTTP2ErrorCode(networkCode: Int(faults.faults.resetCode))
    if code == .refusedStream {
      ignore(push)
    } else {
      tally.accepted += 1
      note(push)
    }
    logger.info("stream \(Int(push.id)) reset: \(code)")
    streams[push.id] = nil
    write(.rstStream(code), on: push.id, context)
  }

  // MARK: Ends by order

  private func goAway(_ push: Push, _ context: ChannelHandlerContext) {
    tally.shutdowns += 1
    hasGoneAway = true
    let manner = faults.faults.goaway
    logger.info("GOAWAY, \(manner.rawValue), after \(count) accepted, stream \(Int(last))")
    if manner != .immediate { answer(push, nil, since: nil, context) }
    settle()
    send(context)
    let above = streams.keys.filter { $0 > last }
    tally.discarded += above.count
    for id in above { streams[id] = nil }
    gate.close(above: manner == .immediate ? 0 : UInt32(Int(last)))
    writer.goAway(
      last: UInt32(Int(last)), error: faults.faults.goawayError,
      reason: faults.faults.goawayReason)
    switch manner {
    case .open: break
    case .graceful: phase = .leaving
    case .immediate: end(context, faults.faults.ending)
    }
  }

  /// Ends, or stalls, without a word.
  private func cut(_ push: Push, _ context: ChannelHandlerContext) {
    let ending = faults.faults.cutEnding
    logger.info("\(ending.rawValue) after \(count) accepted, stream \(Int(push.id))")
    // What was answered before it is known; it is not.
    settle()
    send(context)
    if ending == .stall {
      answer(push, nil, since: nil, context)
      phase = .stalled
      context.pipeline.fireUserInboundEventTriggered(FaultEvent.stall(.notifications))
    } else {
      end(context, ending)
    }
  }

  // MARK: Answering

  private func answer(
    _ push: Push, _ reason: PushReason?, since time: Int64?, _ context: ChannelHandlerContext
  ) {
    let answer = PushAnswer(identifier: push.identifier, reason: reason, time: time)
    if reason == nil, faults.isUnanswered() { return }
    let delay = faults.answerDelay()
    if delay == .zero {
      answers.add(push.id, answer)
      if !isReading || faults.faults.answers == .batch { schedule(context) }
      return
    }
    answers.late += 1
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    context.eventLoop.scheduleTask(in: delay) {
      let (me, context) = bound.value
      guard me.phase != .closed, !me.isEnding else { return }
      me.answers.late -= 1
      me.answers.add(push.id, answer)
      me.schedule(context)
    }
  }

  /// Sends what waits: in a while where answers are to leave together, else now, or with the
  /// others of this read.
  private func schedule(_ context: ChannelHandlerContext) {
    if faults.faults.answers != .batch {
      if !isReading {
        send(context)
        leaveIfDone(context)
      }
    } else if !answers.isTimed {
      answers.isTimed = true
      let time = Int64(faults.faults.answerBatchTime ?? 20)
      let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
      context.eventLoop.scheduleTask(in: .milliseconds(time)) {
        let (me, context) = bound.value
        me.answers.isTimed = false
        guard me.phase != .closed, !me.isEnding else { return }
        me.send(context)
        me.leaveIfDone(context)
      }
    }
  }

  private func send(_ context: ChannelHandlerContext) {
    let due = answers.take()
    if due.isEmpty { return }
    let isEach = faults.faults.answers == .each
    for (id, answer) in due where streams[id] != nil {
      streams[id] = nil
      respond(id, answer, context)
      if isProven, !isAuthorized {
        isAuthorized = true
        adapt(context)
      }
      if isEach { context.flush() }
    }
    if !isEach { context.flush() }
  }

  private func respond(
    _ id: HTTP2StreamID, _ answer: PushAnswer, _ context: ChannelHandlerContext
  ) {
    var headers = HPACKHeaders()
    headers.reserveCapacity(2)
    headers.add(name: ":status", value: answer.reason.map { "\($0.status)" } ?? "200")
    headers.add(name: "apns-id", value: answer.identifier, indexing: .nonIndexable)
    let body = answer.body
    write(.headers(.init(headers: headers, endStream: body == nil)), on: id, context)
    if let body {
      write(
        .data(.init(data: .byteBuffer(ByteBuffer(string: body)), endStream: true)), on: id,
        context)
    }
  }

  private func write(
    _ payload: HTTP2Frame.FramePayload, on id: HTTP2StreamID, _ context: ChannelHandlerContext
  ) {
    context.write(wrapOutboundOut(HTTP2Frame(streamID: id, payload: payload)), promise: nil)
  }

  // MARK: Keeping record

  private func beginBatch() {
    accepted?.beginBatch(connection: connection)
    fates?.beginBatch(connection: connection)
  }

  /// Passes on what came of this batch, so that no push costs a lock.
  private func settle() {
    tally.discarded += gate.takeDropped()
    let ledger = services.ledger
    ledger.add(&tally, of: connection, ledger.keeps > 0 ? accepted : nil)
    ledger.recentPushes?.add(&recentPushes)
    if let record = services.records.accepted {
      accepted?.hand(to: record)
    } else {
      accepted?.clear()
    }
    if let record = services.records.ledger { fates?.hand(to: record) }
  }
}
