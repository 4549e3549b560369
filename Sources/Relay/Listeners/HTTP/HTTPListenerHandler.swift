import Foundation
import HTTPServer
import NIOCore
import NIOHTTP1

/// Handles the requests of an HTTP/1 connection, or the one of an HTTP/2 stream. Pipelined requests
/// are processed concurrently; the responses keep their order.
final class HTTPListenerHandler: ChannelDuplexHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// A response that waits for its turn.
  private struct Turn {
    var version: HTTPVersion
    var isLast: Bool
    var isHead: Bool
    /// The response header field that names the request, and its value; if nil, the relay chooses
    /// one.
    var name: (header: String, id: String?)
    var answer: ListenerResponse?
  }

  private static let mostUnderWay = 256
  private static let patience = TimeAmount.seconds(2)

  private let desk: RequestDesk
  private let idle: TimeAmount
  private let isStream: Bool
  private var context: ChannelHandlerContext?
  private var head: HTTPRequestHead?
  private var body: [UInt8] = []
  private var limit = BodyLimit.ofPush
  /// The body's part of the listener's room, if it needs one.
  private var share: BodyRoom.Share?
  /// Whether the whole request was read.
  private var isWhole = false
  /// The client waits for 100 Continue before it sends the body.
  private var owesContinue = false
  /// The number of the first element of `turns`.
  private var first = 0
  private var turns: [Turn] = []
  /// No further request is read: the connection closes after the responses.
  private var isEnding = false
  private var isClosing = false
  private var isReadHeld = false
  private var lastProgress = NIODeadline.now()
  private var clock: Scheduled<Void>?

  init(_ desk: RequestDesk, idle: TimeAmount, isStream: Bool = false) {
    self.desk = desk
    self.idle = idle
    self.isStream = isStream
  }

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    watch(context, in: idle)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    clock?.cancel()
    clock = nil
  }

  /// Closes a client that takes too long for a whole request, even if it keeps sending bytes.
  private func watch(_ context: ChannelHandlerContext, in time: TimeAmount) {
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    clock = context.eventLoop.scheduleTask(in: time) { bound.value.look() }
  }

  private func look() {
    guard let context else { return }
    let silence = NIODeadline.now() - lastProgress
    if turns.isEmpty, silence >= idle {
      context.close(promise: nil)
    } else {
      watch(context, in: turns.isEmpty ? max(.milliseconds(1), idle - silence) : idle)
    }
  }

  // MARK: Requests

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isEnding else { return }
    switch unwrapInboundIn(data) {
    case .head(let head):
      self.head = head
      isWhole = false
      owesContinue = false
      body.removeAll(keepingCapacity: true)
      limit = RequestRules.mayBeBatch(head.uri) ? desk.limit(of: request(head)) : .ofPush
      share = limit.needsRoom ? desk.share() : nil
      expectation(of: head, context)
    case .body(let bytes):
      owesContinue = false
      // If it is refused, the rest is not read: the connection ends with the response.
      guard let head else { return }
      guard body.count + bytes.readableBytes <= limit.bytes else {
        return refuse(head, limit.excess)
      }
      guard share?.grow(by: bytes.readableBytes) ?? true else {
        return refuse(head, RequestDesk.fullOfBatches)
      }
      body += bytes.readableBytesView
    case .end:
      isWhole = true
      guard let head else { return }
      self.head = nil
      lastProgress = .now()
      take(head)
    }
  }

  /// Old clients wait for 100 Continue before they send a longer body.
  private func expectation(of head: HTTPRequestHead, _ context: ChannelHandlerContext) {
    guard head.expectsContinue else { return }
    let length = head.headers.first(name: "content-length").flatMap { Int($0) }
    if let length, length > limit.bytes {
      refuse(head, limit.excess)
    } else {
      owesContinue = true
      writeContinue(context)
    }
  }

  /// Sends 100 Continue after the responses to earlier requests.
  private func writeContinue(_ context: ChannelHandlerContext) {
    guard owesContinue, turns.isEmpty, let head else { return }
    owesContinue = false
    context.writeAndFlush(
      wrapOutboundOut(.head(HTTPResponseHead(version: head.version, status: .continue))),
      promise: nil)
  }

  /// Responds without reading any further.
  private func refuse(_ head: HTTPRequestHead, _ answer: ListenerResponse) {
    isEnding = true
    self.head = nil
    (body, share) = ([], nil)
    desk.refused(answer.status)
    turns.append(
      Turn(
        version: head.version, isLast: true, isHead: head.method == .HEAD, name: Self.name(head),
        answer: answer))
    write()
  }

  /// With the body so far.
  private func request(_ head: HTTPRequestHead) -> ListenerRequest {
    ListenerRequest(
      head.method.rawValue, head.uri,
      head.headers.map { ($0.name.lowercased(), HTTPHeaders.trimmed($0.value)) },
      body: body, version: isStream ? .http2 : head.version == .http1_0 ? .http1_0 : .http1_1)
  }

  private func take(_ head: HTTPRequestHead) {
    let request = request(head)
    let share = share
    if share != nil { (body, self.share) = ([], nil) }
    let isLast = isStream || !head.isKeepAlive || desk.hasShut
    if isLast { isEnding = true }
    let number = first + turns.count
    turns.append(
      Turn(
        version: head.version, isLast: isLast, isHead: head.method == .HEAD, name: Self.name(head)))
    guard let loop = context?.eventLoop else { return }
    let bound = NIOLoopBound(self, eventLoop: loop)
    desk.take(request) { answer in
      // The body is read.
      withExtendedLifetime(share) {}
      if loop.inEventLoop {
        bound.value.fill(number, answer)
      } else {
        loop.execute { bound.value.fill(number, answer) }
      }
    }
  }

  // MARK: Responses

  /// APNs repeats the client's request ID in each response, exactly as the client wrote it.
  private static func name(_ head: HTTPRequestHead?) -> (header: String, id: String?) {
    let path = head.flatMap { try? $0.target() }?.path ?? head?.uri ?? ""
    let isPush = !["/1/", "/4/", "/v1/"].contains { path.hasPrefix($0) }
    let header = isPush ? "apns-id" : "apns-request-id"
    let said = head?.headers.first(name: header).flatMap { PushLimits.isUUID($0) ? $0 : nil }
    return (header, said)
  }

  private func fill(_ number: Int, _ answer: ListenerResponse) {
    guard context != nil, number >= first else { return }
    turns[number - first].answer = answer
    write()
  }

  /// Writes the responses that are next in order.
  private func write() {
    guard let context, !isClosing else { return }
    var count = 0
    for turn in turns {
      guard let answer = turn.answer else { break }
      write(turn, answer, context)
      count += 1
      if turn.isLast {
        isClosing = true
        break
      }
    }
    guard count > 0 else { return }
    turns.removeFirst(count)
    first += count
    lastProgress = .now()
    context.flush()
    if isClosing || isEnding && turns.isEmpty {
      close(context)
    } else {
      writeContinue(context)
      if isReadHeld, turns.count < Self.mostUnderWay {
        isReadHeld = false
        context.read()
      }
    }
  }

  private func write(_ turn: Turn, _ answer: ListenerResponse, _ context: ChannelHandlerContext) {
    var head = HTTPResponseHead(
      version: turn.version, status: HTTPResponseStatus(statusCode: answer.status))
    for (name, value) in answer.headers.sorted(by: { $0.key < $1.key }) {
      head.headers.add(name: name, value: value)
    }
    let id = turn.name.id ?? answer.headers[turn.name.header] ?? UUID().uuidString.lowercased()
    head.headers.replaceOrAdd(name: turn.name.header, value: id)
    if answer.status != 204 {
      head.headers.add(name: "content-length", value: "\(answer.body.utf8.count)")
    }
    if isStream {
      // A stream ends without a `connection` header.
    } else if turn.isLast {
      head.headers.add(name: "connection", value: "close")
    } else if turn.version == .http1_0 {
      head.headers.add(name: "connection", value: "keep-alive")
    }
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    if !answer.body.isEmpty, !turn.isHead {
      context.write(
        wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: answer.body)))), promise: nil)
    }
    context.write(wrapOutboundOut(.end(nil)), promise: nil)
  }

  /// Half-closes, and lets the peer close its side: unread bytes would turn the end of the response
  /// into a reset.
  private func close(_ context: ChannelHandlerContext) {
    isEnding = true
    isClosing = true
    // A stream with a fully read request has ended already.
    if isStream, isWhole { return }
    if isStream { return context.close(promise: nil) }
    context.close(mode: .output, promise: nil)
    let channel = context.channel
    context.eventLoop.scheduleTask(in: Self.patience) { channel.close(promise: nil) }
  }

  // MARK: The connection

  func read(context: ChannelHandlerContext) {
    if turns.count >= Self.mostUnderWay, !isClosing {
      isReadHeld = true
    } else {
      context.read()
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // A client that half-closes may still wait for its responses.
    if case .inputClosed = event as? ChannelEvent {
      isEnding = true
      if turns.isEmpty { context.close(promise: nil) }
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard error is HTTPParserError, !isEnding else {
      context.close(promise: nil)
      return
    }
    isEnding = true
    let status = error as? HTTPParserError == .headerOverflow ? 431 : 400
    desk.refused(status)
    turns.append(
      Turn(
        version: .http1_1, isLast: true, isHead: false, name: Self.name(head),
        answer: .refusal(status, "BadRequest", "not an HTTP request: \(error)")))
    write()
  }
}
