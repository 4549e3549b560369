import Client
import Foundation
import Yams

/// Reads a configuration file. Relative paths in it start at its directory.
package enum ConfigurationReader {
  package static func read(_ file: String) throws -> RelayConfiguration {
    let text: String
    do {
      text = try String(contentsOfFile: file, encoding: .utf8)
    } catch {
      throw ConfigurationFault(
        file: file, line: 0, key: "", message: "cannot be read: \(reason(error, file))")
    }
    return try read(text: text, file: file)
  }

  private static func reason(_ error: any Error, _ file: String) -> String {
    FileManager.default.fileExists(atPath: file)
      ? "it is not UTF-8, or not readable" : "the file does not exist"
  }

  package static func read(text: String, file: String) throws -> RelayConfiguration {
    let root = try node(of: text, file: file)
    guard let root, root.mapping != nil else {
      throw ConfigurationFault(
        file: file, line: root?.mark?.line ?? 1, key: "",
        message: "expected keys and values, such as 'apps:'")
    }
    return try configuration(ConfigurationSection(root, file: file, path: ""))
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
      return ConfigurationFault(file: file, line: mark.line, key: "", message: problem)
    case .duplicatedKeysInMapping(let duplicates, let context):
      return ConfigurationFault(
        file: file, line: context.mark.line,
        key: duplicates.first ?? "", message: "appears twice")
    case .reader(let problem, let offset, _, let yaml):
      // The text up to the unreadable part.
      let before = Array(yaml.unicodeScalars.prefix(offset ?? 0))
      return ConfigurationFault(
        file: file, line: 1 + before.count { $0 == "\n" }, key: "", message: problem)
    default:
      return ConfigurationFault(file: file, line: 0, key: "", message: "\(error)")
    }
  }

  private static func configuration(
    _ root: ConfigurationSection
  ) throws -> RelayConfiguration {
    var all = RelayConfiguration()
    if let section = try root.section("queue") {
      if let file = try section.path("file") { all.queue.file = file }
      if let redis = try section.section("redis") {
        all.queue.redis = try Self.redis(redis)
        if all.queue.redis.url != nil, !all.queue.file.isEmpty {
          throw section.fault("file", "is a SQLite queue, but redis.url is set too: give one")
        }
      }
      all.queue.sync = try section.choice("sync", all.queue.sync)
      let poll = try section.duration("poll", Double(all.queue.pollMS) / 1000, 0.001...10)
      all.queue.pollMS = Int((poll * 1000).rounded())
      all.queue.leaseS = try section.duration("lease", all.queue.leaseS, 0.2...86_400)
      all.queue.maxDeliveries = try section.integer(
        "max_deliveries", all.queue.maxDeliveries, 1...1000)
      all.queue.outcomeRetentionS = try section.duration(
        "outcome_retention", all.queue.outcomeRetentionS, 0...36_500 * 86_400)
      try section.end()
    }
    if all.queue.file.isEmpty, all.queue.redis.url == nil {
      all.queue.file = root.beside("queue.db")
    }
    if let section = try root.section("status") {
      all.status.host = try section.text("host") ?? all.status.host
      all.status.port = try section.integer("port", all.status.port ?? 8199, -1...65535)
      if all.status.port == -1 { all.status.port = nil }
      all.status.portFile = try section.path("port_file")
      try section.end()
    }
    if let section = try root.section("log") {
      all.log.level = try section.choice("level", all.log.level)
      all.log.format = try section.choice("format", all.log.format)
      try section.end()
    }
    all.drainS = try root.duration("drain_timeout", all.drainS, 0...86_400)
    guard let apps = try root.section("apps") else {
      throw root.fault("apps", "is missing: a relay needs at least one app")
    }
    for name in apps.keys {
      try apps.checkName(name, of: "an app")
      guard let section = try apps.section(name) else {
        throw apps.fault(name, "has no topic and no credentials")
      }
      // The keys of such an app would share no hash tag.
      if all.queue.redis.isCluster, name.hasPrefix("}") {
        throw apps.fault(name, "begins with }, so a Redis Cluster would not keep its keys together")
      }
      all.apps.append(try app(name, section))
    }
    if all.apps.isEmpty { throw root.fault("apps", "is empty: a relay needs at least one app") }
    all.listeners = try ListenerReader.listeners(
      root.section("listeners"), apps: all.apps, queue: all.queue.file)
    try root.end()
    return all
  }

  private static func redis(
    _ section: ConfigurationSection
  ) throws -> RelayConfiguration.Redis {
    var redis = RelayConfiguration.Redis()
    redis.url = try section.text("url")
    redis.passwordFile = try section.file("password_file")
    if let tls = try section.section("tls") {
      redis.tls.ca = try tls.file("ca")
      redis.tls.certificate = try tls.file("certificate")
      redis.tls.key = try tls.file("key")
      redis.tls.serverName = try tls.text("server_name")
      if redis.tls.key != nil, redis.tls.certificate == nil {
        throw tls.fault("key", "is set without a certificate")
      }
      try tls.end()
    }
    if let url = redis.url {
      let address: RedisAddress
      do throws(RedisAddress.Fault) {
        address = try RedisAddress(url)
      } catch {
        throw section.fault("url", error.description)
      }
      if address.password != nil, redis.passwordFile != nil {
        throw section.fault("password_file", "url has a password too: give one")
      }
      if redis.tls != RedisTLS(), address.tls == nil {
        throw section.fault("tls", "needs a url that begins with rediss://")
      }
    } else if redis.passwordFile != nil {
      throw section.fault("password_file", "is set without url")
    } else if redis.tls != RedisTLS() {
      throw section.fault("tls", "is set without url")
    }
    try section.end()
    return redis
  }

  private static func app(
    _ name: String, _ section: ConfigurationSection
  ) throws -> AppConfiguration {
    var app = AppConfiguration()
    app.name = name
    app.topic = try section.text("topic")
    app.environment = try section.choice("environment", app.environment)
    app.host = try section.text("host")
    app.port = try section.integer("port", app.port, 1...65535)
    app.serverName = try section.text("server_name")
    app.proxy = try proxy(section)
    if let channels = try section.section("channels") {
      app.channels.host = try channels.text("host")
      app.channels.port = try channels.integer("port", app.channels.port, 0...65535)
      app.channels.serverName = try channels.text("server_name")
      try channels.end()
    }
    app.delivery = try section.choice("delivery", app.delivery)
    app.collapseByID = try section.flag("collapse_by_id", app.collapseByID)
    app.keepOrder = try section.choice("keep_order", app.keepOrder)
    guard let who = try section.section("credentials") else {
      throw section.fault(
        "credentials", "is missing: give a certificate, or p8, key_id and team_id, or a program")
    }
    app.credentials = try credentials(who)
    if app.credentials.certificate == nil, app.topic == nil {
      throw section.fault("topic", "is missing: it is required without a certificate")
    }
    if let limits = try section.section("limits") {
      app.limits.window = try limits.integer("window", app.limits.window, 1...100_000)
      app.limits.windowBytes = try limits.integer(
        "window_bytes", app.limits.windowBytes, 16_384...(1 << 30))
      app.limits.connections = try limits.integer("connections", app.limits.connections, 1...64)
      app.limits.totalConnections = try limits.integer(
        "total_connections", app.limits.totalConnections, 0...10_000)
      try limits.end()
    }
    if let retry = try section.section("retry") {
      app.retry.withinS = try retry.duration("within", app.retry.withinS, 0...3600)
      app.retry.maxDeferrals = try retry.integer(
        "max_deferrals", app.retry.maxDeferrals, 0...1000)
      try retry.end()
    }
    if let rules = try section.section("guard") {
      app.guarding.rememberS = try rules.duration(
        "remember", app.guarding.rememberS, 0...8760 * 3600)
      app.guarding.share = try rules.number("share", app.guarding.share, 0...1)
      app.guarding.responses = try rules.integer(
        "responses", app.guarding.responses, 1...100_000)
      app.guarding.minResponses = try rules.integer(
        "min_responses", app.guarding.minResponses, 1...100_000)
      app.guarding.waitS = try rules.duration("wait", app.guarding.waitS, 0...3600)
      guard app.guarding.minResponses <= app.guarding.responses else {
        throw rules.fault(
          "min_responses", "must not be more than responses, \(app.guarding.responses)")
      }
      try rules.end()
    }
    try section.end()
    return app
  }

  private static func proxy(
    _ section: ConfigurationSection
  ) throws -> AppConfiguration.Proxy {
    let text = try section.text("proxy")
    let file = try section.file("proxy_password_file")
    guard let text, text != "environment" else {
      if file != nil { throw section.fault("proxy_password_file", "needs a proxy with a user") }
      return text == nil ? .none : .environment
    }
    // Not shown, because it may have a password.
    guard var address = ProxyAddress(text, mayHavePassword: true) else {
      throw section.fault(
        "proxy", "must be http://[USER[:PASSWORD]@]HOST:PORT, or 'environment' for https_proxy")
    }
    guard let file else { return .address(address, passwordFile: nil) }
    guard address.user != nil else {
      throw section.fault("proxy_password_file", "needs a user in proxy: http://USER@HOST:PORT")
    }
    guard address.password == nil else {
      throw section.fault("proxy_password_file", "proxy has a password too: give one")
    }
    address.password = (try? String(contentsOfFile: file, encoding: .utf8))?
      .split(whereSeparator: \.isNewline).first.map(String.init)
    guard address.password != nil else {
      throw section.fault("proxy_password_file", "the file (name not shown) has no first line")
    }
    return .address(address, passwordFile: file)
  }

  private static func checkProgram(
    _ who: AppConfiguration.Credentials, _ section: ConfigurationSection
  ) throws {
    if who.p8 != nil || who.certificate != nil {
      throw section.fault(
        "program", "cannot be combined with \(who.p8 != nil ? "p8" : "certificate"): give one")
    }
    if who.providerToken == .file {
      throw section.fault(
        "provider_token", "must be queue or process with a program; file is for a p8")
    }
    for (name, value) in [("key_id", who.keyID), ("team_id", who.teamID)] {
      if let value {
        guard value.utf8.count == 10 else {
          throw section.fault(name, "must have 10 letters and digits, not '\(value)'")
        }
      } else if who.providerToken == .queue {
        throw section.fault(
          name,
          "is missing: the queue stores the token under it; not needed with 'provider_token: process'"
        )
      }
    }
  }

  private static func credentials(
    _ section: ConfigurationSection
  ) throws -> AppConfiguration.Credentials {
    var who = AppConfiguration.Credentials()
    who.certificate = try section.file("certificate")
    who.key = try section.file("key")
    who.passphraseFile = try section.file("passphrase_file")
    who.p8 = try section.file("p8")
    who.keyID = try section.text("key_id")
    who.teamID = try section.text("team_id")
    who.program = try section.program("program")
    who.programS = try section.duration("program_timeout", who.programS, 0.1...60)
    who.providerToken = try section.choice("provider_token", who.providerToken)
    who.providerTokenCache = try section.path("provider_token_cache")
    who.ca = try section.file("ca")
    if who.certificate == nil, who.p8 == nil, who.program.isEmpty {
      throw section.fault(
        "certificate", "is missing: give it, or p8, key_id and team_id, or a program")
    }
    if !who.program.isEmpty { try checkProgram(who, section) }
    if who.key != nil, who.certificate == nil {
      throw section.fault("key", "is set without a certificate")
    }
    if who.p8 != nil {
      for (name, value) in [("key_id", who.keyID), ("team_id", who.teamID)] {
        guard let value else {
          throw section.fault(name, "is missing: a p8 needs it")
        }
        guard value.utf8.count == 10 else {
          throw section.fault(name, "must have 10 letters and digits, not '\(value)'")
        }
      }
      if who.providerToken == .file, who.providerTokenCache == nil {
        throw section.fault(
          "provider_token_cache", "is missing: 'provider_token: file' keeps the token there")
      }
    }
    if who.providerTokenCache != nil, who.providerToken != .file {
      throw section.fault(
        "provider_token_cache", "is used with 'provider_token: file' only")
    }
    try section.end()
    return who
  }
}
