import BinaryServer
import Logging
import NIOPosix
import Testing

@Suite struct ListenerTests {
  private static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  private static func listen() async throws -> Listener {
    try await Listener(port: 0, logger: silent) { port in
      ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .bind(host: "127.0.0.1", port: port)
    }
  }

  private static func connect(_ port: Int) async throws {
    try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connect(host: "127.0.0.1", port: port).get().close().get()
  }

  @Test func staysClosedWhateverIsRequestedLater() async throws {
    let listener = try await Self.listen()
    await listener.refuse(for: 3_600_000)
    await listener.close()
    await listener.reopen()
    await #expect(throws: NIOConnectionError.self) { try await Self.connect(listener.port) }
  }

  @Test func opensAgainAfterARefusal() async throws {
    let listener = try await Self.listen()
    await listener.refuse(for: 3_600_000)
    await #expect(throws: NIOConnectionError.self) { try await Self.connect(listener.port) }
    await listener.reopen()
    try await Self.connect(listener.port)
    await listener.close()
  }
}
