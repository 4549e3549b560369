import CSystem

/// How soon we find out that a connection was cut without notice.
struct KeepAlive {
  /// Seconds of silence before the first probe; 0: no probes.
  private let idle: CInt

  private static let usual: CInt = 60
  /// The most that Linux accepts.
  private static let longest: CInt = 32767
  /// Probes that go unanswered before the connection is given up.
  private static let probes: CInt = 3

  /// Takes the caller's option: 0 is the default, a negative number means no probes.
  init(seconds: Int32) {
    idle = seconds == 0 ? Self.usual : min(max(seconds, 0), Self.longest)
  }

  func apply(to descriptor: CInt) {
    guard idle > 0 else { return }
    let tcp = CInt(IPPROTO_TCP)
    let interval = max(idle / 4, 1)
    _ = csystem_enable(descriptor, SOL_SOCKET, SO_KEEPALIVE)
    _ = csystem_set(descriptor, tcp, TCP_KEEPIDLE, idle)
    _ = csystem_set(descriptor, tcp, TCP_KEEPINTVL, interval)
    _ = csystem_set(descriptor, tcp, TCP_KEEPCNT, Self.probes)
    // Probes only cover silence; data that is not acknowledged has a timeout of its own.
    _ = csystem_set(
      descriptor, tcp, TCP_USER_TIMEOUT, (idle &+ interval &* Self.probes) &* 1000)
  }
}
