import NIOCore
import NIOHTTP1

/// Where the parser of a connection is.
final class ParserPlace {
  /// Between requests, or in the lines before a body.
  var isInHead = true
  /// It reads nothing more.
  var isBroken = false
}

/// Renames `Upgrade` before the parser sees it, which reads nothing behind a request that offers an
/// upgrade. Nothing is upgraded here, so the offer is ignored (RFC 9110, 7.8).
final class UpgradeFilter: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private static let name = Array("upgrade:".utf8)
  /// As long as what it replaces.
  private static let other = Array("ignored".utf8)

  private let place: ParserPlace
  private var pending = ByteBuffer()
  private var isAtLineStart = true

  init(_ place: ParserPlace) { self.place = place }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var more = unwrapInboundIn(data)
    if pending.readableBytes == 0 { pending = more } else { pending.writeBuffer(&more) }
    var isJudged = false
    while pending.readableBytes > 0, !place.isBroken {
      let end = nextCandidate(isJudged)
      if end > 0 {
        let piece = pending.readSlice(length: end)!
        isAtLineStart = piece.readableBytesView.last == UInt8(ascii: "\n")
        isJudged = false
        // The parser has read it when this returns, so that the place is the next byte's.
        context.fireChannelRead(wrapInboundOut(piece))
      } else {
        guard rename() else { return }
        isJudged = true
      }
    }
  }

  /// Where the next line with a U in front begins; behind the last byte if none does.
  private func nextCandidate(_ isJudged: Bool) -> Int {
    let bytes = pending.readableBytesView
    var isStart = isAtLineStart && !isJudged
    for (offset, byte) in bytes.enumerated() {
      if isStart, byte | 0x20 == UInt8(ascii: "u") { return offset }
      isStart = byte == UInt8(ascii: "\n")
    }
    return bytes.count
  }

  /// False: the rest of the name is still to come.
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

/// Behind the parser: notes where it is.
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
        // The parser reads nothing behind it, and there is no tunnel here.
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
