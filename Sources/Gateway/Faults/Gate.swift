import Glibc
import Logging
import NIOConcurrencyHelpers
import NIOCore

/// A port that is listened on, and may be shut for a while.
final class Gate: Sendable {
  private struct State {
    var channel: any Channel
    /// Keeps the port from others while it is shut; -1 where the system would not have it.
    var holder: CInt?
    var isClosed = false
    /// Of several orders the last one counts.
    var order = 0
    /// Orders are carried out one after the other.
    var work: Task<Void, Never>?
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
    let order = await carryOut { await self.shut() }
    let loop = state.withLockedValue { $0.channel.eventLoop }
    loop.scheduleTask(in: .milliseconds(Int64(milliseconds))) {
      guard self.state.withLockedValue({ $0.order == order }) else { return }
      Task { await self.reopen() }
    }
  }

  /// Open when it comes back.
  func reopen() async { _ = await carryOut { await self.open() } }

  /// The number of the order, once it is carried out.
  private func carryOut(_ act: @escaping @Sendable () async -> Void) async -> Int {
    let (work, order) = state.withLockedValue { state in
      let before = state.work
      let work = Task {
        await before?.value
        await act()
      }
      state.order += 1
      state.work = work
      return (work, state.order)
    }
    await work.value
    return order
  }

  /// For good: orders that come later, from a refusal that ends just then, change nothing.
  func close() async {
    _ = await carryOut {
      let (channel, holder) = self.state.withLockedValue { state in
        state.isClosed = true
        return (state.channel, state.holder)
      }
      try? await channel.close().get()
      if let holder, holder >= 0 { Glibc.close(holder) }
    }
  }

  private func shut() async {
    let (channel, isOpen) = state.withLockedValue { ($0.channel, $0.holder == nil && !$0.isClosed) }
    guard isOpen else { return }
    let address = channel.localAddress
    try? await channel.close().get()
    state.withLockedValue { $0.holder = address.map(Self.hold) ?? -1 }
  }

  private func open() async {
    guard let holder = state.withLockedValue({ $0.isClosed ? nil : $0.holder }) else { return }
    if holder >= 0 { Glibc.close(holder) }
    do {
      let channel = try await bind(port).get()
      state.withLockedValue { state in
        state.channel = channel
        state.holder = nil
      }
    } catch {
      state.withLockedValue { $0.holder = -1 }
      logger.error("port \(port) stays shut: \(error)")
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
