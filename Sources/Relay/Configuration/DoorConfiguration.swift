import HTTPServer

/// A door of the relay: where programs bring notifications that do not write the queue themselves.
package enum DoorConfiguration: Equatable, Sendable {
  case http(HTTPDoorConfiguration)
  case binary(BinaryDoorConfiguration)

  package var name: String {
    switch self {
    case .http(let door): door.name
    case .binary(let door): door.name
    }
  }

  /// The app that all of its notifications belong to; nil: each says so itself.
  package var app: String? {
    switch self {
    case .http(let door): door.app
    case .binary(let door): door.app
    }
  }
}

/// Apple's requests, as HTTP/1.1 and as HTTP/2 without TLS.
package struct HTTPDoorConfiguration: Equatable, Sendable {
  package var name = ""
  package var host = "127.0.0.1"
  /// 0 takes a free one.
  package var port = 8200
  /// Where the port is written to once it is open; nil: nowhere.
  package var portFile: String?
  /// A UNIX socket, in place of host and port.
  package var socket: String?
  /// The socket's permissions.
  package var socketMode = 0o660
  package var app: String?
  /// Who knows one of its lines may push; nil: whoever reaches the door.
  package var authorizationFile: String?
  /// How long a request waits for the service's answer.
  package var waitS = 30.0
  /// A connection that says nothing, or not all of a request, is closed after so long.
  package var idleS = 75.0
  package var connections = 1000

  /// Nobody reaches it from another machine.
  package var isLocal: Bool { socket != nil || Authority.isLoopback(host) }

  /// What the one who opens it should know.
  package var warnings: [String] {
    guard !isLocal, let authorizationFile else { return [] }
    return [
      "\(host) is not this machine alone: from elsewhere, whoever has a token of "
        + "\(authorizationFile) can push, and tokens and payloads cross the network without TLS, "
        + "unless a tunnel or a proxy before it has TLS"
    ]
  }
}
