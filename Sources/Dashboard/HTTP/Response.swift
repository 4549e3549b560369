import NIOCore
import NIOHTTP1

/// The answer to a request.
struct Response: Sendable {
  enum Body: Sendable {
    case whole([UInt8])
    /// Written piece by piece for as long as the browser stays.
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
