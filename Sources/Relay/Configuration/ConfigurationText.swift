/// Writes a configuration as a file, with every option and its meaning.
package enum ConfigurationText {
  /// The output of `--print-config` without a file: an app as a starting point.
  package static var example: RelayConfiguration {
    var all = RelayConfiguration()
    all.queue.file = "queue.db"
    var app = AppConfiguration()
    app.name = "shop"
    app.topic = "com.example.shop"
    app.credentials.p8 = "AuthKey_ABC123DEFG.p8"
    app.credentials.keyID = "ABC123DEFG"
    app.credentials.teamID = "DEF123GHIJ"
    all.apps = [app]
    return all
  }

  package static func text(of all: RelayConfiguration) -> String {
    var lines = ["# Names of files are looked for beside this file."]
    func say(_ depth: Int, _ key: String, _ value: String?, _ meaning: String) {
      let start = String(repeating: "  ", count: depth) + "\(key):" + (value.map { " \($0)" } ?? "")
      let room = max(1, 40 - start.count)
      lines.append(start + String(repeating: " ", count: room) + "# \(meaning)")
    }
    func head(_ depth: Int, _ key: String) {
      lines.append(String(repeating: "  ", count: depth) + "\(key):")
    }
    func quoted(_ text: String?) -> String {
      guard let text else { return "" }
      return "\"" + text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined() + "\""
    }
    head(0, "queue")
    say(1, "file", quoted(all.queue.file), "SQLite; its directory has to exist")
    head(1, "redis")
    say(
      2, "url", quoted(all.queue.redis.url.map(RedisAddress.shown)),
      "instead of file: redis://user:password@host:port/0, redis+cluster://…, unix:/path")
    say(
      2, "password_file", quoted(all.queue.redis.passwordFile), "its first line is the password")
    head(2, "tls")
    let tls = all.queue.redis.tls
    say(3, "ca", quoted(tls.ca), "of rediss://: whom to trust, in PEM; default: the system's store")
    say(3, "certificate", quoted(tls.certificate), "the relay's own, in PEM")
    say(3, "key", quoted(tls.key), "default: in the certificate's file")
    say(
      3, "server_name", quoted(tls.serverName),
      "the name in the server's certificate; default: host")
    say(
      1, "sync", all.queue.sync.rawValue,
      "of SQLite; process: over kill -9; power: over a loss of power too")
    say(
      1, "poll", DurationText.of(Double(all.queue.pollMS) / 1000),
      "how often an idle relay looks for work")
    say(
      1, "lease", DurationText.of(all.queue.leaseS), "a worker silent for so long loses its entries"
    )
    say(
      1, "max_deliveries", "\(all.queue.maxDeliveries)",
      "an entry delivered more often is a dead letter")
    say(
      1, "outcome_retention", DurationText.of(all.queue.outcomeRetentionS),
      "how long outcomes are kept; 0: for ever")
    head(0, "status")
    say(1, "host", quoted(all.status.host), "where /metrics, /healthz and /readyz are answered")
    say(1, "port", "\(all.status.port ?? -1)", "0: a free one; -1: none")
    say(1, "port_file", quoted(all.status.portFile), "where the port is written to")
    head(0, "log")
    say(
      1, "level", all.log.level.rawValue, "trace, debug, info, notice, warning, error or critical")
    say(1, "format", all.log.format.rawValue, "json or text, on standard error")
    say(0, "drain_timeout", DurationText.of(all.drainS), "how long SIGTERM waits for answers")
    head(0, "apps")
    for app in all.apps {
      head(1, app.name)
      say(2, "topic", quoted(app.topic), "the app's identifier; default: the certificate's")
      say(2, "environment", app.environment.rawValue, "production or sandbox")
      say(2, "host", quoted(app.host), "another service than Apple's, such as the simulator")
      say(2, "port", "\(app.port)", "443, or 2197")
      say(2, "server_name", quoted(app.serverName), "the name in its certificate; default: host")
      head(2, "channels")
      say(3, "host", quoted(app.channels.host), "where channels are managed; default: Apple's")
      say(3, "port", "\(app.channels.port)", "0: the environment's")
      say(3, "server_name", quoted(app.channels.serverName), "the name in its certificate")
      say(
        2, "delivery", app.delivery.rawValue,
        "or at_most_once: what may have arrived is not delivered again")
      say(
        2, "collapse_by_id", "\(app.collapseByID)",
        "the id is the collapse id too, so that a second one replaces the first")
      say(
        2, "keep_order", app.keepOrder.rawValue,
        "device: notifications of a device one after the other, as they came")
      head(2, "credentials")
      let who = app.credentials
      say(3, "certificate", quoted(who.certificate), "PEM or PKCS#12, with its key or without")
      say(3, "key", quoted(who.key), "the certificate's key, where it is in a file of its own")
      say(
        3, "passphrase_file", quoted(who.passphraseFile), "its first line opens certificate and key"
      )
      say(3, "p8", quoted(who.p8), "the key of provider tokens, instead of a certificate")
      say(3, "key_id", quoted(who.keyID), "10 letters and digits")
      say(3, "team_id", quoted(who.teamID), "10 letters and digits")
      say(
        3, "program",
        who.program.isEmpty ? "" : "[\(who.program.map { quoted($0) }.joined(separator: ", "))]",
        "prints provider tokens, instead of p8: [\"/path/program\", \"argument\"]")
      say(3, "program_timeout", DurationText.of(who.programS), "how long it may take")
      say(3, "provider_token", who.providerToken.rawValue, "who keeps it: queue, file or process")
      say(
        3, "provider_token_cache", quoted(who.providerTokenCache),
        "the file of 'provider_token: file'")
      say(3, "ca", quoted(who.ca), "whom to trust, in PEM; default: the system's store")
      head(2, "limits")
      say(3, "window", "\(app.limits.window)", "notifications in flight at most")
      say(3, "window_bytes", "\(app.limits.windowBytes)", "and their bytes")
      say(3, "connections", "\(app.limits.connections)", "connections at most")
      say(
        3, "total_connections", "\(app.limits.totalConnections)",
        "of all relays on the queue together; 0: each has its own")
      head(2, "retry")
      say(
        3, "within", DurationText.of(app.retry.withinS),
        "after 429 and 5xx the session tries again for so long")
      say(
        3, "max_deferrals", "\(app.retry.maxDeferrals)",
        "then the entry waits in the queue, so many times at most"
      )
      head(2, "guard")
      say(
        3, "remember", DurationText.of(app.guarding.rememberS),
        "how long a binary listener answers 8 for a token that was refused")
      say(
        3, "share", number(app.guarding.share),
        "if more of the last responses call a token bad, none of them counts")
      say(3, "responses", "\(app.guarding.responses)", "how many responses that is")
      say(3, "min_responses", "\(app.guarding.minResponses)", "and how many there have to be")
      say(
        3, "wait", DurationText.of(app.guarding.waitS),
        "how long a bad token waits for other responses")
    }
    let end = lines.count
    head(0, "listeners")
    for listener in all.listeners.isEmpty ? exampleListeners : all.listeners {
      head(1, listener.name)
      switch listener {
      case .http(let listener):
        say(2, "type", "http", "Apple's requests, as HTTP/1.1 and HTTP/2 without TLS")
        if listener.socket == nil {
          say(2, "host", quoted(listener.host), "where it listens")
          say(2, "port", "\(listener.port)", "0 takes a free one")
        }
        say(2, "port_file", quoted(listener.portFile), "where the port is written to")
        say(2, "socket", quoted(listener.socket), "a UNIX socket, in place of host and port")
        say(2, "socket_mode", String(listener.socketMode, radix: 8), "its permissions")
        say(
          2, "app", quoted(listener.app), "only this app's topics are pushed; default: those of all"
        )
        say(
          2, "authorization_file", quoted(listener.authorizationFile),
          "a bearer token and its apps in each line; needed beyond this machine")
        say(
          2, "wait", DurationText.of(listener.waitS),
          "a request waits so long for the service's answer"
        )
        say(
          2, "idle_timeout", DurationText.of(listener.idleS),
          "a silent connection is closed after so long")
        say(2, "connections", "\(listener.connections)", "at most, at the same time")
      case .binary(let listener):
        say(2, "type", "binary", "the interface that Apple switched off in 2021")
        say(2, "host", quoted(listener.host), "where it listens")
        say(2, "port", "\(listener.port)", "0 takes a free one")
        say(2, "port_file", quoted(listener.portFile), "where the port is written to")
        say(
          2, "feedback_port", "\(listener.feedbackPort ?? -1)",
          "where it tells of devices; -1: nowhere"
        )
        say(
          2, "feedback_port_file", quoted(listener.feedbackPortFile),
          "where that port is written to")
        let isEmpty = listener.fingerprints.isEmpty
        say(2, "fingerprints", isEmpty ? "{}" : nil, "whose a client is, by its certificate")
        for app in Set(listener.fingerprints.values).sorted() {
          let own = listener.fingerprints.filter { $0.value == app }.keys.sorted()
          say(
            3, app, quoted(own.joined(separator: " ")), "of its clients' certificates, by SHA-256")
        }
        say(
          2, "client_ca", quoted(listener.clientCA),
          "who signs certificates with an app's topic as UID"
        )
        say(2, "app", quoted(listener.app), "whoever reaches the port pushes as this app")
        say(
          2, "certificate", quoted(listener.tls.certificate), "the server's; default: one is made")
        say(2, "key", quoted(listener.tls.key), "default: in the certificate's file")
        say(2, "min_tls", quoted(listener.tls.min.rawValue), "1.0, 1.1, 1.2 or 1.3")
        say(2, "rsa_key_exchange", "\(listener.tls.takesRSA)", "old clients know nothing else")
        say(
          2, "dhe_key_exchange", "\(listener.tls.takesDHE)",
          "finite-field Diffie-Hellman, where a client knows no curves")
        say(2, "sha1", "\(listener.tls.takesSHA1)", "signatures by SHA-1, and keys of 1,024 bits")
        say(
          2, "payload_max", "\(listener.payloadMax)", "bytes; a larger one is answered by status 7")
        say(
          2, "json", "\(listener.checksJSON)", "true: status 7 for a payload that is not JSON"
        )
        say(
          2, "token_bytes", quoted(listener.tokenBytes?.text ?? "any"),
          "sizes of tokens, beside those that APNs accepted; others get status 5")
        say(
          2, "token_errors", "\(listener.sendsTokenErrors)",
          "false: no status 5 or 8, for clients that read no error packets")
        say(2, "connections", "\(listener.connections)", "of providers at most, at the same time")
        say(
          2, "app_connections", "\(listener.appConnections)",
          "of one app; 0: all that are not kept for others")
        say(
          2, "address_connections", "\(listener.addressConnections)",
          "of one app from one address; 0: three quarters of the app's")
        say(
          2, "feedback_connections", "\(listener.feedbackConnections)",
          "beside these, to feedback_port"
        )
        say(
          2, "handshakes", "\(listener.handshakes)",
          "TLS handshakes under way, beside all these")
      }
    }
    // Listeners are never on by default.
    if all.listeners.isEmpty {
      for index in lines[end...].indices { lines[index] = "# " + lines[index] }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static var exampleListeners: [ListenerConfiguration] {
    var web = HTTPListenerConfiguration()
    web.name = "web"
    var gateway = BinaryListenerConfiguration()
    gateway.name = "gateway"
    gateway.fingerprints = [String(repeating: "0", count: 64): "shop"]
    return [.http(web), .binary(gateway)]
  }

  static func number(_ value: Double) -> String {
    value == value.rounded() && abs(value) < 1e15 ? "\(Int(value))" : "\(value)"
  }
}
