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

  /// The keys of its ports.
  var ports: [(key: String, port: ListeningPort)] {
    switch self {
    case .http(let listener): [("port", listener.port)]
    case .binary(let listener):
      [("port", listener.port)] + (listener.feedbackPort.map { [("feedback_port", $0)] } ?? [])
    }
  }

  /// The app of all its notifications; nil if each names its own.
  package var app: String? {
    switch self {
    case .http(let listener): listener.app
    case .binary(let listener): listener.app
    }
  }

  enum Kind: String, CaseIterable { case http, binary }

  func write(_ text: inout OptionText) {
    switch self {
    case .http(let listener):
      text.say("type", "http", "Apple's requests over HTTP/1.1 and HTTP/2, without TLS")
      for option in HTTPListenerConfiguration.options { option.write(listener, &text) }
    case .binary(let listener):
      text.say("type", "binary", "the binary interface, which Apple switched off in 2021")
      for option in BinaryListenerConfiguration.options { option.write(listener, &text) }
    }
  }
}

/// A listener for Apple's requests, over HTTP/1.1 and HTTP/2 without TLS.
package struct HTTPListenerConfiguration: Equatable, Sendable {
  package var name = ""
  package var host = "127.0.0.1"
  package var port: ListeningPort = 8200
  package var portFile: String?
  package var socket: String?
  package var socketMode = 0o660
  package var app: String?
  package var authorizationFile: String?
  package var waitS = 30.0
  package var idleS = 75.0
  package var connections = 1000

  /// Unreachable from other machines.
  package var isLocal: Bool { socket != nil || Authority.isLoopback(host) }

  /// Why it must not open without `authorization_file`.
  package var openFault: String? {
    isLocal || authorizationFile != nil
      ? nil : "is missing: \(host) is reachable from other machines, and anyone there could push"
  }

  /// Warnings for the operator.
  package var warnings: [String] {
    guard !isLocal, let authorizationFile else { return [] }
    return [
      "\(host) is reachable from other machines: anyone with a token of "
        + "\(authorizationFile) can push, and tokens and payloads cross the network without TLS, "
        + "unless a tunnel or proxy in front of it adds TLS"
    ]
  }

  static let options: [RelayOption<Self>] = [
    RelayOption.text("host", \.host, "the address to listen on").printed {
      $0.socket == nil && $0.port.socketName == nil
    },
    RelayOption.listening("port", \.port, "0: a free port; systemd:NAME: a socket unit's")
      .printed { $0.socket == nil },
    .path("port_file", \.portFile, "file that receives the port"),
    .path("socket", \.socket, "a UNIX socket, instead of host and port"),
    .value(
      "socket_mode", \.socketMode, "its permissions", shown: { String($0, radix: 8) }
    ) { section, key, preset in
      guard let mode = try section.text(key) else { return preset }
      guard let number = Int(mode, radix: 8), (0...0o777).contains(number) else {
        throw section.fault(key, "must be permissions such as 660, not '\(mode)'")
      }
      return number
    },
    .text("app", \.app, "accept only this app's topics; default: all apps'"),
    .file(
      "authorization_file", \.authorizationFile,
      "a bearer token and its apps per line; required if other machines can connect"),
    .duration("wait", \.waitS, 0...3600, "how long a request waits for its outcome"),
    .duration(
      "idle_timeout", \.idleS, 1...86_400, "closes a silent connection after this time"),
    .integer("connections", \.connections, 1...100_000, "maximum number"),
  ]

  func check(_ section: ConfigurationSection) throws {
    if let socket {
      if try section.text("host") != nil || section.text("port") != nil {
        throw section.fault("socket", "cannot be combined with host and port")
      }
      guard socket.utf8.count <= 107 else {
        throw section.fault(
          "socket", "has \(socket.utf8.count) bytes; a socket path has at most 107")
      }
    }
    try section.checkHost(of: [port])
    if let fault = openFault { throw section.fault("authorization_file", fault) }
  }
}
