import HTTPServer
import NIOCore
import NIOHTTP1
import NIOPosix

/// Serves the page over HTTP/1, one request of a connection after another.
struct PageServer: Sendable {
  typealias Connection = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>

  let respond: @Sendable (Request) async -> Response

  /// Listens when it returns its port, until the process ends.
  func listen(on host: String, _ port: Int) async throws -> Int {
    let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.backlog, value: 256)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      // A client that half-closes may still wait for the response.
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHTTP1()
          let connection = try Connection(
            wrappingChannelSynchronously: channel,
            configuration: .init(isOutboundHalfClosureEnabled: true))
          // It is normal for a browser to leave.
          Task { try? await serve(connection) }
        }
      }
      .bind(host: host, port: port).get()
    return server.localAddress?.port ?? port
  }

  private func serve(_ connection: Connection) async throws {
    try await connection.executeThenClose { inbound, outbound in
      var parts = inbound.makeAsyncIterator()
      do {
        while let request = try await Self.next(&parts, outbound) {
          let isLast = !request.head.isKeepAlive
          try await Self.write(await respond(request), to: request.head, outbound)
          if isLast { break }
        }
      } catch  where error is HTTPParserError || error is RequestTarget.Fault {
        let head = HTTPResponseHead(
          version: .http1_1, status: .badRequest,
          headers: ["connection": "close", "content-length": "0"])
        try await outbound.write(.head(head))
        try await outbound.write(.end(nil))
      }
      // Not closed immediately: unread bytes would turn the end of the response into a reset.
      outbound.finish()
      try await connection.channel.closeFuture.get()
    }
  }

  /// nil if there is no further request.
  private static func next(
    _ parts: inout NIOAsyncChannelInboundStream<HTTPServerRequestPart>.AsyncIterator,
    _ outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>
  ) async throws -> Request? {
    guard case .head(let head) = try await parts.next() else { return nil }
    if head.expectsContinue {
      try await outbound.write(.head(HTTPResponseHead(version: head.version, status: .continue)))
    }
    var body: [UInt8]? = []
    while let part = try await parts.next() {
      switch part {
      case .head: return nil
      case .body(let bytes):
        let isShort = (body?.count ?? 0) + bytes.readableBytes <= Request.bodyMax
        if isShort { body?.append(contentsOf: bytes.readableBytesView) } else { body = nil }
      case .end: return try Request(head, body: body)
      }
    }
    return nil
  }

  private static func write(
    _ response: Response, to request: HTTPRequestHead,
    _ outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>
  ) async throws {
    var head = HTTPResponseHead(
      version: request.version, status: response.status, headers: response.headers)
    switch response.body {
    case .whole(let bytes):
      head.headers.replaceOrAdd(name: "content-length", value: "\(bytes.count)")
      try await outbound.write(.head(head))
      if request.method != .HEAD {
        try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: bytes))))
      }
    case .stream(let write):
      try await outbound.write(.head(head))
      try await write(BodyWriter(outbound))
    }
    try await outbound.write(.end(nil))
  }
}
