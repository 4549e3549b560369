import NIOCore
import NIOHPACK
import NIOHTTP2

extension PushHandler {
  /// The request is complete.
  func finish(_ id: HTTP2StreamID, _ context: ChannelHandlerContext) {
    guard let stream = streams.waiting[id], !stream.isWhole else { return }
    streams.waiting[id]?.isWhole = true
    // From here on the stream only waits for its response.
    streams.waiting[id]?.request.payload = ByteBuffer()
    var push = requests.push(stream.request, on: id)
    if phase == .discarding {
      push.topic = push.namedTopic
      recorder.discard(push, key: validator?.lastKey)
      streams.waiting[id] = nil
      return
    }
    switch validator?.validate(&push) ?? .refused(.missingProviderToken, since: nil) {
    case .accepted:
      if let step = services.replay?.take(push.token) { return play(step, push, context) }
      streams.validated(id)
      accept(push, context)
    case .refused(let reason, let time):
      streams.validated(id)
      refuse(push, reason, since: time, context)
    case .reset:
      streams.validated(id)
      reset(push, faults.faults.resetCode, context)
    }
  }

  func accept(_ push: Push, _ context: ChannelHandlerContext) {
    var push = push
    if let reason = validator?.carryOut(&push) { return refuse(push, reason, since: nil, context) }
    requests.identify(&push)
    recorder.accept(push, key: validator?.lastKey)
    // GOAWAY is sent once.
    switch hasSentGoAway ? nil : faults.endAfterAcceptance() {
    case nil: respond(push, nil, since: nil, context)
    case .shutdown: goAway(push, context)
    case .cut: cut(push, context)
    }
  }

  func refuse(
    _ push: Push, _ reason: PushReason, since time: Int64?, _ context: ChannelHandlerContext
  ) {
    logger.info("stream \(Int(push.id)) refused: \(reason.status) \(reason.word)")
    recorder.refuse(push, reason, key: validator?.lastKey)
    respond(push, reason, since: time, context)
  }

  /// Refuses a stream over the limit. The rest of its input is discarded.
  func refuseStream(
    _ id: HTTP2StreamID, _ headers: HPACKHeaders, _ context: ChannelHandlerContext
  ) {
    let request = requests.received(headers)
    var push = requests.push(request, on: id)
    push.topic = push.namedTopic
    // Only fills in the token: the stream is refused anyway.
    _ = services.rules.fault(of: request, &push.token)
    recorder.ignore(push, key: validator?.lastKey)
    logger.info("stream \(Int(id)) refused: more than \(limit.inForce) open streams")
    write(.rstStream(.refusedStream), on: id, context)
  }

  func reset(_ push: Push, _ number: UInt8, _ context: ChannelHandlerContext) {
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
    streams.waiting[push.id] = nil
    write(.rstStream(code), on: push.id, context)
  }

  func respond(
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

  /// Responses may still be sent.
  var canRespond: Bool { phase != .closed && !isClosing }

  func send(_ responses: [(HTTP2StreamID, PushResponse)], _ context: ChannelHandlerContext) {
    let isEach = faults.faults.answers == .each
    for (id, response) in responses where streams.waiting[id] != nil {
      streams.waiting[id] = nil
      write(response, on: id, context)
      if validator?.isAuthorityProven == true, settings.authorize() { adapt(context) }
      if settings.responded(isRejection: response.reason != nil) { adapt(context) }
      if isEach { context.flush() }
    }
    if !isEach { context.flush() }
  }
}
