import HTTPServer

/// What a relay is told by its configuration file, with every default filled in.
package struct RelayConfiguration: Equatable, Sendable {
  package enum Durability: String, CaseIterable, Sendable { case process, power }
  package enum LogFormat: String, CaseIterable, Sendable { case json, text }
  package enum LogLevel: String, CaseIterable, Sendable {
    case trace, debug, info, notice, warning, error, critical
  }

  /// A queue in Redis, in place of a file.
  package struct Redis: Equatable, Sendable {
    /// As it is written: a password may be in it. nil: the queue is a file.
    package var url: String?
    package var passwordFile: String?
    /// Where the url asks for TLS.
    package var tls = RedisTLS()
  }

  package struct Queue: Equatable, Sendable {
    package var file = ""
    package var redis = Redis()
    package var durable = Durability.process
    package var pollMS = 50
    package var leaseS = 120.0
    package var deliveries = 5
    package var outcomesDays = 30.0
  }

  package struct Status: Equatable, Sendable {
    package var host = "127.0.0.1"
    /// 0 takes a free one; nil: nobody is answered.
    package var port: Int? = 8199
    /// Where the port is written to once it is open; nil: nowhere.
    package var portFile: String?

    /// What the one who opens it should know.
    package var warnings: [String] {
      guard port != nil, !Authority.isLoopback(host) else { return [] }
      return [
        "\(host) is not this machine alone: whoever reaches the port reads which apps there are, "
          + "their counts and their faults, whatever Host they ask for"
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
  /// By name, in the file's order.
  package var apps: [AppConfiguration] = []
  package var doors: [DoorConfiguration] = []
}

/// One app: a tenant of the relay.
package struct AppConfiguration: Equatable, Sendable {
  package enum Environment: String, CaseIterable, Sendable { case production, sandbox }
  /// What becomes of a notification of which nobody knows whether it arrived.
  package enum Unknown: String, CaseIterable, Sendable { case again, record }
  /// What comes one after the other.
  package enum Order: String, CaseIterable, Sendable { case none, device }
  /// Who keeps the provider token.
  package enum TokenPlace: String, CaseIterable, Sendable { case queue, file, process }

  package struct Credentials: Equatable, Sendable {
    package var certificate: String?
    package var key: String?
    package var passphraseFile: String?
    package var p8: String?
    package var keyID: String?
    package var teamID: String?
    /// Prints provider tokens, in place of a p8: the program and its arguments; empty: there is none.
    package var program: [String] = []
    /// How long it may take.
    package var programS = 10.0
    package var token = TokenPlace.queue
    package var tokenCache: String?
    package var ca: String?

    package var files: [String] {
      [certificate, key, passphraseFile, p8, program.first, ca].compactMap { $0 }
    }
  }

  package struct Place: Equatable, Sendable {
    package var host: String?
    /// 0: the environment's.
    package var port = 0
    package var serverName: String?
  }

  package struct Limits: Equatable, Sendable {
    package var window = 2000
    package var windowBytes = 4 << 20
    package var connections = 1
    /// Of all relays on the queue together, for this app; 0: each has its own.
    package var fleetConnections = 0
  }

  /// What becomes of tokens that the service refuses, where a binary door asks for them.
  package struct Guard: Equatable, Sendable {
    /// How long the door answers by packet for such a token.
    package var rememberH = 24.0
    /// Bad tokens count while no more than this share of the last answers say so.
    package var share = 0.1
    /// How many answers that is.
    package var answers = 1000
    /// Fewer answers say nothing.
    package var least = 100
    /// A bad token waits so long for what other answers say.
    package var waitS = 10.0
  }

  package struct Later: Equatable, Sendable {
    package var withinS = 10.0
    package var tries = 10
  }

  package var name = ""
  package var topic: String?
  package var environment = Environment.production
  package var host: String?
  package var port = 443
  package var serverName: String?
  /// Where channels are managed; nil: the environment's own place.
  package var channels = Place()
  package var credentials = Credentials()
  package var limits = Limits()
  package var later = Later()
  package var guarding = Guard()
  package var unknown = Unknown.again
  package var replace = false
  package var order = Order.none
}
