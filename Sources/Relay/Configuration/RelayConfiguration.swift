import Client
import HTTPServer

/// A relay's configuration, with every default filled in.
package struct RelayConfiguration: Equatable, Sendable {
  package enum LogFormat: String, CaseIterable, Sendable { case json, text }
  package enum LogLevel: String, CaseIterable, Sendable {
    case trace, debug, info, notice, warning, error, critical
  }

  /// A queue in Redis, instead of a file.
  package struct Redis: Equatable, Sendable {
    /// The URL as it is written, perhaps with a password; nil if the queue is a file.
    package var url: String?
    package var passwordFile: String?
    /// Used if the URL requires TLS.
    package var tls = RedisTLS()
  }

  package struct Queue: Equatable, Sendable {
    package var file = ""
    package var redis = Redis()
    package var sync = SQLiteQueue.Sync.process
    package var pollMS = 50
    package var leaseS = 30.0
    package var maxDeliveries = 5
    package var outcomeRetentionS = 30 * 86_400.0
  }

  package struct Status: Equatable, Sendable {
    package var host = "127.0.0.1"
    /// 0 takes a free port; nil disables the server.
    package var port: Int? = 8199
    /// The file that receives the port once it is open; nil for none.
    package var portFile: String?

    /// Warnings for the operator.
    package var warnings: [String] {
      guard port != nil, !Authority.isLoopback(host) else { return [] }
      return [
        "\(host) is reachable from other machines: anyone who can connect reads the names of the apps, "
          + "their counts and their errors, with any Host"
      ]
    }
  }

  package struct Log: Equatable, Sendable {
    package var level = LogLevel.info
    package var format = LogFormat.json
  }

  package var queue = Queue()
  package var status = Status()
  package var log = Log()
  package var drainS = 20.0
  /// The named apps, in the file's order.
  package var apps: [AppConfiguration] = []
  package var listeners: [ListenerConfiguration] = []
}

/// An app, the relay's tenant.
package struct AppConfiguration: Equatable, Sendable {
  package enum Environment: String, CaseIterable, Sendable { case production, sandbox }
  /// How to treat a notification in doubt.
  package enum Delivery: String, CaseIterable, Sendable {
    case atLeastOnce = "at_least_once"
    case atMostOnce = "at_most_once"
  }
  /// Which notifications are sent one at a time.
  package enum Order: String, CaseIterable, Sendable { case none, device }
  /// Where the provider token is kept.
  package enum TokenPlace: String, CaseIterable, Sendable { case queue, file, process }

  package struct Credentials: Equatable, Sendable {
    package var certificate: String?
    package var key: String?
    package var passphraseFile: String?
    package var p8: String?
    package var keyID: String?
    package var teamID: String?
    /// A program that prints provider tokens, instead of a signing key: its name and arguments;
    /// empty for none.
    package var program: [String] = []
    /// The program's time limit.
    package var programS = 10.0
    package var providerToken = TokenPlace.queue
    package var providerTokenCache: String?
    package var ca: String?

    package var files: [String] {
      [certificate, key, passphraseFile, p8, program.first, ca].compactMap { $0 }
    }
  }

  package struct Place: Equatable, Sendable {
    package var host: String?
    /// 0 for the environment's port.
    package var port = 0
    package var serverName: String?
  }

  /// The HTTP proxy (CONNECT) for connections to APNs.
  package enum Proxy: Equatable, Sendable {
    case none
    /// The one in https_proxy, unless no_proxy names the service.
    case environment
    /// With the password that is in the file, if there is a file.
    case address(ProxyAddress, passwordFile: String?)
  }

  package struct Limits: Equatable, Sendable {
    package var window = 2000
    package var windowBytes = 4 << 20
    package var connections = 1
    /// The maximum for all relays on the queue together, for this app; 0 without a common limit.
    package var totalConnections = 0
  }

  /// How to treat tokens that APNs rejects, if a binary listener uses them.
  package struct Guard: Equatable, Sendable {
    /// How long the listener rejects such a token.
    package var rememberS = 86_400.0
    /// Bad tokens are ignored while their share of recent responses exceeds this.
    package var share = 0.1
    /// The number of recent responses.
    package var responses = 1000
    /// With fewer responses, bad tokens wait.
    package var minResponses = 100
    /// How long a bad token waits for other responses.
    package var waitS = 10.0
  }

  package struct Retry: Equatable, Sendable {
    package var withinS = 10.0
    package var maxDeferrals = 10
  }

  package var name = ""
  package var topic: String?
  package var environment = Environment.production
  package var host: String?
  package var port = 443
  package var serverName: String?
  package var proxy = Proxy.none
  /// The address for channel management; nil for the environment's.
  package var channels = Place()
  package var credentials = Credentials()
  package var limits = Limits()
  package var retry = Retry()
  package var guarding = Guard()
  package var delivery = Delivery.atLeastOnce
  package var collapseByID = false
  package var keepOrder = Order.none
}

extension AppConfiguration.Proxy {
  package func use(in peer: inout Peer) {
    switch self {
    case .none: break
    case .environment: peer.usesEnvironmentProxy = true
    case .address(let address, _): peer.proxy = address.url
    }
  }

  /// As in a configuration, without a password.
  package var shown: String? {
    switch self {
    case .none: return nil
    case .environment: return "environment"
    case .address(var address, let file):
      if file != nil { address.password = nil }
      return address.shown
    }
  }

  package var passwordFile: String? {
    if case .address(_, let file) = self { file } else { nil }
  }
}
