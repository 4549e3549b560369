import Foundation

/// Reads the listeners of a configuration file.
enum DoorReader {
  private enum Kind: String, CaseIterable { case http, binary }

  static func doors(
    _ section: ConfigurationSection?, apps: [AppConfiguration], queue: String
  ) throws -> [DoorConfiguration] {
    guard let section else { return [] }
    var doors: [DoorConfiguration] = []
    for name in section.keys {
      guard let one = try section.section(name) else { continue }
      try section.checkName(name, of: "a listener")
      guard try one.text("type") != nil else {
        throw one.fault(
          "type", "is missing: \(Kind.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      let door: DoorConfiguration
      switch try one.choice("type", Kind.http) {
      case .http: door = .http(try http(name, one))
      case .binary: door = .binary(try BinaryDoorReader.door(name, one, apps: apps, queue: queue))
      }
      if let app = door.app, !apps.contains(where: { $0.name == app }) {
        throw one.fault("app", "there is no app '\(app)'")
      }
      try one.end()
      doors.append(door)
    }
    return doors
  }

  private static func http(
    _ name: String, _ section: ConfigurationSection
  ) throws -> HTTPDoorConfiguration {
    var door = HTTPDoorConfiguration()
    door.name = name
    door.socket = try section.path("socket")
    let host = try section.text("host")
    let port = try section.text("port")
    if door.socket != nil, host != nil || port != nil {
      throw section.fault("socket", "takes the place of host and port: give one or the other")
    }
    if let socket = door.socket, socket.utf8.count > 107 {
      throw section.fault(
        "socket", "has \(socket.utf8.count) bytes, but a path of a socket has 107")
    }
    door.host = host ?? door.host
    door.port = try section.integer("port", door.port, 0...65535)
    door.portFile = try section.path("port_file")
    if let mode = try section.text("socket_mode") {
      guard let number = Int(mode, radix: 8), (0...0o777).contains(number) else {
        throw section.fault("socket_mode", "must be permissions such as 660, not '\(mode)'")
      }
      door.socketMode = number
    }
    door.app = try section.text("app")
    door.authorizationFile = try section.file("authorization_file")
    door.waitS = try section.duration("wait", door.waitS, 0...3600)
    door.idleS = try section.duration("idle_timeout", door.idleS, 1...86_400)
    door.connections = try section.integer("connections", door.connections, 1...100_000)
    if !door.isLocal, door.authorizationFile == nil {
      throw section.fault(
        "authorization_file",
        "is missing: \(door.host) is not this machine alone, and whoever reaches it could push")
    }
    return door
  }
}
