import Client
import Foundation

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
    /// Its name and arguments; empty for none.
    package var program: [String] = []
    package var programS = 10.0
    package var providerToken = TokenPlace.queue
    package var providerTokenCache: String?
    package var ca: String?

    package var files: [String] {
      [certificate, key, passphraseFile, p8, program.first, ca].compactMap { $0 }
    }

    static let options: [RelayOption<Self>] = [
      .file("certificate", \.certificate, "PEM or PKCS#12, with its key or without"),
      .file("key", \.key, "the certificate's key, if it is in a separate file"),
      .file("passphrase_file", \.passphraseFile, "its first line decrypts certificate and key"),
      .file("p8", \.p8, "signing key (.p8), instead of a certificate"),
      .text("key_id", \.keyID, "10 letters and digits"),
      .text("team_id", \.teamID, "10 letters and digits"),
      .value(
        "program", \.program,
        "prints provider tokens, instead of p8: [\"/path/program\", \"argument\"]",
        shown: {
          $0.isEmpty ? "" : "[\($0.map { OptionText.quoted($0) }.joined(separator: ", "))]"
        }
      ) { section, key, _ in try section.program(key) },
      .duration("program_timeout", \.programS, 0.1...60, "how long it may take"),
      .choice("provider_token", \.providerToken, "where it is kept: queue, file or process"),
      .path("provider_token_cache", \.providerTokenCache, "the file of 'provider_token: file'"),
      .file("ca", \.ca, "CA certificates in PEM; default: the system's trust store"),
    ]

    func check(_ section: ConfigurationSection) throws {
      if certificate == nil, p8 == nil, program.isEmpty {
        throw section.fault(
          "certificate", "is missing: give it, or p8, key_id and team_id, or a program")
      }
      if !program.isEmpty {
        if p8 != nil || certificate != nil {
          throw section.fault(
            "program", "cannot be combined with \(p8 != nil ? "p8" : "certificate"): give one")
        }
        if providerToken == .file {
          throw section.fault(
            "provider_token", "must be queue or process with a program; file is for a p8")
        }
      }
      if key != nil, certificate == nil {
        throw section.fault("key", "is set without a certificate")
      }
      if p8 != nil || !program.isEmpty {
        for (name, value) in [("key_id", keyID), ("team_id", teamID)] {
          guard value == nil || value?.utf8.count == 10 else {
            throw section.fault(name, "must have 10 letters and digits, not '\(value ?? "")'")
          }
          guard value == nil else { continue }
          if p8 != nil { throw section.fault(name, "is missing: a p8 needs it") }
          if providerToken == .queue {
            throw section.fault(
              name,
              "is missing: the queue stores the token under it; not needed with 'provider_token: process'"
            )
          }
        }
      }
      if p8 != nil, providerToken == .file, providerTokenCache == nil {
        throw section.fault(
          "provider_token_cache", "is missing: 'provider_token: file' keeps the token there")
      }
      if providerTokenCache != nil, providerToken != .file {
        throw section.fault("provider_token_cache", "is used with 'provider_token: file' only")
      }
    }
  }

  package struct Place: Equatable, Sendable {
    package var host: String?
    package var port = 0
    package var serverName: String?

    static let options: [RelayOption<Self>] = [
      .text("host", \.host, "for channel management; default: Apple's"),
      .integer("port", \.port, 0...65535, "0: the environment's"),
      .text("server_name", \.serverName, "the name in its certificate"),
    ]
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
    package var totalConnections = 0
    package var perSecond = 0

    static let options: [RelayOption<Self>] = [
      .integer("window", \.window, 1...100_000, "maximum number of claimed notifications"),
      .integer(
        "window_bytes", \.windowBytes, 16_384...(1 << 30), "maximum bytes of the session's window"),
      .integer("connections", \.connections, 1...64, "maximum number of connections"),
      .integer(
        "total_connections", \.totalConnections, 0...10_000,
        "maximum for all relays on the queue together; 0: no common limit"),
      .integer(
        "per_second", \.perSecond, 0...100_000,
        "maximum number of notifications a second, by all relays on the queue; 0: no limit"),
    ]
  }

  /// When the lane `bulk` waits.
  package struct QuietHours: Equatable, Sendable {
    package var from: String?
    package var to: String?
    package var timezone: String?

    static let options: [RelayOption<Self>] = [
      .text("from", \.from, "the lane bulk waits from this time on, such as 22:00; others do not"),
      .text("to", \.to, "until this time, such as 07:00"),
      .text("timezone", \.timezone, "whose times these are, such as Europe/Berlin"),
    ]

    func check(_ section: ConfigurationSection) throws {
      if self == Self() { return }
      for (name, time) in [("from", from), ("to", to), ("timezone", timezone)] where time == nil {
        throw section.fault(name, "is missing: quiet_hours has from, to and timezone")
      }
      for (name, time) in [("from", from), ("to", to)] where ZoneClock.seconds(time ?? "") == nil {
        throw section.fault(name, "must be a time such as 22:00, not '\(time ?? "")'")
      }
      if from == to { throw section.fault("to", "is the same as from") }
      do { _ = try ZoneClock(timezone ?? "") } catch { throw section.fault("timezone", "\(error)") }
    }
  }

  /// How to treat tokens that APNs rejects, if a binary listener uses them.
  package struct Guard: Equatable, Sendable {
    package var rememberS = 86_400.0
    package var share = 0.1
    package var responses = 1000
    package var minResponses = 100
    package var waitS = 10.0

    static let options: [RelayOption<Self>] = [
      .duration(
        "remember", \.rememberS, 0...8760 * 3600,
        "how long a binary listener returns 8 for a bad token"),
      .number(
        "share", \.share, 0...1,
        "ignore bad tokens while their share of recent responses exceeds this"
      ),
      .integer("responses", \.responses, 1...100_000, "the number of recent responses"),
      .integer("min_responses", \.minResponses, 1...100_000, "the fewest responses to decide by"),
      .duration("wait", \.waitS, 0...3600, "how long a bad token waits for other responses"),
    ]
  }

  package struct Retry: Equatable, Sendable {
    package var withinS = 10.0
    package var maxDeferrals = 10

    static let options: [RelayOption<Self>] = [
      .duration("within", \.withinS, 0...3600, "how long the session retries after 429 and 5xx"),
      .integer(
        "max_deferrals", \.maxDeferrals, 0...1000,
        "then the entry is deferred, at most this many times"),
    ]
  }

  package var name = ""
  package var topic: String?
  package var environment = Environment.production
  package var host: String?
  package var port = 443
  package var serverName: String?
  package var proxy = Proxy.none
  package var channels = Place()
  package var credentials = Credentials()
  package var limits = Limits()
  package var quietHours = QuietHours()
  package var retry = Retry()
  package var guarding = Guard()
  package var webhook = WebhookConfiguration()
  package var delivery = Delivery.atLeastOnce
  package var collapseByID = false
  package var keepOrder = Order.none

  static let options: [RelayOption<Self>] = [
    .text("topic", \.topic, "the app's bundle ID; default: the certificate's"),
    .choice("environment", \.environment, "production or sandbox"),
    .text("host", \.host, "instead of Apple's, such as the simulator's"),
    .integer("port", \.port, 1...65535, "443, or 2197"),
    .text("server_name", \.serverName, "the name in its certificate; default: host"),
    .value(
      "proxy", \.proxy,
      "an HTTP proxy (CONNECT): http://user:password@host:port; environment: https_proxy's",
      shown: { OptionText.quoted($0.shown) }
    ) { section, key, _ in try Proxy(section.text(key), section) },
    .value(
      "proxy_password_file", \.proxy, "its first line is the password of the proxy's user",
      shown: { OptionText.quoted($0.passwordFile) }
    ) { section, key, proxy in
      try section.file(key).map { try proxy.with(passwordFile: $0, section) } ?? proxy
    },
    .section("channels", \.channels, Place.options),
    .choice(
      "delivery", \.delivery, "at_most_once: do not resend or redeliver what is in doubt"),
    .flag(
      "collapse_by_id", \.collapseByID,
      "use the id as collapse ID too: a later notification replaces an earlier one"),
    .choice(
      "keep_order", \.keepOrder,
      "device: send the notifications of a device one at a time, in queue order"),
    .section("credentials", \.credentials, Credentials.options, check: { try $0.check($1) }),
    .section("limits", \.limits, Limits.options),
    .section("quiet_hours", \.quietHours, QuietHours.options, check: { try $0.check($1) }),
    .section("retry", \.retry, Retry.options),
    .section("guard", \.guarding, Guard.options) { rules, section in
      guard rules.minResponses <= rules.responses else {
        throw section.fault("min_responses", "must not be more than responses, \(rules.responses)")
      }
    },
    .section("webhook", \.webhook, WebhookConfiguration.options, check: { try $0.check($1) }),
  ]
}

