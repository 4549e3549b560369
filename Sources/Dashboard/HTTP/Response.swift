import NIOCore
import NIOHTTP1

/// What answers a request.
struct Response: Sendable {
  enum Body: Sendable {
    case whole([UInt8])
    /// Written piece by piece, for as long as the browser is there.
    case stream(@Sendable (BodyWriter) async throws -> Void)
  }

  var status: HTTPResponseStatus
  var headers: HTTPHeaders
  var body: Body
}

/// The body of a response that is under way. Waits where the browser does not read.
struct BodyWriter {
  private let outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>

  init(_ outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>) {
    self.outbound = outbound
  }

  func write(_ text: String) async throws {
    try await outbound.write(.body(.byteBuffer(ByteBuffer(string: text))))
  }
}
