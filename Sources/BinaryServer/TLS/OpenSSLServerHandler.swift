import COpenSSL
import NIOCore
import NIOTLS

/// Server-side TLS with OpenSSL, between two memory buffers. Session tickets, if any, end the
/// handshake.
package final class OpenSSLServerHandler: ChannelDuplexHandler {
  package typealias InboundIn = ByteBuffer
  package typealias InboundOut = ByteBuffer
  package typealias OutboundIn = ByteBuffer
  package typealias OutboundOut = ByteBuffer

  private enum Phase {
    case handshaking
    case open
    /// Closed, or after an error.
    case dead
  }

  /// The maximum size of a TLS record.
  private static let recordSize = 16384
  /// How long sending the last bytes may take before the connection is closed without them.
  private static let timeout = TimeAmount.milliseconds(200)

  private let context: OpenSSLServerContext
  let ssl: OpaquePointer
  /// Buffers for received bytes and for bytes to send; `ssl` owns both.
  private let incoming: OpaquePointer
  private let outgoing: OpaquePointer
  private var phase = Phase.handshaking
  /// The number of encrypted bytes received.
  package private(set) var received = 0
  /// Whether the client closed its side, with or without close_notify.
  package private(set) var hasClientClosed = false
  private var hasSentCloseNotify = false

  package init(_ context: OpenSSLServerContext) throws(ServerTLSError) {
    guard let ssl = SSL_new(context.pointer) else {
      throw .broken(OpenSSLServerContext.lastError)
    }
    guard let incoming = BIO_new(BIO_s_mem()), let outgoing = BIO_new(BIO_s_mem()) else {
      SSL_free(ssl)
      throw .broken(OpenSSLServerContext.lastError)
    }
    SSL_set_bio(ssl, incoming, outgoing)
    SSL_set_accept_state(ssl)
    self.context = context
    self.ssl = ssl
    self.incoming = incoming
    self.outgoing = outgoing
  }

  deinit { SSL_free(ssl) }

  // MARK: Results of the handshake

  package var version: TLSBound? {
    TLSBound.allCases.first { $0.number == SSL_version(ssl) }
  }

  /// The client's certificate.
  package var peer: Certificate? { copenssl_peer_certificate(ssl).map(Certificate.init) }

  /// Call it once the client is known. Keeps the client's certificate without its public key, to
  /// save memory.
  package func dropPeerKey() { copenssl_drop_peer_key(ssl, context.nobodysKey) }

  // MARK: Receiving

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // In slices, because a BIO keeps as much memory as it ever held.
    var bytes = unwrapInboundIn(data)
    received &+= bytes.readableBytes
    while phase != .dead, !hasClientClosed,
      let slice = bytes.readSlice(length: min(bytes.readableBytes, Self.recordSize)),
      slice.readableBytes > 0
    {
      slice.withUnsafeReadableBytes { bytes in
        // A memory BIO accepts everything.
        _ = BIO_write(incoming, bytes.baseAddress, CInt(clamping: bytes.count))
      }
      if phase == .handshaking { handshake(context) }
      if phase == .open { decode(context) }
    }
    if BIO_ctrl_pending(incoming) == 0 { copenssl_empty_memory(incoming) }
    send(context)
    // NIO does not report the end of a read that closed the channel.
    if !context.channel.isActive { context.fireChannelReadComplete() }
  }

  private func handshake(_ context: ChannelHandlerContext) {
    ERR_clear_error()
    let result = SSL_do_handshake(ssl)
    if result == 1 {
      phase = .open
      // The tickets are sent too, before any other data.
      send(context)
      context.fireUserInboundEventTriggered(
        TLSUserEvent.handshakeCompleted(
          negotiatedProtocol: copenssl_has_http2(ssl) == 1 ? "h2" : nil))
    } else if SSL_get_error(ssl, result) != SSL_ERROR_WANT_READ {
      fail(context, .handshake(OpenSSLServerContext.lastError))
    }
  }

  /// Passes on the data of a slice together, however many TLS records it has.
  private func decode(_ context: ChannelHandlerContext) {
    while phase == .open, !hasClientClosed {
      var buffer = context.channel.allocator.buffer(capacity: Self.recordSize)
      var result: CInt = 0
      ERR_clear_error()
      repeat {
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: 1) { room in
          result = SSL_read(ssl, room.baseAddress, CInt(clamping: room.count))
          return Int(max(0, result))
        }
      } while result > 0 && buffer.writableBytes > 0
      let failure = result > 0 ? SSL_ERROR_NONE : SSL_get_error(ssl, result)
      let reason = failure == SSL_ERROR_SSL ? OpenSSLServerContext.lastError : ""
      if buffer.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(buffer)) }
      // The data may have ended the connection.
      if phase != .open { return }
      switch failure {
      case SSL_ERROR_NONE: continue
      case SSL_ERROR_WANT_READ: return
      case SSL_ERROR_ZERO_RETURN:
        hasClientClosed = true
        if hasSentCloseNotify { close(context: context, mode: .all, promise: nil) }
        context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
      default: fail(context, .broken(reason))
      }
    }
  }

  private func fail(_ context: ChannelHandlerContext, _ error: ServerTLSError) {
    phase = .dead
    // Sends the alert.
    send(context)
    context.fireErrorCaught(error)
  }

  package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .inputClosed = event as? ChannelEvent {
      if hasClientClosed { return }
      hasClientClosed = true
      clientLeft(context)
    }
    context.fireUserInboundEventTriggered(event)
  }

  package func channelInactive(context: ChannelHandlerContext) {
    if !hasClientClosed { clientLeft(context) }
    phase = .dead
    context.fireChannelInactive()
  }

  /// The client closed TCP without close_notify.
  private func clientLeft(_ context: ChannelHandlerContext) {
    switch phase {
    case .handshaking:
      phase = .dead
      context.fireErrorCaught(ServerTLSError.handshake("the client closed"))
    case .open: if !hasSentCloseNotify { context.fireErrorCaught(ServerTLSError.halfClose) }
    case .dead: break
    }
  }

  // MARK: Sending

  package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?)
  {
    let bytes = unwrapOutboundIn(data)
    guard phase == .open, !hasSentCloseNotify else {
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
      promise?.fail(ServerTLSError.broken(OpenSSLServerContext.lastError))
    }
  }

  /// Sends pending TLS records, if any.
  private func send(_ context: ChannelHandlerContext) {
    if BIO_ctrl_pending(outgoing) == 0 { return }
    emit(context, nil)
    context.flush()
  }

  /// Passes on pending TLS records.
  private func emit(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
    let count = BIO_ctrl_pending(outgoing)
    guard count > 0 || promise != nil else { return }
    var buffer = context.channel.allocator.buffer(capacity: count)
    if count > 0 {
      buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { room in
        Int(max(0, BIO_read(outgoing, room.baseAddress, CInt(clamping: room.count))))
      }
      if BIO_ctrl_pending(outgoing) == 0 { copenssl_empty_memory(outgoing) }
    }
    context.write(wrapOutboundOut(buffer), promise: promise)
  }

  /// Sends close_notify first if the connection is still open.
  package func close(
    context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?
  ) {
    if mode == .input {
      promise?.fail(ChannelError.operationUnsupported)
      return
    }
    guard phase == .open, !hasSentCloseNotify else {
      context.close(mode: mode, promise: promise)
      return
    }
    hasSentCloseNotify = true
    ERR_clear_error()
    SSL_shutdown(ssl)
    let sent = context.eventLoop.makePromise(of: Void.self)
    emit(context, sent)
    context.flush()
    // Closes anyway if the client does not read.
    let end = context.eventLoop.assumeIsolated().scheduleTask(in: Self.timeout) {
      if mode == .all { context.close(mode: .all, promise: nil) }
    }
    sent.futureResult.assumeIsolated().whenComplete { _ in
      end.cancel()
      context.close(mode: mode, promise: promise)
    }
  }
}

extension ChannelPipeline.SynchronousOperations {
  /// nil once the connection has ended.
  package var openSSL: OpenSSLServerHandler? { try? handler(type: OpenSSLServerHandler.self) }
}
