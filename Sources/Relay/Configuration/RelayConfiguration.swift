import HTTPServer
import Logging

/// A relay's configuration. Its keys, with their ranges and meanings, are in the `options` of each
/// structure.
package struct RelayConfiguration: Equatable, Sendable {
  package enum LogFormat: String, CaseIterable, Sendable { case json, text }

  package struct Queue: Equatable, Sendable {
    var locations: QueueLocations
    package var sync = QueueSync.process
    package var leaseS = 30.0
    package var maxDeliveries = 5
    package var outcomeRetentionS = 30 * 86_400.0
    package var deadRetentionS = 90 * 86_400.0
    package var goneRetentionS = 90 * 86_400.0

    init(_ engines: [any QueueLocation.Type] = queueEngines) {
      locations = QueueLocations(engines)
    }

    /// A queue in another place.
    package init(at place: String, like other: Self? = nil) {
      self = other ?? Self()
      locations.name(place)
    }

    /// The queue's name without its password.
    package var name: String { locations.named.name }
    package func open() throws -> any QueueEngine { try locations.named.open(sync) }
    package func openForReading() throws -> any QueueReading {
      try locations.named.openForReading()
    }

    /// The engines' keys, and those of every queue.
    var options: [RelayOption<Self>] {
      locations.options.map { $0.of({ $0.locations }, { $0.locations = $1 }) } + Self.ownOptions
    }

    private static let ownOptions: [RelayOption<Self>] = [
      .choice(
        "sync", \.sync,
        "SQLite only; process survives kill -9, power also survives a power failure"),
      .duration(
        "lease", \.leaseS, 0.2...86_400,
        "entries are reclaimed from a worker without a heartbeat for this long"),
      .integer(
        "max_deliveries", \.maxDeliveries, 1...1000,
        "an entry delivered more often becomes a dead letter"),
      .duration(
        "outcome_retention", \.outcomeRetentionS, 0...36_500 * 86_400,
        "how long outcomes are kept; 0: forever"),
      .duration(
        "dead_retention", \.deadRetentionS, 0...36_500 * 86_400,
        "how long dead letters are kept, and their outcomes; 0: forever"),
      .duration(
        "gone_retention", \.goneRetentionS, 0...36_500 * 86_400,
        "how long gone devices are kept; 0: forever"),
    ]
  }

  package struct Status: Equatable, Sendable {
    package var host = "127.0.0.1"
    /// nil disables the server.
    package var port: ListeningPort? = 8199
    package var portFile: String?
    package var authorizationFile: String?

    /// Unreachable from other machines.
    package var isLocal: Bool { Authority.isLoopback(host) }

    static let options: [RelayOption<Self>] = [
      RelayOption.text("host", \.host, "serves /, /metrics, /healthz and /readyz").printed {
        $0.port?.socketName == nil
      },
      .listening("port", \.port, "0: a free port; -1: no server; systemd:NAME: a socket unit's"),
      .path("port_file", \.portFile, "file that receives the port"),
      .file(
        "authorization_file", \.authorizationFile,
        "a token and its apps per line, for the page; required if other machines can connect"),
    ]

    /// Warnings for the operator.
    package var warnings: [String] {
      guard port != nil, !isLocal else { return [] }
      let metrics =
        "\(host) is reachable from other machines: anyone who can connect reads the names of the apps, "
        + "their counts and their errors, with any Host"
      guard let authorizationFile else {
        return [
          metrics,
          "the page needs authorization_file, because \(host) is not only for this machine",
        ]
      }
      return [
        metrics,
        "tokens of \(authorizationFile) cross the network without TLS, unless a tunnel or proxy in front "
          + "of it adds TLS",
      ]
    }
  }

  package struct Log: Equatable, Sendable {
    package var level = Logger.Level.info
    package var format = LogFormat.json

    static let options: [RelayOption<Self>] = [
      .choice("level", \.level, "trace, debug, info, notice, warning, error or critical"),
      .choice("format", \.format, "json or text, on standard error"),
    ]
  }

  package var queue = Queue()
  package var status = Status()
  package var log = Log()
  package var drainS = 20.0
  var drainMS: Int64 { Int64(drainS * 1000) }
  /// The named apps, in the file's order.
  package var apps: [AppConfiguration] = []
  package var listeners: [ListenerConfiguration] = []

  /// The names of the systemd sockets that it uses.
  package var socketNames: Set<String> {
    Set(([status.port] + listeners.flatMap { $0.ports.map(\.port) }).compactMap { $0?.socketName })
  }

  static let options: [RelayOption<Self>] = [
    .section("queue", \.queue, { $0.options }, check: { try $0.locations.check($1) }),
    .section("status", \.status, Status.options, check: { try $1.checkHost(of: [$0.port]) }),
    .section("log", \.log, Log.options),
    .duration("drain_timeout", \.drainS, 0...86_400, "how long SIGTERM waits for responses"),
  ]
}
