import Foundation

/// Reads the listeners of a configuration file.
enum ListenerReader {
  private enum Kind: String, CaseIterable { case http, binary }

  static func listeners(
    _ section: ConfigurationSection?, apps: [AppConfiguration], queue: String
  ) throws -> [ListenerConfiguration] {
    guard let section else { return [] }
    var listeners: [ListenerConfiguration] = []
    for name in section.keys {
      guard let one = try section.section(name) else { continue }
      try section.checkName(name, of: "a listener")
      guard try one.text("type") != nil else {
        throw one.fault(
          "type", "is missing: \(Kind.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      let listener: ListenerConfiguration
      switch try one.choice("type", Kind.http) {
      case .http: listener = .http(try http(name, one))
      case .binary:
        listener = .binary(try BinaryListenerReader.listener(name, one, apps: apps, queue: queue))
      }
      if let app = listener.app, !apps.contains(where: { $0.name == app }) {
        throw one.fault("app", "there is no app '\(app)'")
      }
      try one.end()
      listeners.append(listener)
    }
    return listeners
  }

  private static func http(
    _ name: String, _ section: ConfigurationSection
  ) throws -> HTTPListenerConfiguration {
    var listener = HTTPListenerConfiguration()
    listener.name = name
    listener.socket = try section.path("socket")
    let host = try section.text("host")
    let port = try section.text("port")
    if listener.socket != nil, host != nil || port != nil {
      throw section.fault("socket", "cannot be combined with host and port")
    }
    if let socket = listener.socket, socket.utf8.count > 107 {
      throw section.fault(
        "socket", "has \(socket.utf8.count) bytes; a socket path has at most 107")
    }
    listener.host = host ?? listener.host
    listener.port = try section.integer("port", listener.port, 0...65535)
    listener.portFile = try section.path("port_file")
    if let mode = try section.text("socket_mode") {
      guard let number = Int(mode, radix: 8), (0...0o777).contains(number) else {
        throw section.fault("socket_mode", "must be permissions such as 660, not '\(mode)'")
      }
      listener.socketMode = number
    }
    listener.app = try section.text("app")
    listener.authorizationFile = try section.file("authorization_file")
    listener.waitS = try section.duration("wait", listener.waitS, 0...3600)
    listener.idleS = try section.duration("idle_timeout", listener.idleS, 1...86_400)
    listener.connections = try section.integer("connections", listener.connections, 1...100_000)
    if !listener.isLocal, listener.authorizationFile == nil {
      throw section.fault(
        "authorization_file",
        "is missing: \(listener.host) is reachable from other machines, and anyone there could push"
      )
    }
    return listener
  }
}
