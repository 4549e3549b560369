import Glibc
import Logging
import NIOConcurrencyHelpers
import NIOCore

/// A port that is listened on, and may be shut for a while.
final class Gate: Sendable {
  private struct State {
    var channel: any Channel
    /// Of several orders to shut it the last one counts.
    var order = 0
    var isShut = false
  }

  let port: Int
  private let logger: Logger
  private let bind: @Sendable (Int) -> EventLoopFuture<any Channel>
  private let state: NIOLockedValueBox<State>

  init(port: Int, logger: Logger, _ bind: @escaping @Sendable (Int) -> EventLoopFuture<any Channel>)
    async throws
  {
    self.logger = logger
    self.bind = bind
    let channel = try await bind(port).get()
    self.port = channel.localAddress?.port ?? port
    state = NIOLockedValueBox(State(channel: channel))
  }

  /// Who connects meanwhile is refused by the system itself. Shut when it comes back.
  func refuse(for milliseconds: Int) async {
    let (channel, order, wasShut) = state.withLockedValue { state in
      state.order += 1
      defer { state.isShut = true }
      return (state.channel, state.order, state.isShut)
    }
    let address = channel.localAddress
    let loop = channel.eventLoop
    if !wasShut { try? await channel.close().get() }
    let holder = wasShut ? -1 : address.map(Self.hold) ?? -1
    loop.scheduleTask(in: .milliseconds(Int64(milliseconds))) {
      if holder >= 0 { close(holder) }
      self.open(order)
    }
  }

  private func open(_ order: Int) {
    guard state.withLockedValue({ $0.order == order && $0.isShut }) else { return }
    bind(port).whenComplete { result in
      switch result {
      case .success(let channel):
        self.state.withLockedValue { state in
          state.channel = channel
          state.isShut = false
        }
      case .failure(let error):
        self.logger.error("port \(self.port) stays shut: \(error)")
      }
    }
  }

  /// A socket that is bound and does not listen: nobody else gets the port meanwhile.
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
