import Glibc
import NIOCore

/// Why a service cannot listen.
package struct ListenError: Error, CustomStringConvertible {
  package enum Service: String, Sendable {
    case gateway, feedback, http2, channels, control, dashboard
  }

  package var service: Service
  package var host: String
  package var port: Int
  package var message: String
  /// The port is the problem, not the host.
  package var isPort: Bool

  package init(_ error: any Error, _ service: Service, _ host: String, _ port: Int) {
    self.service = service
    self.host = host
    self.port = port
    switch error {
    case let error as IOError:
      message = Errno(error.errnoCode).description
      isPort = error.errnoCode == EADDRINUSE || error.errnoCode == EACCES
    case is SocketAddressError.UnknownHost:
      message = "unknown host"
      isPort = false
    default:
      message = "\(error)"
      isPort = false
    }
  }

  package var description: String { "cannot listen on \(host) port \(port): \(message)" }
}
