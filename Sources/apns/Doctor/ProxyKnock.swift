import NIOCore

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Asks a proxy for a way, and steps aside once it is free. What comes behind it waits.
final class ProxyKnock: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer

  private let request: String
  private var answer: [UInt8] = []

  init(_ request: String) { self.request = request }

  static func request(to place: ServicePlace, user: String?, password: String?) -> String {
    let host = place.host.contains(":") ? "[\(place.host)]" : place.host
    var text = "CONNECT \(host):\(place.port) HTTP/1.1\r\nHost: \(host):\(place.port)\r\n"
    if let user {
      let both = Data("\(user):\(password ?? "")".utf8).base64EncodedString()
      text += "Proxy-Authorization: Basic \(both)\r\n"
    }
    return text + "\r\n"
  }

  // TLS hears of the connection when there is one.
  func channelActive(context: ChannelHandlerContext) {
    context.writeAndFlush(NIOAny(ByteBuffer(string: request)), promise: nil)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    answer += unwrapInboundIn(data).readableBytesView
    guard answer.count < 8192 else { return context.close(promise: nil) }
    guard answer.suffix(4).elementsEqual("\r\n\r\n".utf8) else { return }
    guard answer.dropFirst(9).first == UInt8(ascii: "2") else {
      return context.close(promise: nil)
    }
    context.fireChannelActive()
    context.pipeline.syncOperations.removeHandler(self, promise: nil)
  }
}
