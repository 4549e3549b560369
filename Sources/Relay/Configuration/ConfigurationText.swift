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
    var lines = ["# Relative paths start at this file's directory."]
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
    say(1, "file", quoted(all.queue.file), "SQLite file; its directory must exist")
    head(1, "redis")
    say(
      2, "url", quoted(all.queue.redis.url.map(RedisAddress.shown)),
      "instead of file: redis://user:password@host:port/0, redis+cluster://…, unix:/path")
    say(
      2, "password_file", quoted(all.queue.redis.passwordFile), "its first line is the password")
    head(2, "tls")
    let tls = all.queue.redis.tls
    say(
      3, "ca", quoted(tls.ca),
      "for rediss://: CA certificates in PEM; default: the system's trust store")
    say(3, "certificate", quoted(tls.certificate), "the relay's client certificate in PEM")
    say(3, "key", quoted(tls.key), "default: in the certificate's file")
    say(
      3, "server_name", quoted(tls.serverName),
      "the name in the server's certificate; default: host")
    say(
      1, "sync", all.queue.sync.rawValue,
      "SQLite only; process survives kill -9, power also survives a power failure")
    say(
      1, "poll", DurationText.of(Double(all.queue.pollMS) / 1000),
      "how often an idle relay polls the queue")
    say(
      1, "lease", DurationText.of(all.queue.leaseS),
      "entries are reclaimed from a worker without a heartbeat for this long"
    )
    say(
      1, "max_deliveries", "\(all.queue.maxDeliveries)",
      "an entry delivered more often becomes a dead letter")
    say(
      1, "outcome_retention", DurationText.of(all.queue.outcomeRetentionS),
      "how long outcomes are kept; 0: forever")
    head(0, "status")
    say(1, "host", quoted(all.status.host), "serves /, /metrics, /healthz and /readyz")
    say(1, "port", "\(all.status.port ?? -1)", "0: a free port; -1: no server")
    say(1, "port_file", quoted(all.status.portFile), "file that receives the port")
    head(0, "log")
    say(
      1, "level", all.log.level.rawValue, "trace, debug, info, notice, warning, error or critical")
    say(1, "format", all.log.format.rawValue, "json or text, on standard error")
    say(0, "drain_timeout", DurationText.of(all.drainS), "how long SIGTERM waits for responses")
    head(0, "apps")
    for app in all.apps {
      head(1, app.name)
      say(2, "topic", quoted(app.topic), "the app's bundle ID; default: the certificate's")
      say(2, "environment", app.environment.rawValue, "production or sandbox")
      say(2, "host", quoted(app.host), "instead of Apple's, such as the simulator's")
      say(2, "port", "\(app.port)", "443, or 2197")
      say(2, "server_name", quoted(app.serverName), "the name in its certificate; default: host")
      say(
        2, "proxy", quoted(app.proxy.shown),
        "an HTTP proxy (CONNECT): http://user:password@host:port; environment: https_proxy's")
      say(
        2, "proxy_password_file", quoted(app.proxy.passwordFile),
        "its first line is the password of the proxy's user")
      head(2, "channels")
      say(3, "host", quoted(app.channels.host), "for channel management; default: Apple's")
      say(3, "port", "\(app.channels.port)", "0: the environment's")
      say(3, "server_name", quoted(app.channels.serverName), "the name in its certificate")
      say(
        2, "delivery", app.delivery.rawValue,
        "at_most_once: do not resend or redeliver what is in doubt")
      say(
        2, "collapse_by_id", "\(app.collapseByID)",
        "use the id as collapse ID too: a later notification replaces an earlier one")
      say(
        2, "keep_order", app.keepOrder.rawValue,
        "device: send the notifications of a device one at a time, in queue order")
      head(2, "credentials")
      let who = app.credentials
      say(3, "certificate", quoted(who.certificate), "PEM or PKCS#12, with its key or without")
      say(3, "key", quoted(who.key), "the certificate's key, if it is in a separate file")
      say(
        3, "passphrase_file", quoted(who.passphraseFile),
        "its first line decrypts certificate and key"
      )
      say(3, "p8", quoted(who.p8), "signing key (.p8), instead of a certificate")
      say(3, "key_id", quoted(who.keyID), "10 letters and digits")
      say(3, "team_id", quoted(who.teamID), "10 letters and digits")
      say(
        3, "program",
        who.program.isEmpty ? "" : "[\(who.program.map { quoted($0) }.joined(separator: ", "))]",
        "prints provider tokens, instead of p8: [\"/path/program\", \"argument\"]")
      say(3, "program_timeout", DurationText.of(who.programS), "how long it may take")
      say(
        3, "provider_token", who.providerToken.rawValue, "where it is kept: queue, file or process")
      say(
        3, "provider_token_cache", quoted(who.providerTokenCache),
        "the file of 'provider_token: file'")
      say(3, "ca", quoted(who.ca), "CA certificates in PEM; default: the system's trust store")
      head(2, "limits")
      say(3, "window", "\(app.limits.window)", "maximum number of claimed notifications")
      say(3, "window_bytes", "\(app.limits.windowBytes)", "maximum bytes of the session's window")
      say(3, "connections", "\(app.limits.connections)", "maximum number of connections")
      say(
        3, "total_connections", "\(app.limits.totalConnections)",
        "maximum for all relays on the queue together; 0: no common limit")
      head(2, "retry")
      say(
        3, "within", DurationText.of(app.retry.withinS),
        "how long the session retries after 429 and 5xx")
      say(
        3, "max_deferrals", "\(app.retry.maxDeferrals)",
        "then the entry is deferred, at most this many times"
      )
      head(2, "guard")
      say(
        3, "remember", DurationText.of(app.guarding.rememberS),
        "how long a binary listener returns 8 for a bad token")
      say(
        3, "share", DurationText.number(app.guarding.share),
        "ignore bad tokens while their share of recent responses exceeds this")
      say(3, "responses", "\(app.guarding.responses)", "the number of recent responses")
      say(3, "min_responses", "\(app.guarding.minResponses)", "the fewest responses to decide by")
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
        say(2, "type", "http", "Apple's requests over HTTP/1.1 and HTTP/2, without TLS")
        if listener.socket == nil {
          say(2, "host", quoted(listener.host), "the address to listen on")
          say(2, "port", "\(listener.port)", "0: a free port")
        }
        say(2, "port_file", quoted(listener.portFile), "file that receives the port")
        say(2, "socket", quoted(listener.socket), "a UNIX socket, instead of host and port")
        say(2, "socket_mode", String(listener.socketMode, radix: 8), "its permissions")
        say(
          2, "app", quoted(listener.app), "accept only this app's topics; default: all apps'"
        )
        say(
          2, "authorization_file", quoted(listener.authorizationFile),
          "a bearer token and its apps per line; required if other machines can connect")
        say(
          2, "wait", DurationText.of(listener.waitS),
          "how long a request waits for its outcome"
        )
        say(
          2, "idle_timeout", DurationText.of(listener.idleS),
          "closes a silent connection after this time")
        say(2, "connections", "\(listener.connections)", "maximum number")
      case .binary(let listener):
        say(2, "type", "binary", "the binary interface, which Apple switched off in 2021")
        say(2, "host", quoted(listener.host), "the address to listen on")
        say(2, "port", "\(listener.port)", "0: a free port")
        say(2, "port_file", quoted(listener.portFile), "file that receives the port")
        say(
          2, "feedback_port", "\(listener.feedbackPort ?? -1)",
          "the feedback service; -1: none"
        )
        say(
          2, "feedback_port_file", quoted(listener.feedbackPortFile),
          "file that receives that port")
        let isEmpty = listener.fingerprints.isEmpty
        say(2, "fingerprints", isEmpty ? "{}" : nil, "the app of each client certificate")
        for app in Set(listener.fingerprints.values).sorted() {
          let own = listener.fingerprints.filter { $0.value == app }.keys.sorted()
          say(
            3, app, quoted(own.joined(separator: " ")),
            "SHA-256 fingerprints of its clients' certificates")
        }
        say(
          2, "client_ca", quoted(listener.clientCA),
          "CA for client certificates with an app's topic as UID"
        )
        say(2, "app", quoted(listener.app), "every client of the port pushes as this app")
        say(
          2, "certificate", quoted(listener.tls.certificate),
          "the server's; default: the relay creates one")
        say(2, "key", quoted(listener.tls.key), "default: in the certificate's file")
        say(2, "min_tls", quoted(listener.tls.min.rawValue), "1.0, 1.1, 1.2 or 1.3")
        say(
          2, "rsa_key_exchange", "\(listener.tls.takesRSA)",
          "for old clients that support nothing else")
        say(
          2, "dhe_key_exchange", "\(listener.tls.takesDHE)",
          "finite-field Diffie-Hellman, for clients without elliptic curves")
        say(2, "sha1", "\(listener.tls.takesSHA1)", "SHA-1 signatures and 1,024-bit keys")
        say(
          2, "payload_max", "\(listener.payloadMax)", "bytes; a larger payload gets status 7")
        say(
          2, "json", "\(listener.checksJSON)", "true: status 7 for a payload that is not JSON"
        )
        say(
          2, "token_bytes", quoted(listener.tokenBytes?.text ?? "any"),
          "token sizes, in addition to those that APNs accepted; others get status 5")
        say(
          2, "token_errors", "\(listener.sendsTokenErrors)",
          "false: no status 5 or 8, for clients that read no error packets")
        say(2, "connections", "\(listener.connections)", "maximum number of provider connections")
        say(
          2, "app_connections", "\(listener.appConnections)",
          "maximum for one app; 0: all that are not reserved for others")
        say(
          2, "address_connections", "\(listener.addressConnections)",
          "maximum for one app from one address; 0: three quarters of the app's")
        say(
          2, "feedback_connections", "\(listener.feedbackConnections)",
          "maximum for feedback_port, in addition"
        )
        say(
          2, "handshakes", "\(listener.handshakes)",
          "maximum number of pending TLS handshakes, in addition")
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
}
