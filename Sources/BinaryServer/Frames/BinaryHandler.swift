import APNS
import Logging
import NIOCore
import NIOTLS

/// A provider's connection to a server of the binary interface: parses and validates frames,
/// answers the first invalid one with an error packet, and closes.
package final class BinaryHandler: ChannelInboundHandler {
  package typealias InboundIn = ByteBuffer
  package typealias OutboundOut = ByteBuffer

  private enum Phase {
    case validating
    /// Leaves further input in its buffer.
    case paused
    /// Skips the rest of one notification, then validates again.
    case ignoring
    /// Skips the rest of a rejected notification, then discards.
    case skipping
    /// Discards frame by frame.
    case discarding
    /// Discards without frame boundaries.
    case lost
  }

  private let rules: FrameRules
  private let limits: FrameLimits
  private let delegate: any BinaryConnectionDelegate
  private let logger: Logger

  private var phase = Phase.validating
  /// An incomplete frame.
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
      phase = .validating
      var nothing = ByteBuffer()
      take(&nothing, context)
    }
    if let dismissal = event as? ConnectionDismissed, !isClosing {
      phase = .discarding
      if dismissal.packet == nil {
        // Discard further input unread: this client gets no error packet.
        phase = .lost
        pending = ByteBuffer()
      }
      close(with: dismissal.packet, context)
    }
    // A close that the server began has its own timing.
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
    // Moved out of the property, because an error packet may close the connection immediately.
    var joined = pending
    pending = ByteBuffer()
    if joined.readableBytes == 0 {
      consume(&incoming, context)
      keep(incoming, context)
    } else {
      joined.writeBuffer(&incoming)
      let count = joined.readableBytes
      consume(&joined, context)
      // Avoids a copy of an incomplete frame for each of its pieces.
      if joined.readableBytes == count { pending = joined } else { keep(joined, context) }
    }
    delegate.endBatch()
  }

  /// Copies only the rest, because TLS reuses its buffer, and an idle connection should be small.
  private func keep(_ rest: ByteBuffer, _ context: ChannelHandlerContext) {
    guard rest.readableBytes > 0, phase != .lost else { return }
    pending = context.channel.allocator.buffer(capacity: rest.readableBytes)
    pending.writeImmutableBuffer(rest)
  }

  package func channelInactive(context: ChannelHandlerContext) {
    if pending.readableBytes > 0, phase == .validating {
      logger.info("the connection ended within a frame, \(pending.readableBytes) bytes into it")
    }
    logger.debug("closed")
    delegate.closed()
    context.fireChannelInactive()
  }

  package func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if ConnectionErrors.log(error, to: logger) { delegate.handshakeFailed() }
    // After a half-close, an event decides whether the connection ends.
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

  /// Handles the frame at the start of `bytes`. Returns its length; 0 if it is incomplete.
  @inline(__always)
  private func step(_ bytes: UnsafeRawBufferPointer, _ context: ChannelHandlerContext) -> Int {
    switch phase {
    case .validating:
      switch rules.check(bytes, limits: limits) {
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
          GracefulClose.begin(context.channel, after: .zero, ending: ending)
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
        phase = phase == .ignoring ? .validating : .discarding
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
    // Command 0 has no error packet.
    close(
      with: frame.command == .simple
        ? nil
        : ErrorPacket(
          status: ErrorPacket.shutdown, identifier: frame.notification.identifier ?? 0),
      context)
  }

  private func close(with packet: ErrorPacket?, _ context: ChannelHandlerContext) {
    // Before the error packet is sent, so that the server's records are up to date when the client
    // reads it.
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
