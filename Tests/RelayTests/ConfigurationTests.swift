import Foundation
import Testing

@testable import Relay

@Suite struct ConfigurationTests {
  private let files: TestDirectory
  private var directory: String { files.path }

  init() throws {
    files = try TestDirectory()
    for name in ["key.p8", "ca.pem"] {
      try "x".write(toFile: "\(files.path)/\(name)", atomically: true, encoding: .utf8)
    }
  }

  private static let least = """
    apps:
      shop:
        topic: com.example.shop
        credentials:
          p8: key.p8
          key_id: ABC123DEFG
          team_id: DEF123GHIJ

    """

  private func read(_ text: String) throws -> RelayConfiguration {
    try ConfigurationReader.read(text: text, file: "\(directory)/relay.yaml")
  }

  private func assertFault(
    _ text: String, _ said: String, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(
      fault { try read(text) }.replacingOccurrences(of: directory + "/", with: "") == said,
      sourceLocation: sourceLocation)
  }

  /// Checks the fault of these lines below the least configuration; `said` begins with its line.
  private func refused(
    _ lines: String, _ said: String, sourceLocation: SourceLocation = #_sourceLocation
  ) { assertFault(Self.least + lines, "relay.yaml:" + said, sourceLocation: sourceLocation) }

  @Test func whatIsLeftOutHasItsDefault() throws {
    let all = try read(Self.least)
    #expect(all.queue.locations[SQLiteLocation.self].file == "\(directory)/queue.db")
    #expect(all.queue.leaseS == 30)
    #expect(all.queue.maxDeliveries == 5)
    #expect(all.apps.count == 1)
    #expect(all.apps[0].credentials.p8 == "\(directory)/key.p8")
    #expect(all.apps[0].environment == .production)
    #expect(all.apps[0].delivery == .atLeastOnce)
    #expect(all.apps[0].credentials.providerToken == .queue)
  }

  @Test func whatIsPrintedCanBeRead() throws {
    var all = try read(Self.least)
    all.queue.leaseS = 0.5
    all.status.port = nil
    all.apps[0].collapseByID = true
    all.apps[0].limits.totalConnections = 3
    all.apps[0].limits.perSecond = 500
    all.queue.outcomeRetentionS = 36 * 3600
    all.drainS = 75
    all.apps[0].retry.withinS = 0
    all.apps[0].serverName = "a \"b\" \\c"
    all.apps[0].credentials.ca = "\(directory)/ca.pem"
    #expect(try read(ConfigurationText.text(of: all)) == all)
  }

  @Test func everyOptionIsPrinted() throws {
    // The fields of the structures, which both the reader and the printed text must know.
    func names(_ value: Any) -> Int {
      Mirror(reflecting: value).children.count
    }
    let app = AppConfiguration()
    let all = RelayConfiguration()
    let options =
      names(all.queue) - 1 + names(SQLiteLocation()) + names(RedisLocation()) - 1
      + names(RedisLocation().tls)
      + names(all.status) + names(all.log) + 1
      // A proxy's password file has a separate line.
      + names(app) - 8 + 1
      + names(app.credentials) + names(app.limits) + names(app.retry) + names(app.channels)
      + names(app.guarding) + names(app.quietHours)
      // The secrets are in a file.
      + names(app.webhook) - 1
      // A listener's type is printed, its name is a key.
      + names(HTTPListenerConfiguration())
      // Fingerprints have a separate line, and another for each app.
      + names(BinaryListenerConfiguration()) - 2 + 1 + names(BinaryListenerConfiguration().tls)
    let text = ConfigurationText.text(of: ConfigurationText.example)
    // Listeners are printed as a comment.
    let lines = text.split(separator: "\n").dropFirst().map {
      $0.hasPrefix("# ") ? $0.dropFirst(2) : $0
    }
    #expect(lines.count { $0.contains("# ") } == options, "\(text)")
  }

