import NIOPosix
import Testing

@testable import Gateway

@Suite struct GateTests {
  @Test func staysClosedWhateverIsOrderedLater() async throws {
    let group = MultiThreadedEventLoopGroup.singleton
    let gate = try await Gate(port: 0, logger: Stage.silent) { port in
      ServerBootstrap(group: group).bind(host: "127.0.0.1", port: port)
    }
    await gate.refuse(for: 3_600_000)
    await gate.close()
    await gate.reopen()
    await #expect(throws: NIOConnectionError.self) {
      try await ClientBootstrap(group: group).connect(host: "127.0.0.1", port: gate.port).get()
    }
  }

  @Test func opensAgainAfterARefusal() async throws {
    let group = MultiThreadedEventLoopGroup.singleton
    let gate = try await Gate(port: 0, logger: Stage.silent) { port in
      ServerBootstrap(group: group).bind(host: "127.0.0.1", port: port)
    }
    await gate.refuse(for: 3_600_000)
    await #expect(throws: NIOConnectionError.self) {
      try await ClientBootstrap(group: group).connect(host: "127.0.0.1", port: gate.port).get()
    }
    await gate.reopen()
    let channel = try await ClientBootstrap(group: group)
      .connect(host: "127.0.0.1", port: gate.port).get()
    try await channel.close().get()
    await gate.close()
  }
}
