import Glibc
import Logging
import NIOConcurrencyHelpers
import NIOCore

/// A port that the server listens on. It can be closed for a while.
package final class Listener: Sendable {
  private struct State {
    var channel: any Channel
    /// Reserves the port while it is closed; -1 if the system refused that.
    var heldSocket: CInt?
    var isClosed = false
    /// The number of the last request; only that counts.
    var request = 0
    /// Runs the requests one at a time.
    var work: Task<Void, Never>?
  }

  package let port: Int
  private let logger: Logger
  private let bind: @Sendable (Int) -> EventLoopFuture<any Channel>
  private let state: NIOLockedValueBox<State>

  package init(
    port: Int, logger: Logger, _ bind: @escaping @Sendable (Int) -> EventLoopFuture<any Channel>
  ) async throws {
    self.logger = logger
    self.bind = bind
    let channel = try await bind(port).get()
    self.port = channel.localAddress?.port ?? port
    state = NIOLockedValueBox(State(channel: channel))
  }

  /// Closes the port for a while: the kernel refuses connections. Returns once it is closed.
  package func refuse(for milliseconds: Int) async {
    let request = await carryOut { await self.shut() }
    let loop = state.withLockedValue { $0.channel.eventLoop }
    loop.scheduleTask(in: .milliseconds(Int64(milliseconds))) {
      guard self.state.withLockedValue({ $0.request == request }) else { return }
      Task { await self.reopen() }
    }
  }

  /// Returns once the port is open.
  package func reopen() async { _ = await carryOut { await self.open() } }

  /// Runs a request, and returns its number once it is done.
  private func carryOut(_ action: @escaping @Sendable () async -> Void) async -> Int {
    let (work, request) = state.withLockedValue { state in
      let before = state.work
      let work = Task {
        await before?.value
        await action()
      }
      state.request += 1
      state.work = work
      return (work, state.request)
    }
    await work.value
    return request
  }

  /// Closes permanently: later requests, such as the end of `refuse`, have no effect.
  package func close() async {
    _ = await carryOut {
      let (channel, heldSocket) = self.state.withLockedValue { state in
        state.isClosed = true
        return (state.channel, state.heldSocket)
      }
      try? await channel.close().get()
      if let heldSocket, heldSocket >= 0 { Glibc.close(heldSocket) }
    }
  }

  private func shut() async {
    let (channel, isOpen) = state.withLockedValue {
      ($0.channel, $0.heldSocket == nil && !$0.isClosed)
    }
    guard isOpen else { return }
    let address = channel.localAddress
    try? await channel.close().get()
    state.withLockedValue { $0.heldSocket = address.map(Self.hold) ?? -1 }
  }

  private func open() async {
    guard let heldSocket = state.withLockedValue({ $0.isClosed ? nil : $0.heldSocket }) else {
      return
    }
    if heldSocket >= 0 { Glibc.close(heldSocket) }
    do {
      let channel = try await bind(port).get()
      state.withLockedValue { state in
        state.channel = channel
        state.heldSocket = nil
      }
    } catch {
      state.withLockedValue { $0.heldSocket = -1 }
      logger.error("port \(port) stays closed: \(error)")
    }
  }

  /// Binds a socket without listening, so that no other program takes the port.
  private static func hold(_ address: SocketAddress) -> CInt {
    let descriptor = socket(
      address.protocol == .inet6 ? AF_INET6 : AF_INET,
      CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return -1 }
    var on: CInt = 1
    setsockopt(
      descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<CInt>.size))
    _ = address.withSockAddr { address, size in Glibc.bind(descriptor, address, socklen_t(size)) }
    return descriptor
  }
}
