import COpenSSL
import NIOCore
import NIOTLS

/// Does what `NIOSSLServerHandler` does otherwise, by OpenSSL, between two buffers in memory.
/// OpenSSL puts session tickets on the wire as the last of its handshake.
final class TicketTLSHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private enum Phase {
    case handshaking
    case open
    /// An error, or the end of all.
    case dead
  }

  /// What a TLS record carries at most.
  private static let recordSize = 16384
  /// How long the last bytes may take to leave before the connection ends without them.
  private static let patience = TimeAmount.milliseconds(200)

  private let ssl: OpaquePointer
  /// What came from the client and what is to go there; both are the SSL's.
  private let incoming: OpaquePointer
  private let outgoing: OpaquePointer
  private var phase = Phase.handshaking
  /// The client has closed its side, in whatever way.
  private var isLeft = false
  private var hasSaidGoodbye = false

  init(_ context: TicketTLSContext) throws(TicketTLSError) {
    guard let ssl = SSL_new(context.pointer) else {
      throw .broken(TicketTLSContext.lastError)
    }
    guard let incoming = BIO_new(BIO_s_mem()), let outgoing = BIO_new(BIO_s_mem()) else {
      SSL_free(ssl)
      throw .broken(TicketTLSContext.lastError)
    }
    SSL_set_bio(ssl, incoming, outgoing)
    SSL_set_accept_state(ssl)
    self.ssl = ssl
    self.incoming = incoming
    self.outgoing = outgoing
  }

  deinit { SSL_free(ssl) }

  // MARK: What the handshake showed

  var version: TLSBound? {
    switch SSL_version(ssl) {
    case TLS1_VERSION: .tls1_0
    case TLS1_1_VERSION: .tls1_1
    case TLS1_2_VERSION: .tls1_2
    case TLS1_3_VERSION: .tls1_3
    default: nil
    }
  }

  /// The client's certificate in DER; nil where there is none.
  var peerCertificate: [UInt8]? {
    guard let certificate = copenssl_peer_certificate(ssl) else { return nil }
    defer { X509_free(certificate) }
    let count = i2d_X509(certificate, nil)
    guard count > 0 else { return nil }
    return [UInt8](unsafeUninitializedCapacity: Int(count)) { bytes, written in
      var next = bytes.baseAddress
      written = Int(i2d_X509(certificate, &next))
    }
  }

  // MARK: From the client

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if phase == .dead { return }
    unwrapInboundIn(data).withUnsafeReadableBytes { bytes in
      // A buffer in memory takes all there is.
      _ = BIO_write(incoming, bytes.baseAddress, CInt(clamping: bytes.count))
    }
    if phase == .handshaking { shake(context) }
    if phase == .open { decode(context) }
    emit(context, nil)
    context.flush()
  }

  private func shake(_ context: ChannelHandlerContext) {
    ERR_clear_error()
    let result = SSL_do_handshake(ssl)
    if result == 1 {
      phase = .open
      // The tickets among it: they are ahead of whatever is said next.
      emit(context, nil)
      context.flush()
      context.fireUserInboundEventTriggered(
        TLSUserEvent.handshakeCompleted(negotiatedProtocol: nil))
    } else if SSL_get_error(ssl, result) != SSL_ERROR_WANT_READ {
      fail(context, .handshake(TicketTLSContext.lastError))
    }
  }

  private func decode(_ context: ChannelHandlerContext) {
    while phase == .open, !isLeft {
      var buffer = context.channel.allocator.buffer(capacity: Self.recordSize)
      ERR_clear_error()
      var result: CInt = 0
      buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.recordSize) { room in
        result = SSL_read(ssl, room.baseAddress, CInt(clamping: room.count))
        return Int(max(0, result))
      }
      if result > 0 {
        context.fireChannelRead(wrapInboundOut(buffer))
        continue
      }
      switch SSL_get_error(ssl, result) {
      case SSL_ERROR_WANT_READ: return
      case SSL_ERROR_ZERO_RETURN:
        isLeft = true
        if hasSaidGoodbye { close(context: context, mode: .all, promise: nil) }
        context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
      default: fail(context, .broken(TicketTLSContext.lastError))
      }
    }
  }

  private func fail(_ context: ChannelHandlerContext, _ error: TicketTLSError) {
    phase = .dead
    // The alert that says so.
    emit(context, nil)
    context.flush()
    context.fireErrorCaught(error)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .inputClosed = event as? ChannelEvent {
      if isLeft { return }
      isLeft = true
      leave(context)
    }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    if !isLeft { leave(context) }
    phase = .dead
    context.fireChannelInactive()
  }

  /// The client is gone without a word.
  private func leave(_ context: ChannelHandlerContext) {
    switch phase {
    case .handshaking:
      phase = .dead
      context.fireErrorCaught(TicketTLSError.handshake("the client left"))
    case .open: if !hasSaidGoodbye { context.fireErrorCaught(TicketTLSError.half) }
    case .dead: break
    }
  }

  // MARK: To the client

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let bytes = unwrapOutboundIn(data)
    guard phase == .open, !hasSaidGoodbye else {
      promise?.fail(ChannelError.ioOnClosedChannel)
      return
    }
    var isWritten = true
    if bytes.readableBytes > 0 {
      ERR_clear_error()
      isWritten = bytes.withUnsafeReadableBytes { bytes in
        SSL_write(ssl, bytes.baseAddress, CInt(clamping: bytes.count)) == bytes.count
      }
    }
    if isWritten {
      emit(context, promise)
    } else {
      promise?.fail(TicketTLSError.broken(TicketTLSContext.lastError))
    }
  }

  /// Passes on what TLS has to send.
  private func emit(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
    let count = BIO_ctrl_pending(outgoing)
    guard count > 0 || promise != nil else { return }
    var buffer = context.channel.allocator.buffer(capacity: count)
    if count > 0 {
      buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { room in
        Int(max(0, BIO_read(outgoing, room.baseAddress, CInt(clamping: room.count))))
      }
    }
    context.write(wrapOutboundOut(buffer), promise: promise)
  }

  /// close_notify goes first, where there is anybody to be told.
  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    if mode == .input {
      promise?.fail(ChannelError.operationUnsupported)
      return
    }
    guard phase == .open, !hasSaidGoodbye else {
      context.close(mode: mode, promise: promise)
      return
    }
    hasSaidGoodbye = true
    ERR_clear_error()
    SSL_shutdown(ssl)
    let said = context.eventLoop.makePromise(of: Void.self)
    emit(context, said)
    context.flush()
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    // Whoever reads nothing is not waited for.
    let end = context.eventLoop.scheduleTask(in: Self.patience) {
      if mode == .all { bound.value.close(mode: .all, promise: nil) }
    }
    said.futureResult.whenComplete { _ in
      end.cancel()
      bound.value.close(mode: mode, promise: promise)
    }
  }
}
