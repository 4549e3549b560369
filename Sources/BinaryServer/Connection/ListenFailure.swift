import Glibc
import NIOCore

/// The reason why a port cannot be opened, in one sentence for all programs.
package struct ListenFailure: CustomStringConvertible {
  private let host: String
  private let port: Int
  /// The option or configuration key that sets the port.
  private let setting: String
  private let reason: String
  private let isTaken: Bool
  /// Whether the port is the problem, and not the host.
  package let isPort: Bool

  package init(_ error: any Error, _ host: String, _ port: Int, setting: String) {
    let code = (error as? IOError)?.errnoCode
    self.init(
      errno: code ?? 0, host, port, setting: setting,
      reason: code == nil
        ? error is SocketAddressError.UnknownHost ? "unknown host" : "\(error)" : nil)
  }

  package init(
    errno code: CInt, _ host: String, _ port: Int, setting: String, reason: String? = nil
  ) {
    self.host = host
    self.port = port
    self.setting = setting
    self.reason = reason ?? String(cString: strerror(code))
    isTaken = code == EADDRINUSE
    isPort = isTaken || code == EACCES
  }

  package var description: String {
    isTaken
      ? "port \(port) of \(host) is in use already: give another one with \(setting), or end the "
        + "program that listens there ('ss -ltnp' names it)"
      : "cannot listen on \(host) port \(port): \(reason)"
  }
}
