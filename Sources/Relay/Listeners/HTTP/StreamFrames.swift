import NIOCore
import NIOHPACK
import NIOHTTP2

/// Stands between a stream and its translation to HTTP/1.
///
/// A client may name the host in `:authority`, in `host`, or in both if they are equal (RFC 9113,
/// 8.3.1). It arrives as `Host`: twice if they differ, and empty if it is missing.
///
/// END_STREAM is set on the last frame of a response, as APNs does, and not on an additional empty
/// one, which some clients parse as JSON.
final class StreamFrames: ChannelDuplexHandler {
  typealias InboundIn = HTTP2Frame.FramePayload
  typealias InboundOut = HTTP2Frame.FramePayload
  typealias OutboundIn = HTTP2Frame.FramePayload
  typealias OutboundOut = HTTP2Frame.FramePayload

  private static let authority = ":authority"
  private var hasHead = false
  /// The last frame, held until it is known whether it ends the response.
  private var last: (payload: HTTP2Frame.FramePayload, promise: EventLoopPromise<Void>?)?

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !hasHead, case .headers(var frame) = unwrapInboundIn(data) else {
      return context.fireChannelRead(data)
    }
    hasHead = true
    let (authority, hosts) = (frame.headers[Self.authority], frame.headers["host"])
    // The translation refuses a request without `:authority`, and ignores `:authority` if there is
    // a `host`.
    if authority.isEmpty {
      var headers = HPACKHeaders([(Self.authority, hosts.first ?? "")])
      headers.add(contentsOf: frame.headers)
      frame.headers = headers
    } else if !hosts.isEmpty, hosts != authority {
      frame.headers.add(name: "host", value: authority[0])
    }
    context.fireChannelRead(wrapInboundOut(.headers(frame)))
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let payload = unwrapOutboundIn(data)
    if case .data(let end) = payload, end.endStream, end.data.readableBytes == 0,
      let last = last?.payload.ended
    {
      self.last?.payload = last
      self.last?.promise.setOrCascade(to: promise)
      return writeLast(context)
    }
    writeLast(context)
    last = (payload, promise)
  }

  private func writeLast(_ context: ChannelHandlerContext) {
    guard let (payload, promise) = last else { return }
    last = nil
    context.write(wrapOutboundOut(payload), promise: promise)
  }

  func flush(context: ChannelHandlerContext) {
    writeLast(context)
    context.flush()
  }
}

extension HTTP2Frame.FramePayload {
  /// The same frame with END_STREAM; nil if it cannot have it.
  fileprivate var ended: Self? {
    switch self {
    case .headers(var frame):
      if frame.headers[":status"].first?.hasPrefix("1") ?? true { return nil }
      frame.endStream = true
      return .headers(frame)
    case .data(var frame):
      frame.endStream = true
      return .data(frame)
    default: return nil
    }
  }
}
