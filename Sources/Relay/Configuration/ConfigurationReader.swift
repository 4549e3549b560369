import Foundation
import Yams

/// Reads a configuration file. Relative paths in it start at its directory.
package enum ConfigurationReader {
  package static func read(_ file: String) throws -> RelayConfiguration {
    try read(text: contents(file), file: file)
  }

  private static func contents(_ file: String) throws -> String {
    do {
      return try String(contentsOfFile: file, encoding: .utf8)
    } catch {
      let reason =
        FileManager.default.fileExists(atPath: file)
        ? "it is not UTF-8, or not readable" : "the file does not exist"
      throw ConfigurationFault(file: file, line: 0, message: "cannot be read: \(reason)")
    }
  }

  /// Only `status`: an error elsewhere in the file does not concern the relay that runs.
  package static func status(_ file: String) throws -> RelayConfiguration.Status {
    var all = RelayConfiguration()
    let root = try root(of: contents(file), file: file)
    for option in RelayConfiguration.options where option.key == "status" {
      try option.read(root, &all)
    }
    return all.status
  }

  static func read(
    text: String, file: String, engines: [any QueueLocation.Type] = queueEngines
  ) throws -> RelayConfiguration {
    try configuration(root(of: text, file: file), engines)
  }

  private static func root(of text: String, file: String) throws -> ConfigurationSection {
    let root = try node(of: text, file: file)
    guard let root, root.mapping != nil else {
      throw ConfigurationFault(
        file: file, line: root?.mark?.line ?? 1,
        message: "expected keys and values, such as 'apps:'")
    }
    return try ConfigurationSection(root, file: file, path: "")
  }

  /// nil if the text is empty.
  static func node(of text: String, file: String) throws -> Node? {
    do {
      return try Yams.compose(yaml: text)
    } catch let error as YamlError {
      throw fault(of: error, file)
    }
  }

  private static func fault(of error: YamlError, _ file: String) -> ConfigurationFault {
    switch error {
    case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
      .composer(_, let problem, let mark, _):
      return ConfigurationFault(file: file, line: mark.line, message: problem)
    case .duplicatedKeysInMapping(let duplicates, let context):
      return ConfigurationFault(
        file: file, line: context.mark.line,
        key: duplicates.first ?? "", message: "appears twice")
    case .reader(let problem, let offset, _, let yaml):
      // The text up to the unreadable part.
      let before = Array(yaml.unicodeScalars.prefix(offset ?? 0))
      return ConfigurationFault(
        file: file, line: 1 + before.count { $0 == "\n" }, message: problem)
    default:
      return ConfigurationFault(file: file, line: 0, message: "\(error)")
    }
  }

  private static func configuration(
    _ root: ConfigurationSection, _ engines: [any QueueLocation.Type]
  ) throws -> RelayConfiguration {
    var all = RelayConfiguration()
    all.queue = RelayConfiguration.Queue(engines)
    try root.read(RelayConfiguration.options, into: &all)
    if !all.queue.locations.named.isNamed { all.queue.locations.name(root.beside("queue.db")) }
    guard let apps = try root.section("apps") else {
      throw root.fault("apps", "is missing: a relay needs at least one app")
    }
    for name in apps.keys {
      try apps.checkName(name, of: "an app")
      guard let section = try apps.section(name) else { continue }
      if let words = all.queue.locations.named.fault(ofApp: name) { throw apps.fault(name, words) }
      all.apps.append(try app(name, section))
    }
    if all.apps.isEmpty { throw root.fault("apps", "is empty: a relay needs at least one app") }
    if let listeners = try root.section("listeners") {
      for name in listeners.keys {
        guard let section = try listeners.section(name) else { continue }
        try listeners.checkName(name, of: "a listener")
        let listener = try listener(name, section, all)
        var used = all.socketNames
        for (key, port) in listener.ports {
          guard let socket = port.socketName else { continue }
          guard used.insert(socket).inserted else {
            throw section.fault(key, "the socket '\(socket)' is used twice")
          }
        }
        all.listeners.append(listener)
        try section.end()
      }
    }
    try root.end()
    return all
  }

  private static func app(
    _ name: String, _ section: ConfigurationSection
  ) throws -> AppConfiguration {
    var app = AppConfiguration()
    app.name = name
    try section.read(AppConfiguration.options, into: &app)
    guard section.keys.contains("credentials") else {
      throw section.fault(
        "credentials", "is missing: give a certificate, or p8, key_id and team_id, or a program")
    }
    if app.credentials.certificate == nil, app.topic == nil {
      throw section.fault("topic", "is missing: it is required without a certificate")
    }
    try section.end()
    return app
  }

  private static func listener(
    _ name: String, _ section: ConfigurationSection, _ all: RelayConfiguration
  ) throws -> ListenerConfiguration {
    typealias Kind = ListenerConfiguration.Kind
    guard try section.text("type") != nil else {
      throw section.fault(
        "type", "is missing: \(Kind.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    let apps = Set(all.apps.map(\.name))
    func check(_ app: String, _ place: ConfigurationSection, _ key: String) throws {
      guard apps.contains(app) else {
        throw place.fault(key, "there is no app '\(app)'")
      }
    }
    let listener: ListenerConfiguration
    switch try section.choice("type", Kind.http) {
    case .http:
      var http = HTTPListenerConfiguration()
      http.name = name
      try section.read(HTTPListenerConfiguration.options, into: &http)
      try http.check(section)
      listener = .http(http)
    case .binary:
      var binary = BinaryListenerConfiguration()
      binary.name = name
      if let clients = try section.section("fingerprints") {
        for app in clients.keys { try check(app, clients, app) }
      }
      try section.read(BinaryListenerConfiguration.options, into: &binary)
      try binary.check(section)
      let made = "\(name)-listener"
      binary.madeCertificate =
        all.queue.locations.named.directory.map {
          ($0 as NSString).appendingPathComponent(made)
        } ?? section.beside(made)
      listener = .binary(binary)
    }
    if let app = listener.app { try check(app, section, "app") }
    return listener
  }
}