extension AppConfiguration.Proxy {
  fileprivate init(_ text: String?, _ section: ConfigurationSection) throws {
    switch text {
    case nil: self = .none
    case "environment": self = .environment
    case let text?:
      // Not shown, because it may have a password.
      guard let address = ProxyAddress(text, mayHavePassword: true) else {
        throw section.fault(
          "proxy", "must be http://[USER[:PASSWORD]@]HOST:PORT, or 'environment' for https_proxy")
      }
      self = .address(address, passwordFile: nil)
    }
  }

  fileprivate func with(passwordFile file: String, _ section: ConfigurationSection) throws -> Self {
    func fault(_ message: String) -> ConfigurationFault {
      section.fault("proxy_password_file", message)
    }
    guard case .address(var address, _) = self else { throw fault("needs a proxy with a user") }
    guard address.user != nil else {
      throw fault("needs a user in proxy: http://USER@HOST:PORT")
    }
    guard address.password == nil else { throw fault("proxy has a password too: give one") }
    address.password = (try? String(contentsOfFile: file, encoding: .utf8))?
      .split(whereSeparator: \.isNewline).first.map(String.init)
    guard address.password != nil else {
      throw fault("the file (name not shown) has no first line")
    }
    return .address(address, passwordFile: file)
  }

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