  @Test func aBinaryListener() throws {
    let print = String(repeating: "AB:", count: 31) + "AB"
    let start = "listeners:\n  gateway:\n    type: binary\n"
    let all = try read(
      Self.least + start
        + "    fingerprints:\n      shop: \"\(print) \(String(repeating: "0", count: 64))\"\n"
        + "    client_ca: ca.pem\n    min_tls: \"1.0\"\n    feedback_port: -1\n")
    guard case .binary(let listener) = all.listeners.first else {
      Issue.record("no listener")
      return
    }
    #expect(
      listener.fingerprints == [
        String(repeating: "ab", count: 32): "shop", String(repeating: "0", count: 64): "shop",
      ])
    #expect(listener.tls.min == .tls1_0)
    #expect(listener.feedbackPort == nil)
    #expect(listener.madeCertificate == "\(directory)/gateway-listener")
    #expect(try read(ConfigurationText.text(of: all)) == all)
    for (text, said) in [
      (
        "",
        "listeners.gateway.fingerprints: is missing: give it, client_ca or app, or "
          + "no client is accepted"
      ),
      ("    fingerprints:\n      news: x\n", "there is no app 'news'"),
      ("    fingerprints:\n      shop: abc\n", "'abc' is not a SHA-256 fingerprint"),
      ("    app: shop\n    client_ca: ca.pem\n", "every client of this port pushes as that app"),
      ("    app: shop\n    key: key.p8\n", "is set without a certificate"),
      ("    app: shop\n    min_tls: ssl3\n", "must be one of 1.0, 1.1, 1.2, 1.3, not 'ssl3'"),
      ("    app: news\n", "there is no app 'news'"),
    ] {
      #expect(fault { try read(Self.least + start + text) }.contains(said))
    }
  }

  @Test func socketsOfSystemd() throws {
    let listeners =
      "status:\n  port: systemd:status\nlisteners:\n  web:\n    type: http\n    port: systemd:web.socket\n"
    let gateway =
      "  gateway:\n    type: binary\n    app: shop\n    port: systemd:gateway\n    feedback_port: systemd:feedback\n"
    let all = try read(Self.least + listeners + gateway)
    #expect(all.socketNames == ["status", "web.socket", "gateway", "feedback"])
    #expect(try read(ConfigurationText.text(of: all)) == all)
    // The feedback service still uses the host.
    let half = try read(
      Self.least + listeners
        + gateway.replacingOccurrences(of: "systemd:feedback", with: "2196\n    host: 127.0.0.2"))
    #expect(try read(ConfigurationText.text(of: half)) == half)
    let address = "cannot be combined with systemd: the socket unit has the address"
    for (text, said) in [
      (listeners + "    host: 127.0.0.1\n", "14: listeners.web.host: \(address)"),
      (listeners + gateway + "    host: 127.0.0.1\n", "19: listeners.gateway.host: \(address)"),
      ("status:\n  port: systemd:s\n  host: ::1\n", "10: status.host: \(address)"),
      (
        listeners + "    socket: s\n",
        "14: listeners.web.socket: cannot be combined with host and port"
      ),
      (
        listeners.replacingOccurrences(of: "systemd:web.socket", with: "'systemd:'"),
        "13: listeners.web.port: must be systemd:NAME, with FileDescriptorName= of the "
          + "socket unit, not 'systemd:'"
      ),
      (
        listeners.replacingOccurrences(of: "web.socket", with: "status"),
        "13: listeners.web.port: the socket 'status' is used twice"
      ),
      (
        listeners + gateway.replacingOccurrences(of: "feedback\n", with: "gateway\n"),
        "18: listeners.gateway.feedback_port: the socket 'gateway' is used twice"
      ),
    ] { refused(text, said) }
  }

  @Test func aPathInTheCredentialsDirectory() throws {
    let text = Self.least.replacingOccurrences(
      of: "key.p8", with: "\"${CREDENTIALS_DIRECTORY}/key.p8\"")
    let place = "relay.yaml:5: apps.shop.credentials.p8: "
    unsetenv("CREDENTIALS_DIRECTORY")
    assertFault(
      text,
      place + "${CREDENTIALS_DIRECTORY} is not set: "
        + "systemd sets it for a service with LoadCredential=")
    setenv("CREDENTIALS_DIRECTORY", directory, 1)
    defer { unsetenv("CREDENTIALS_DIRECTORY") }
    #expect(try read(text).apps[0].credentials.p8 == "\(directory)/key.p8")
    assertFault(
      text.replacingOccurrences(of: "CREDENTIALS_DIRECTORY", with: "HOME"),
      place + "only ${CREDENTIALS_DIRECTORY}/ is replaced at the start of a path")
  }

  @Test func theGuardsOptions() throws {
    let all = try read(Self.least + "    guard:\n      share: 0.2\n      min_responses: 10\n")
    #expect(all.apps[0].guarding.share == 0.2)
    #expect(all.apps[0].guarding.responses == 1000)
    refused(
      "    guard:\n      responses: 50\n",
      "8: apps.shop.guard.min_responses: must not be more than responses, 50")
  }

  @Test func quietHours() throws {
    let place = "relay.yaml:8: apps.shop.quiet_hours"
    func hours(_ text: String) -> String { Self.least + "    quiet_hours: {\(text)}\n" }
    let all = try read(hours("from: 22:00, to: '07:00', timezone: Europe/Berlin"))
    #expect(all.apps[0].quietHours.from == "22:00" && all.apps[0].quietHours.to == "07:00")
    #expect(try read(ConfigurationText.text(of: all)) == all)
    assertFault(
      hours("from: 22:00, to: 7:00"),
      "\(place).timezone: is missing: quiet_hours has from, to and timezone")
    assertFault(
      hours("from: 22, to: 7:00, timezone: UTC"),
      "\(place).from: must be a time such as 22:00, not '22'")
    assertFault(hours("from: 7:00, to: 7:00, timezone: UTC"), "\(place).to: is the same as from")
    assertFault(
      hours("from: 7:00, to: 9:00, timezone: Berlin"),
      "\(place).timezone: there is no time zone 'Berlin', only such as Europe/Berlin")
  }

  @Test func listeners() throws {
    #expect(try read(Self.least).listeners == [])
    let listeners = "listeners:\n  web:\n    type: http\n"
    #expect(try read(Self.least + listeners).listeners.map(\.name) == ["web"])
    try "a-token-of-some-length\n".write(
      toFile: "\(directory)/tokens", atomically: true, encoding: .utf8)
    let all = try read(
      Self.least + listeners + "    host: 0.0.0.0\n    port: 0\n    app: shop\n"
        + "    authorization_file: tokens\n    wait: 2.5s\n    connections: 7\n"
        + "  local:\n    type: http\n    socket: listener.socket\n    socket_mode: 600\n")
    guard case .http(let web) = all.listeners[0], case .http(let local) = all.listeners[1] else {
      Issue.record("no listeners")
      return
    }
    #expect(web.authorizationFile == "\(directory)/tokens")
    #expect([web.app, web.host] == ["shop", "0.0.0.0"])
    #expect(local.socket == "\(directory)/listener.socket")
    #expect(local.socketMode == 0o600)
    #expect(try read(ConfigurationText.text(of: all)) == all)
    for (text, said) in [
      ("listeners:\n  web:\n    port: 1\n", "9: listeners.web.type: is missing: http, binary"),
      (
        "listeners:\n  web:\n    type: gopher\n",
        "10: listeners.web.type: must be one of http, binary, not 'gopher'"
      ),
      (
        listeners + "    host: 0.0.0.0\n",
        "9: listeners.web.authorization_file: is missing: 0.0.0.0 is reachable from "
          + "other machines, and anyone there could push"
      ),
      (
        listeners + "    host: 127.0.0.1.example.com\n",
        "9: listeners.web.authorization_file: is missing: 127.0.0.1.example.com is "
          + "reachable from other machines, and anyone there could push"
      ),
      (
        listeners + "    socket: s\n    port: 1\n",
        "11: listeners.web.socket: cannot be combined with host and port"
      ),
      (
        listeners + "    socket: \(String(repeating: "s", count: 200))\n", nil
      ),
      (listeners + "    app: news\n", "11: listeners.web.app: there is no app 'news'"),
      (
        listeners + "    socket: s\n    socket_mode: 888\n",
        "12: listeners.web.socket_mode: must be permissions such as 660, not '888'"
      ),
    ] as [(String, String?)] {
      if let said {
        refused(text, said)
      } else {
        #expect(throws: (any Error).self) { try read(Self.least + text) }
      }
    }
  }

  @Test func aMistakeNamesFileLineAndKey() {
    assertFault("apps: [", "relay.yaml:2: did not find expected node content")
    assertFault("x", "relay.yaml:1: expected keys and values, such as 'apps:'")
    assertFault(
      "queue:\n  lease: 5s\n", "relay.yaml:1: apps: is missing: a relay needs at least one app")
    assertFault(
      "queue:\n  file: q\n  leas: 5s\n" + Self.least,
      "relay.yaml:3: queue.leas: unknown key; expected one of "
        + "file, redis, sync, lease, max_deliveries, outcome_retention, "
        + "dead_retention, gone_retention"
    )
    refused(
      "    limits:\n      connections: 65\n",
      "9: apps.shop.limits.connections: must be 1 to 64, not '65'")
    refused("    limits: 5\n", "8: apps.shop.limits: expected keys and values below it")
    refused(
      "    environment: development\n",
      "8: apps.shop.environment: must be one of production, sandbox, not 'development'")
    refused(
      "    collapse_by_id: maybe\n",
      "8: apps.shop.collapse_by_id: must be true or false, not 'maybe'")
    assertFault(
      Self.least.replacingOccurrences(of: "key.p8", with: "other.p8"),
      "relay.yaml:5: apps.shop.credentials.p8: \(directory)/other.p8: No such file or directory"
        .replacingOccurrences(of: directory + "/", with: ""))
    assertFault(
      Self.least.replacingOccurrences(of: "ABC123DEFG", with: "ABC"),
      "relay.yaml:6: apps.shop.credentials.key_id: must have 10 letters and digits, not 'ABC'")
    assertFault(
      Self.least.replacingOccurrences(of: "    topic: com.example.shop\n", with: ""),
      "relay.yaml:2: apps.shop.topic: is missing: it is required without a certificate")
    assertFault(
      "apps:\n  shop:\n    topic: x\n",
      "relay.yaml:2: apps.shop.credentials: is missing: "
        + "give a certificate, or p8, key_id and team_id, or a program"
    )
    assertFault("apps:\n  a: {}\n  a: {}\n", "relay.yaml:2: a: appears twice")
    assertFault(
      Self.least.replacingOccurrences(of: "topic: com.example.shop", with: #"topic: "a\0b""#),
      "relay.yaml:3: apps.shop.topic: contains a NUL")
  }

  @Test func aProxyHasOnePassword() throws {
    try "secret\n".write(toFile: "\(directory)/password", atomically: true, encoding: .utf8)
    let file = "    proxy_password_file: password\n"
    for (lines, said) in [
      (
        "    proxy: https://proxy:1\n",
        "8: apps.shop.proxy: must be http://[USER[:PASSWORD]@]HOST:PORT, or 'environment' for https_proxy"
      ),
      (
        "    proxy: proxy.example\n",
        "8: apps.shop.proxy: must be http://[USER[:PASSWORD]@]HOST:PORT, or 'environment' for https_proxy"
      ),
      (file, "8: apps.shop.proxy_password_file: needs a proxy with a user"),
      (
        "    proxy: environment\n" + file,
        "9: apps.shop.proxy_password_file: needs a proxy with a user"
      ),
      (
        "    proxy: proxy:1\n" + file,
        "9: apps.shop.proxy_password_file: needs a user in proxy: http://USER@HOST:PORT"
      ),
      (
        "    proxy: a:b@proxy:1\n" + file,
        "9: apps.shop.proxy_password_file: proxy has a password too: give one"
      ),
    ] { refused(lines, said) }
    let app = try read(Self.least + "    proxy: a@[::1]:3128\n" + file).apps[0]
    #expect(app.servicePeer.proxy == "http://a:secret@[::1]:3128")
  }

  @Test func aTimeHasAUnit() throws {
    for (text, seconds) in [
      ("50ms", 0.05), ("2.5s", 2.5), ("90s", 90), ("10m", 600), ("24h", 86_400), ("30d", 2_592_000),
      ("0", 0),
    ] { #expect(DurationText.seconds(text) == seconds) }
    for text in ["", "s", "5", "5 s", "1h30m", "-1s", "1e3s", "infs", "nans", "0x5s", "5S"] {
      #expect(DurationText.seconds(text) == nil, "\(text)")
    }
    for seconds in [0.001, 0.2, 0.999, 1.5, 60, 61, 3600, 5400, 86_400, 3_153_600_000] {
      #expect(DurationText.seconds(DurationText.of(seconds)) == seconds)
    }
    #expect([0, 0.5, 90, 120, 86_400].map(DurationText.of) == ["0s", "500ms", "90s", "2m", "1d"])
  }

  @Test func aKeyOfOldNamesItsNewName() {
    assertFault(
      "queue:\n  lease_s: 5\n" + Self.least,
      "relay.yaml:2: queue.lease_s: is now 'lease', with a unit, such as 30s")
    refused("    later:\n      tries: 5\n", "8: apps.shop.later: is now 'retry'")
    assertFault(
      "doors: {}\n" + Self.least, "relay.yaml:1: doors: is now 'listeners'")
    assertFault(
      "queue:\n  poll: 50ms\n" + Self.least,
      "relay.yaml:2: queue.poll: is not needed: an idle relay waits for changes of the queue")
    refused(
      "    guard:\n      lease_s: 5\n",
      "9: apps.shop.guard.lease_s: unknown key; expected one of "
        + "remember, share, responses, min_responses, wait")
  }

  @Test func aProgramThatGivesTokens() throws {
    let program = "\(directory)/give"
    try "#!/bin/sh\n".write(toFile: program, atomically: true, encoding: .utf8)
    chmod(program, 0o755)
    func text(_ lines: String) -> String {
      "apps:\n  shop:\n    topic: x\n    credentials:\n"
        + lines.split(separator: "\n").map { "      \($0)\n" }.joined()
    }
    let ids = "key_id: ABC123DEFG\nteam_id: DEF123GHIJ\n"
    let all = try read(text("program: [./give, shop, \"a b\"]\nprogram_timeout: 2.5s\n" + ids))
    #expect(
      all.apps[0].credentials.program.map { $0.replacingOccurrences(of: "/./", with: "/") } == [
        program, "shop", "a b",
      ])
    #expect(try read(ConfigurationText.text(of: all)) == all)
    #expect(
      try read(text("program: sh\nprovider_token: process\n")).apps[0].credentials.program == ["sh"]
    )
    let key = "relay.yaml:5: apps.shop.credentials."
    for (lines, said) in [
      ("program: ./none\n", key + "program: ./none: No such file or directory"),
      ("program: ./key.p8\n", key + "program: ./key.p8: Permission denied"),
      ("program: /tmp\n", key + "program: /tmp: not a regular file"),
      ("program: no-such-program\n", key + "program: no-such-program: not found in the PATH"),
      ("program: [\"\"]\n", key + "program: the first word, the program's name, is empty"),
      ("program: [[sh]]\n", key + "program: expected a list of words"),
      ("program: sh\np8: key.p8\n", key + "program: cannot be combined with p8: give one"),
      (
        "program: sh\n",
        "relay.yaml:4: apps.shop.credentials.key_id: is missing: the queue stores the token "
          + "under it; not needed with 'provider_token: process'"
      ),
      (
        "program: sh\nprovider_token: file\n",
        "relay.yaml:6: apps.shop.credentials.provider_token: must be queue or process with a "
          + "program; file is for a p8"
      ),
      (
        "program: sh\nprogram_timeout: 0\n",
        "relay.yaml:6: apps.shop.credentials.program_timeout: must be a time from 100ms to 1m, not '0'"
      ),
    ] { assertFault(text(lines), said) }
  }

  @Test func aQueueInRedis() throws {
    try "secret\n".write(toFile: "\(directory)/password", atomically: true, encoding: .utf8)
    let queue = "queue:\n  redis:\n    "
    let all = try read(
      queue + "url: redis://relay@redis.example:7000/3\n    password_file: password\n" + Self.least)
    #expect(all.queue.locations[SQLiteLocation.self].file == "")
    #expect(all.queue.name == "redis://redis.example:7000")
    #expect(all.queue.locations[RedisLocation.self].passwordFile == "\(directory)/password")
    #expect(try read(ConfigurationText.text(of: all)) == all)
    #expect(
      try read(queue + "url: unix:/run/redis.sock\n" + Self.least).queue.name
        == "unix:/run/redis.sock")
    for (url, said) in [
      ("http://host", "must be redis://[user:password@]host:port/database, or unix:/path"),
      ("redis://host/first", "the database must be a number such as 0"),
      ("unix:run", "unix: needs an absolute path, such as unix:/run/redis.sock"),
      (
        "redis+sentinel://a:1,b:2",
        "must be redis+sentinel://[user:password@]host:port,host:port/primary/database"
      ),
      (
        "redis+sentinel://a:1,:2/shop",
        "is not a valid URL; percent-encode / and @ in a password as %2F and %40"
      ),
      ("redis+sentinel://a/shop/first", "the database must be a number such as 0"),
      ("redis+cluster://a,b/3", "a cluster has only database 0, not 3"),
      ("redis+cluster://a,b/shop", "the database must be a number such as 0"),
      ("redis+cluster://a/0/shop", "must be redis+cluster://[user:password@]host:port,host:port"),
      (
        "rediss+cluster://a:0",
        "is not a valid URL; percent-encode / and @ in a password as %2F and %40"
      ),
    ] {
      assertFault(
        queue + "url: \(url)\n" + Self.least, "relay.yaml:3: queue.redis.url: \(said)")
    }
    let secure = try read(
      queue + "url: rediss://redis.example\n    tls:\n      ca: ca.pem\n      certificate: ca.pem\n"
        + "      key: key.p8\n      server_name: other.example\n" + Self.least)
    #expect(secure.queue.name == "rediss://redis.example:6379")
    #expect(secure.queue.locations[RedisLocation.self].tls.ca == "\(directory)/ca.pem")
    #expect(secure.queue.locations[RedisLocation.self].tls.serverName == "other.example")
    #expect(try read(ConfigurationText.text(of: secure)) == secure)
    assertFault(
      queue + "url: redis://host\n    tls:\n      ca: ca.pem\n" + Self.least,
      "relay.yaml:4: queue.redis.tls: needs a url that begins with rediss://")
    assertFault(
      queue + "url: rediss://host\n    tls:\n      key: key.p8\n" + Self.least,
      "relay.yaml:5: queue.redis.tls.key: is set without a certificate")
    assertFault(
      queue + "url: rediss://host\n    tls:\n      ca: none.pem\n" + Self.least,
      "relay.yaml:5: queue.redis.tls.ca: none.pem: No such file or directory")
    assertFault(
      queue + "url: redis://:hunter2@host\n    password_file: password\n" + Self.least,
      "relay.yaml:4: queue.redis.password_file: url has a password too: give one")
    assertFault(
      "queue:\n  file: q\n  redis:\n    url: redis://host\n" + Self.least,
      "relay.yaml:2: queue.file: is a SQLite queue, but redis.url is set too: give one")
  }

  @Test func aQueueInACluster() throws {
    let text = "redis+cluster://relay:hunt%40er2@10.0.0.1,[::1]:7000,c:1/0"
    let address = try RedisAddress(text)
    #expect(
      address.place
        == .cluster([.host("10.0.0.1", port: 6379), .host("::1", port: 7000), .host("c", port: 1)]))
    #expect(address.user == "relay")
    #expect(address.password == "hunt@er2")
    #expect(address.name == "redis+cluster://10.0.0.1:6379,[::1]:7000,c:1")
    #expect(RedisAddress.shown(text) == "redis+cluster://relay:PASSWORD@10.0.0.1,[::1]:7000,c:1/0")
    let secure = try RedisAddress("rediss+cluster://a,b")
    #expect(secure.name == "rediss+cluster://a:6379,b:6379")
    #expect(secure.tls != nil)
    assertFault(
      "queue:\n  redis:\n    url: redis+cluster://a\n"
        + Self.least.replacingOccurrences(of: "shop:", with: "\"}shop\":"),
      "relay.yaml:5: apps.}shop: begins with }, so a Redis Cluster would not keep its keys together"
    )
  }

  @Test func aQueueInARedisThatSentinelsKnow() throws {
    let text = "redis+sentinel://relay:hunt%40er2@10.0.0.1,[::1]:7000,c:1/shop/3"
    let address = try RedisAddress(text)
    #expect(
      address.place
        == .sentinels(
          [.host("10.0.0.1", port: 26379), .host("::1", port: 7000), .host("c", port: 1)],
          primary: "shop"))
    #expect(address.user == "relay")
    #expect(address.password == "hunt@er2")
    #expect(address.database == 3)
    #expect(address.name == "redis+sentinel://10.0.0.1:26379,[::1]:7000,c:1/shop")
    #expect(
      try RedisAddress("rediss+sentinel://a,b/shop").name
        == "rediss+sentinel://a:26379,b:26379/shop")
    #expect(try RedisAddress("rediss://:hunter2@a").tls != nil)
    #expect(RedisAddress.shown("rediss://:hunter2@a") == "rediss://:PASSWORD@a")
    #expect(
      RedisAddress.shown(text) == "redis+sentinel://relay:PASSWORD@10.0.0.1,[::1]:7000,c:1/shop/3")
  }

  @Test func aPasswordIsNotShown() throws {
    let all = try read(
      "queue:\n  redis:\n    url: redis://relay:hunt%40er2@host:1\n" + Self.least)
    #expect(
      try RedisAddress(#require(all.queue.locations[RedisLocation.self].url)).password == "hunt@er2"
    )
    #expect(!all.queue.name.contains("er2"))
    let text = ConfigurationText.text(of: all)
    #expect(!text.contains("er2"), "\(text)")
    #expect(text.contains("redis://relay:PASSWORD@host:1"), "\(text)")
    assertFault(
      "queue:\n  redis:\n    url: redis://:hun/ter2@host\n" + Self.least,
      "relay.yaml:3: queue.redis.url: "
        + "is not a valid URL; percent-encode / and @ in a password as %2F and %40")
  }

  @Test func aFileThatIsNotThereIsSaid() {
    #expect(
      fault { try ConfigurationReader.read("\(directory)/none.yaml") }
        == "\(directory)/none.yaml: cannot be read: the file does not exist")
  }
}
