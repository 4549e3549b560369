import BinaryServer
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import Simulator
import Testing

/// A client of the tests' own.
final class Provider: Sendable {
  /// How a connection went, seen from here.
  struct Story: Sendable {
    var bytes: [UInt8] = []
    /// Ended with close_notify.
    var isClean = false
    var errors: [String] = []
    /// Length of what each TLS record carried, handshake left out.
    var records: [Int] = []
  }

  enum Certificate { case own, none }

  /// Hundreds of tests begin at the same time, and each waits for its turn on the processors.
  static let patience = TimeAmount.minutes(10)

  let channel: any Channel
  private let story: EventLoopFuture<Story>
  private let handshake: EventLoopFuture<Void>

  init(
    port: Int, _ directory: CertificateDirectory, certificate: Certificate = .own,
    serverName: String? = nil, tlsMax: TLSVersion? = nil
  ) async throws {
    var tls = TLSConfiguration.makeClientConfiguration()
    tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(directory.ca))
    tls.maximumTLSVersion = tlsMax
    // 24 bytes of each record are not the sender's.
    tls.cipherSuites = "ECDHE-RSA-AES128-GCM-SHA256"
    if case .own = certificate {
      tls.certificateChain = try NIOSSLCertificate.fromPEMFile(directory.provider)
        .map { .certificate($0) }
      tls.privateKey = .privateKey(try NIOSSLPrivateKey(file: directory.provider, format: .pem))
    }
    let context = try NIOSSLContext(configuration: tls)
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let told = loop.makePromise(of: Story.self)
    let shaken = loop.makePromise(of: Void.self)
    story = told.futureResult
    handshake = shaken.futureResult
    channel = try await ClientBootstrap(group: loop)
      .connectTimeout(Self.patience)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let listener = Listener(told: told, shaken: shaken)
          let pipeline = channel.pipeline.syncOperations
          try pipeline.addHandler(RecordCounter(listener))
          try pipeline.addHandler(
            try NIOSSLClientHandler(context: context, serverHostname: serverName))
          try pipeline.addHandler(listener)
        }
      }
      .connect(host: "127.0.0.1", port: port).get()
    let channel = channel
    loop.scheduleTask(in: Self.patience) { channel.close(mode: .all, promise: nil) }
  }

  func connected() async throws { try await handshake.get() }

  func version() async throws -> TLSVersion? {
    try await channel.nioSSL_tlsVersion().get()
  }

  func send(_ bytes: [UInt8]) async throws {
    try await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
  }

  /// Says that it is done and waits until the gateway agrees: it has read all by then.
  func finish() async throws -> Story {
    channel.close(promise: nil)
    return try await story.get()
  }

  /// Waits until the gateway ends the connection.
  func end() async throws -> Story { try await story.get() }

  private final class Listener: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    var story = Story()
    private let told: EventLoopPromise<Story>
    private let shaken: EventLoopPromise<Void>

    init(told: EventLoopPromise<Story>, shaken: EventLoopPromise<Void>) {
      self.told = told
      self.shaken = shaken
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if case .handshakeCompleted = event as? TLSUserEvent { shaken.succeed() }
      if case .shutdownCompleted = event as? TLSUserEvent { story.isClean = true }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      story.bytes += unwrapInboundIn(data).readableBytesView
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      story.errors.append("\(error)")
      shaken.fail(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
      shaken.fail(ChannelError.eof)
      told.succeed(story)
    }
  }

  /// Looks at TLS from outside.
  private final class RecordCounter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let listener: Listener
    private var pending = ByteBuffer()

    init(_ listener: Listener) { self.listener = listener }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      pending.writeImmutableBuffer(unwrapInboundIn(data))
      while let length = pending.getInteger(at: pending.readerIndex + 3, as: UInt16.self),
        pending.readableBytes >= 5 + Int(length)
      {
        if pending.getInteger(at: pending.readerIndex, as: UInt8.self) == 23 {
          listener.story.records.append(Int(length) - 24)
        }
        pending.moveReaderIndex(forwardBy: 5 + Int(length))
      }
      context.fireChannelRead(data)
    }
  }
}
