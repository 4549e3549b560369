import NIOCore
import NIOHTTP1

/// The response to a request.
struct Response: Sendable {
  enum Body: Sendable {
    case whole([UInt8])
    /// Written in pieces until the browser leaves.
    case stream(@Sendable (BodyWriter) async throws -> Void)
  }

  var status: HTTPResponseStatus
  var headers: HTTPHeaders
  var body: Body
}

/// Writes a response's body. Waits if the browser does not read.
struct BodyWriter {
  private let outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>

  init(_ outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>) {
    self.outbound = outbound
  }

  func write(_ text: String) async throws {
    try await outbound.write(.body(.byteBuffer(ByteBuffer(string: text))))
  }
}
