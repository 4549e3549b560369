import BinaryServer
import Foundation
import HTTPServer
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix

/// Accepts Apple's requests over HTTP/1.1 and HTTP/2 without TLS, on TCP or on UNIX sockets.
package final class HTTPListener: RelayListener, @unchecked Sendable {
  package let name: String
  package let place: String
  /// The TCP port; 0 for a UNIX socket.
  package let port: Int
  package let warnings: [String]
  private let desk: RequestDesk
  private let group: MultiThreadedEventLoopGroup
  private let bound: [any Channel]
  private let connections: ListenerConnections
  private let socket: String?

  private static let mostStreams = 256
  private static let mostBytesOfHeaders = 16 * 1024

  package var figures: ListenerFigures.Shown { desk.figures.shown }

  /// Listens once it returns.
  package init(_ wanted: HTTPListenerConfiguration, _ relay: ListenerRelay) throws {
    let (listener, passed) = try Self.passed(wanted, relay.sockets)
    let desk = try RequestDesk(listener, relay)
    var logger = relay.log
    logger[metadataKey: "listener"] = "\(listener.name)"
    let connections = ListenerConnections(desk.figures, most: listener.connections, logger)
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    name = listener.name
    self.desk = desk
    self.connections = connections
    self.group = group
    socket = wanted.socket
    warnings = listener.warnings
    let idle = TimeAmount.milliseconds(Int64(listener.idleS * 1000))
    let bootstrap = ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 1024)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try connections.enter(channel)
          try channel.pipeline.syncOperations.addHandlers([
            // Stops reading from a client that does not read its responses.
            BackPressureHandler(),
            ProtocolChoice(within: idle) { version, channel in
              try Self.speak(version, channel, desk, idle: idle)
            },
          ])
        }
      }
    do {
      switch listener.port {
      case .systemd:
        bound = try passed.map { try bootstrap.listen(on: $0) }
        place = bound.map { $0.localAddress?.text ?? "" }.joined(separator: ", ")
      case .number(let port):
        if let path = listener.socket {
          bound = [try Self.listen(bootstrap, path, mode: listener.socketMode)]
          place = path
        } else {
          do {
            bound = [try bootstrap.bind(host: listener.host, port: port).wait()]
          } catch {
            let setting = "listeners.\(listener.name).port"
            throw RelayFault("\(ListenFailure(error, listener.host, port, setting: setting))")
          }
          place =
            "http://\(listener.host.contains(":") ? "[\(listener.host)]" : listener.host):"
            + "\(bound[0].localAddress?.port ?? port)"
        }
      }
    } catch {
      try? group.syncShutdownGracefully()
      let path = wanted.socket.map { "\($0): " } ?? ""
      throw RelayFault("listeners.\(listener.name): \(path)\(error)")
    }
    port = bound.lazy.compactMap { $0.localAddress?.port }.first ?? 0
    if let file = listener.portFile {
      try "\(port)\n".write(toFile: file, atomically: true, encoding: .utf8)
    }
  }

  /// systemd's sockets, and the settings with their address.
  private static func passed(
    _ wanted: HTTPListenerConfiguration, _ sockets: PassedSockets
  ) throws -> (HTTPListenerConfiguration, [ListeningSocket]) {
    guard let name = wanted.port.socketName else { return (wanted, []) }
    let setting = "listeners.\(wanted.name)"
    let passed: [ListeningSocket]
    do {
      passed = try sockets.named(name, canBeUnix: true)
    } catch {
      throw RelayFault("\(setting): \(error)")
    }
    var listener = wanted
    if let host = passed.mostOpenHost { listener.host = host } else { listener.socket = name }
    if let fault = listener.openFault {
      throw RelayFault("\(setting).authorization_file: \(fault)")
    }
    return (listener, passed)
  }

  private static func speak(
    _ version: ProtocolChoice.Version, _ channel: any Channel, _ desk: RequestDesk,
    idle: TimeAmount
  ) throws {
    let pipeline = channel.pipeline.syncOperations
    switch version {
    case .http1:
      try pipeline.addHTTP1()
      try pipeline.addHandler(HTTPListenerHandler(desk, idle: idle))
    case .http2:
      var connection = NIOHTTP2Handler.ConnectionConfiguration()
      connection.initialSettings = [
        HTTP2Setting(parameter: .maxConcurrentStreams, value: mostStreams),
        HTTP2Setting(parameter: .maxHeaderListSize, value: mostBytesOfHeaders),
      ]
      try pipeline.addHandler(GoAwayWatch())
      _ = try pipeline.configureHTTP2Pipeline(
        mode: .server, connectionConfiguration: connection,
        streamConfiguration: NIOHTTP2Handler.StreamConfiguration(),
        streamDelegate: StreamsIdle(idle, channel)
      ) { stream in
        stream.eventLoop.makeCompletedFuture {
          try stream.pipeline.syncOperations.addHandlers([
            StreamFrames(),
            HTTP2FramePayloadToHTTP1ServerCodec(),
            HTTPListenerHandler(desk, idle: idle, isStream: true),
          ])
        }
      }
    }
  }

  private static func listen(
    _ bootstrap: ServerBootstrap, _ path: String, mode: Int
  ) throws -> any Channel {
    // A killed relay leaves a socket that no process listens on.
    if isTaken(path) { throw RelayFault("another program listens there") }
    let channel = try bootstrap.bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true)
      .wait()
    guard chmod(path, mode_t(mode)) == 0 else {
      let reason = String(cString: strerror(errno))
      try? channel.close().wait()
      throw RelayFault(reason)
    }
    return channel
  }

  private static func isTaken(_ path: String) -> Bool {
    let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { Glibc.close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { room in
      for (index, byte) in path.utf8.prefix(room.count - 1).enumerated() { room[index] = byte }
    }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
  }

  package func refresh() throws { try desk.refresh() }

  package func shut() {
    // Clients that connect from now on wait for the next relay, if the socket is systemd's.
    for one in bound { try? one.close().wait() }
    desk.shut()
    if let socket { unlink(socket) }
  }

  package func close() {
    shut()
    let limit = Date().addingTimeInterval(2)
    while desk.figures.shown.waiting > 0, Date() < limit { usleep(10_000) }
    connections.closeAll()
    try? group.syncShutdownGracefully()
  }
}
