import CSystem

/// How soon we find out that a connection was cut without notice.
struct KeepAlive {
  /// Silence before the first probe; 0: no probes.
  private let idleSeconds: CInt

  /// The most that Linux accepts.
  private static let maxSeconds: CInt = 32767
  /// Unanswered probes before the connection is abandoned.
  private static let probes: CInt = 3

  /// Takes the caller's option: 0 is the default, a negative number means no probes. The kernel counts
  /// in seconds.
  init(milliseconds: Int32) {
    let given = milliseconds == 0 ? 60_000 : Int64(max(milliseconds, 0))
    idleSeconds = CInt(truncatingIfNeeded: min((given &+ 999) / 1000, Int64(Self.maxSeconds)))
  }

  func apply(to descriptor: CInt) {
    guard idleSeconds > 0 else { return }
    let tcp = CInt(IPPROTO_TCP)
    let intervalSeconds = max(idleSeconds / 4, 1)
    _ = csystem_enable(descriptor, SOL_SOCKET, SO_KEEPALIVE)
    _ = csystem_set(descriptor, tcp, TCP_KEEPIDLE, idleSeconds)
    _ = csystem_set(descriptor, tcp, TCP_KEEPINTVL, intervalSeconds)
    _ = csystem_set(descriptor, tcp, TCP_KEEPCNT, Self.probes)
    // Probes only cover silence; unacknowledged data has a separate timeout.
    _ = csystem_set(
      descriptor, tcp, TCP_USER_TIMEOUT, (idleSeconds &+ intervalSeconds &* Self.probes) &* 1000)
  }
}
