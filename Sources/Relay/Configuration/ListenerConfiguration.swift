import HTTPServer

/// A listener of the relay, for programs that do not write to the queue themselves.
package enum ListenerConfiguration: Equatable, Sendable {
  case http(HTTPListenerConfiguration)
  case binary(BinaryListenerConfiguration)

  package var name: String {
    switch self {
    case .http(let listener): listener.name
    case .binary(let listener): listener.name
    }
  }

  /// The app of all its notifications; nil if each names its own.
  package var app: String? {
    switch self {
    case .http(let listener): listener.app
    case .binary(let listener): listener.app
    }
  }
}

/// A listener for Apple's requests, over HTTP/1.1 and HTTP/2 without TLS.
package struct HTTPListenerConfiguration: Equatable, Sendable {
  package var name = ""
  package var host = "127.0.0.1"
  /// 0 takes a free port.
  package var port = 8200
  /// The file that receives the port once it is open; nil for none.
  package var portFile: String?
  /// A UNIX socket, instead of host and port.
  package var socket: String?
  /// The socket's permissions.
  package var socketMode = 0o660
  package var app: String?
  /// Clients with a token from this file may push; nil allows every client.
  package var authorizationFile: String?
  /// How long a request waits for its outcome.
  package var waitS = 30.0
  /// A connection that stays silent, or does not complete a request, for this long is closed.
  package var idleS = 75.0
  package var connections = 1000

  /// Unreachable from other machines.
  package var isLocal: Bool { socket != nil || Authority.isLoopback(host) }

  /// Warnings for the operator.
  package var warnings: [String] {
    guard !isLocal, let authorizationFile else { return [] }
    return [
      "\(host) is reachable from other machines: anyone with a token of "
        + "\(authorizationFile) can push, and tokens and payloads cross the network without TLS, "
        + "unless a tunnel or proxy in front of it adds TLS"
    ]
  }
}
