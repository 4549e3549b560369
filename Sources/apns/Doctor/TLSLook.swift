import APNSLibrary
import BinaryServer
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import Simulator

/// What a service shows of itself to a client that takes any version and any certificate,
/// shows none, and says nothing: what the library, which is strict, has no reason to tell.
struct TLSLook: Sendable {
  /// What the service said first, in clear.
  var hello = HelloBytes()
  /// Its own first.
  var certificates: [Certificate] = []
  var isThrough = false
  var application: String?

  /// Waits for no longer than the peer's time for connecting.
  static func take(_ place: ServicePlace, peer: Peer, isHTTP2: Bool) -> TLSLook {
    var tls = TLSConfiguration.makeClientConfiguration()
    tls.minimumTLSVersion = .tlsv1
    if isHTTP2 { tls.applicationProtocols = ["h2"] }
    guard let context = try? NIOSSLContext(configuration: tls) else { return TLSLook() }
    let time = TimeAmount.milliseconds(Int64(peer.connectTimeoutMS))
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let promise = loop.makePromise(of: TLSLook.self)
    let name = place.serverName
    let proxy = peer.proxyHost.map { _ in
      ProxyKnock.request(to: place, user: peer.proxyUser, password: peer.proxyPassword)
    }
    ClientBootstrap(group: loop)
      .connectTimeout(time)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let witness = TLSWitness(promise)
          let watch = HelloWatch(witness)
          let tls: NIOSSLClientHandler
          let verify: NIOSSLCustomVerificationCallback = { certificates, verdict in
            witness.saw(certificates)
            verdict.succeed(.certificateVerified)
          }
          // A name that SNI has no place for, such as an address, is not said.
          if let named = try? NIOSSLClientHandler(
            context: context, serverHostname: name, customVerificationCallback: verify)
          {
            tls = named
          } else {
            tls = try NIOSSLClientHandler(
              context: context, serverHostname: nil, customVerificationCallback: verify)
          }
          if let proxy { try channel.pipeline.syncOperations.addHandler(ProxyKnock(proxy)) }
          try channel.pipeline.syncOperations.addHandlers([watch, tls, witness])
        }
      }
      .connect(
        host: peer.proxyHost ?? place.host,
        port: Int(peer.proxyHost == nil ? place.port : peer.proxyPort)
      )
      .whenComplete { result in
        switch result {
        case .success(let channel):
          let end = channel.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
          channel.closeFuture.whenComplete { _ in end.cancel() }
        case .failure: promise.succeed(TLSLook())
        }
      }
    return (try? promise.futureResult.wait()) ?? TLSLook()
  }
}

/// Behind TLS: sees how the handshake ends, and ends the connection.
private final class TLSWitness: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let promise: EventLoopPromise<TLSLook>
  private var isTold = false
  var look = TLSLook()

  init(_ promise: EventLoopPromise<TLSLook>) { self.promise = promise }

  func saw(_ certificates: [NIOSSLCertificate]) {
    look.certificates = certificates.compactMap {
      (try? $0.toDERBytes()).flatMap { Certificate(der: $0) }
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted(let application) = event as? TLSUserEvent {
      look.isThrough = true
      look.application = application
      context.close(promise: nil)
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) { tell() }
  func handlerRemoved(context: ChannelHandlerContext) { tell() }

  private func tell() {
    if isTold { return }
    isTold = true
    promise.succeed(look)
  }
}

/// Ahead of TLS: keeps what the service says first.
private final class HelloWatch: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private let witness: TLSWitness

  init(_ witness: TLSWitness) { self.witness = witness }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    witness.look.hello.add(unwrapInboundIn(data).readableBytesView)
    context.fireChannelRead(data)
  }
}
