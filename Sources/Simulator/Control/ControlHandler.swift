import HTTPServer
import Logging
import NIOCore
import NIOHTTP1

/// HTTP/1.1 for the control service. Pages in a browser must not reach it: requests with a foreign
/// host name or from another origin, including another port of this machine, are refused.
final class ControlHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private static let bodyMax = 1 << 20
  private static let names = ListenerNames(listeningOn: "127.0.0.1")

  private let service: ControlService
  private let logger: Logger
  private var head: HTTPRequestHead?
  private var body: [UInt8] = []
  private var isTooLong = false

  init(service: ControlService, logger: Logger) {
    self.service = service
    self.logger = logger
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      self.head = head
      body = []
      isTooLong = false
      if head.expectsContinue {
        context.writeAndFlush(
          wrapOutboundOut(.head(HTTPResponseHead(version: head.version, status: .continue))),
          promise: nil)
      }
    case .body(let part):
      isTooLong = isTooLong || body.count + part.readableBytes > Self.bodyMax
      if !isTooLong { body += part.readableBytesView }
    case .end:
      guard let head else { return }
      self.head = nil
      respond(head, context)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  private func respond(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
    let target: RequestTarget
    do throws(RequestTarget.Fault) {
      target = try head.target()
    } catch {
      return send(.fault(error.status, "\(error)"), head, context)
    }
    if let fault = Self.fault(of: head, target.authority) {
      send(.fault(403, fault), head, context)
      return
    }
    if isTooLong {
      send(.fault(413, "a body of more than \(Self.bodyMax) bytes"), head, context)
      return
    }
    let (path, query) = target.parts
    let request = ControlService.Request(
      method: head.method.rawValue, path: path, query: query, body: body)
    logger.debug("control: \(head.method.rawValue) \(head.uri)")
    let service = service
    let response = context.eventLoop.makeFutureWithTask { await service.response(to: request) }
    service.pendingResponses.add(response)
    response.assumeIsolated().whenSuccess { [self] in send($0, head, context) }
  }

  private func send(
    _ response: ControlService.Response, _ head: HTTPRequestHead, _ context: ChannelHandlerContext
  ) {
    guard context.channel.isActive else { return }
    var headers = HTTPHeaders()
    headers.add(name: "content-type", value: "application/json")
    headers.add(name: "content-length", value: "\(response.json.utf8.count + 1)")
    headers.add(name: "cache-control", value: "no-store")
    headers.add(name: "x-content-type-options", value: "nosniff")
    context.write(
      wrapOutboundOut(
        .head(
          HTTPResponseHead(
            version: head.version, status: HTTPResponseStatus(statusCode: response.status),
            headers: headers))), promise: nil)
    context.write(
      wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: response.json + "\n")))), promise: nil)
    let sent = context.eventLoop.makePromise(of: Void.self)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: sent)
    let channel = context.channel
    let isLast = !head.isKeepAlive
    let service = service
    sent.futureResult.whenComplete { _ in
      if isLast { channel.close(promise: nil) }
      if response.endsRun { service.requestShutdown() }
    }
  }

  /// The reason to refuse the request; nil to accept it.
  private static func fault(of head: HTTPRequestHead, _ authority: Authority?) -> String? {
    guard let authority, names.contains(authority) else { return "foreign Host" }
    // Not as a GET: a link on a foreign page must not lead here either.
    return PageOrigin.fault(isGet: false, at: authority) { head.headers[$0] }
  }
}
