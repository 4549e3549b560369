import APNS
import Logging
import NIOCore
import NIOTLS

/// One provider's connection to a server of the binary protocol: takes frames off the stream,
/// judges them, answers the first bad one with an error packet and closes.
package final class BinaryHandler: ChannelInboundHandler {
  package typealias InboundIn = ByteBuffer
  package typealias OutboundOut = ByteBuffer

  private enum Phase {
    case judging
    /// Leaves what comes next in its buffer.
    case paused
    /// Passes over the rest of one notification, then judges on.
    case ignoring
    /// Passes over the rest of a rejected notification, then discards.
    case skipping
    /// Discards frame by frame.
    case discarding
    /// Discards without knowing where frames begin.
    case lost
  }

  private let rules: FrameRules
  private let limits: FrameLimits
  private let delegate: any BinaryConnectionDelegate
  private let logger: Logger

  private var phase = Phase.judging
  /// The beginning of a frame that is not complete yet.
  private var pending = ByteBuffer()
  /// The server is closing the connection.
  private var isClosing = false

  package init(rules: FrameRules, delegate: any BinaryConnectionDelegate, logger: Logger) {
    self.rules = rules
    limits = rules.limits
    self.delegate = delegate
    self.logger = logger
  }

  package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted = event as? TLSUserEvent {
      logger.debug("connected")
      delegate.connected(context)
    }
    if event is ReadingResumed, phase == .paused {
      phase = .judging
      var nothing = ByteBuffer()
      take(&nothing, context)
    }
    if let dismissal = event as? ConnectionDismissed, !isClosing {
      phase = .discarding
      if dismissal.packet == nil {
        // What somebody sends who is told nothing is not looked at, nor kept.
        phase = .lost
        pending = ByteBuffer()
      }
      close(with: dismissal.packet, context)
    }
    // A close that the server began goes at its own pace.
    if case .inputClosed = event as? ChannelEvent, !isClosing { context.close(promise: nil) }
    context.fireUserInboundEventTriggered(event)
  }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var incoming = unwrapInboundIn(data)
    delegate.received(incoming.readableBytes)
    take(&incoming, context)
  }

  private func take(_ incoming: inout ByteBuffer, _ context: ChannelHandlerContext) {
    if phase == .lost { return }
    delegate.beginBatch()
    // Taken out meanwhile: an answer may close the connection at once.
    var joined = pending
    pending = ByteBuffer()
    if joined.readableBytes == 0 {
      consume(&incoming, context)
      keep(incoming, context)
    } else {
      joined.writeBuffer(&incoming)
      let count = joined.readableBytes
      consume(&joined, context)
      // A frame that is long in coming is not copied with each of its pieces.
      if joined.readableBytes == count { pending = joined } else { keep(joined, context) }
    }
    delegate.endBatch()
  }

  /// A copy, of no more than there is: TLS wants its buffer back, and an idle connection is small.
  private func keep(_ rest: ByteBuffer, _ context: ChannelHandlerContext) {
    guard rest.readableBytes > 0, phase != .lost else { return }
    pending = context.channel.allocator.buffer(capacity: rest.readableBytes)
    pending.writeImmutableBuffer(rest)
  }

  package func channelInactive(context: ChannelHandlerContext) {
    if pending.readableBytes > 0, phase == .judging {
      logger.info("the connection ended within a frame, \(pending.readableBytes) bytes into it")
    }
    logger.debug("closed")
    delegate.closed()
    context.fireChannelInactive()
  }

  package func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if ConnectionErrors.log(error, to: logger) { delegate.handshakeFailed() }
    // After a half close an event tells whether the connection ends.
    if !ConnectionErrors.isHalfClose(error) { context.close(promise: nil) }
  }

  private func consume(_ buffer: inout ByteBuffer, _ context: ChannelHandlerContext) {
    buffer.readWithUnsafeReadableBytes { bytes in
      var offset = 0
      while offset < bytes.count {
        let taken = step(UnsafeRawBufferPointer(rebasing: bytes[offset...]), context)
        if taken == 0 { break }
        offset += taken
      }
      return offset
    }
  }

  /// Handles the frame that `bytes` begins with. Returns its length, 0 if more has to come.
  @inline(__always)
  private func step(_ bytes: UnsafeRawBufferPointer, _ context: ChannelHandlerContext) -> Int {
    switch phase {
    case .judging:
      switch rules.judge(bytes, limits: limits) {
      case .incomplete: return 0
      case .accepted(let frame):
        if let rejection = delegate.rejection(of: frame) {
          return reject(rejection, bytes, context)
        }
        switch delegate.accepted(frame, bytes, context) {
        case .readOn: break
        case .pause: phase = .paused
        case .shutDown: shutDown(after: frame, context)
        case .close(let ending):
          phase = .discarding
          isClosing = true
          GentleClose.begin(context.channel, after: .zero, ending: ending)
        }
        return frame.length
      case .rejected(let rejection):
        return reject(rejection, bytes, context)
      }
    case .ignoring, .skipping, .discarding:
      switch FrameExtent.measure(bytes) {
      case .incomplete: return 0
      case .bytes(let length):
        if phase == .discarding {
          delegate.discarded(UnsafeRawBufferPointer(rebasing: bytes[..<length]))
        }
        phase = phase == .ignoring ? .judging : .discarding
        return length
      case .unknown:
        phase = .lost
        return bytes.count
      }
    case .paused: return 0
    case .lost: return bytes.count
    }
  }

  private func reject(
    _ rejection: Rejection, _ bytes: UnsafeRawBufferPointer, _ context: ChannelHandlerContext
  ) -> Int {
    var rejection = rejection
    switch delegate.rejected(&rejection, bytes) {
    case .ignore:
      logger.info("identifier \(rejection.identifier) was not answered")
      phase = .ignoring
    case .answer:
      logger.info(
        "command \(rejection.command) identifier \(rejection.identifier) rejected: status \(rejection.status) \(RejectStatus.text(rejection.status)): \(rejection.reason)"
      )
      phase = .skipping
      close(with: rejection.packet, context)
    }
    return step(bytes, context)
  }

  private func shutDown(after frame: Frame, _ context: ChannelHandlerContext) {
    phase = .discarding
    // Command 0 has no answers.
    close(
      with: frame.command == .simple
        ? nil
        : ErrorPacket(
          status: ErrorPacket.shutdown, identifier: frame.notification.identifier ?? 0),
      context)
  }

  private func close(with packet: ErrorPacket?, _ context: ChannelHandlerContext) {
    // Before the answer leaves: whoever reads it finds the server's records up to date.
    delegate.endBatch()
    isClosing = true
    delegate.close(with: packet, context)
  }

  package static func write(_ packet: ErrorPacket, _ context: ChannelHandlerContext) {
    var buffer = context.channel.allocator.buffer(capacity: ErrorPacket.size)
    buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: ErrorPacket.size) { room in
      guard let base = room.baseAddress else { return 0 }
      packet.encode(into: base)
      return ErrorPacket.size
    }
    context.writeAndFlush(NIOAny(buffer), promise: nil)
  }
}
