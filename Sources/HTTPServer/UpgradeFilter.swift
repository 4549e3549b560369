import NIOCore
import NIOHTTP1

/// The parser's position in a connection.
final class ParserPlace {
  /// Between requests, or in the header lines.
  var isInHead = true
  /// The parser has stopped.
  var isBroken = false
}

/// Renames the field `Upgrade` before the parser sees it, because the parser stops after a request
/// that offers an upgrade. No upgrade is supported, so the offer is ignored (RFC 9110, 7.8).
final class UpgradeFilter: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private static let name = Array("upgrade:".utf8)
  /// Has the same length as the name that it replaces.
  private static let other = Array("ignored".utf8)

  private let place: ParserPlace
  private var pending = ByteBuffer()
  private var isAtLineStart = true

  init(_ place: ParserPlace) { self.place = place }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var more = unwrapInboundIn(data)
    if pending.readableBytes == 0 { pending = more } else { pending.writeBuffer(&more) }
    var isChecked = false
    while pending.readableBytes > 0, !place.isBroken {
      let end = nextCandidate(isChecked)
      if end > 0 {
        let piece = pending.readSlice(length: end)!
        isAtLineStart = piece.readableBytesView.last == UInt8(ascii: "\n")
        isChecked = false
        // The parser handles it during this call, so `place` then applies to the next byte.
        context.fireChannelRead(wrapInboundOut(piece))
      } else {
        guard rename() else { return }
        isChecked = true
      }
    }
  }

  /// The start of the next line that begins with U; the end of the bytes without one.
  private func nextCandidate(_ isChecked: Bool) -> Int {
    let bytes = pending.readableBytesView
    var isStart = isAtLineStart && !isChecked
    for (offset, byte) in bytes.enumerated() {
      if isStart, byte | 0x20 == UInt8(ascii: "u") { return offset }
      isStart = byte == UInt8(ascii: "\n")
    }
    return bytes.count
  }

  /// False if the rest of the name is still missing.
  private func rename() -> Bool {
    let start = pending.readableBytesView.prefix(Self.name.count)
    guard place.isInHead, zip(start, Self.name).allSatisfy({ $0 | 0x20 == $1 | 0x20 }) else {
      return true
    }
    guard start.count == Self.name.count else { return false }
    pending.setBytes(Self.other, at: pending.readerIndex)
    return true
  }
}

/// Follows the parser, and records its position.
final class ParserWatch: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart

  private let place: ParserPlace

  init(_ place: ParserPlace) { self.place = place }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var part = unwrapInboundIn(data)
    switch part {
    case .head(var head):
      place.isInHead = false
      if head.method == .CONNECT {
        // The parser stops after CONNECT, and tunnels are not supported.
        head.headers.replaceOrAdd(name: "connection", value: "close")
        part = .head(head)
      }
    case .body: break
    case .end: place.isInHead = true
    }
    context.fireChannelRead(wrapInboundOut(part))
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    place.isBroken = true
    context.fireErrorCaught(error)
  }
}
