import ArgumentParser
import CAPNS
import Client
import CommandOptions
import Glibc

struct Doctor: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check certificate, key, network and service, and suggest a remedy for each problem.",
    discussion: """
      Check everything, from the files to the service's response:

          apns doctor --certificate provider.pem

      A signing key (.p8), with Apple's sandbox:

          apns doctor --p8 AuthKey_ABCDE12345.p8 --team-id TEAM123456 --sandbox

      Only the files, without a connection:

          apns doctor --p12 provider.p12 --passphrase-file passphrase --offline

      A gateway or the simulator, which prints the paths of its certificates:

          apns doctor --host 127.0.0.1 --port 8443 --try-push \\
            --ca simulator-certificates/ca.pem \\
            --certificate simulator-certificates/provider.pem

      A relay's listeners, as a legacy program that speaks the binary interface sees them:

          apns doctor --relay 192.168.1.10 --certificate old-provider.pem

      It connects once or a few times, performs the handshake, waits for the HTTP/2 SETTINGS, and \
      pushes nothing. A service checks the provider token and the topic only when it gets a push: \
      --try-push sends one to a nonexistent device, --token a silent one to that device. Checks \
      that were not made are listed as skipped.

      A device token does not show its environment. With --other-environment the push also goes to \
      the other one, and the responses show which it is:

          apns doctor --p8 AuthKey_ABCDE12345.p8 --team-id TEAM123456 \\
            --topic com.example.app --other-environment sandbox \\
            --token 5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412

      Each finding is a problem or a warning, with a remedy. With --json it has a "cause", a name \
      that does not change.

      THE CLOCK is compared with the certificates of both sides and with the age of this program, \
      and with --time-server if that is given.

      EXIT STATUS: 0 if nothing is wrong; 1 if there are findings; 2 if the command line cannot be \
      used; 3 if the service could not be reached or the handshake failed, even with other findings.
      """)

  @OptionGroup(title: "Provider") var provider: ProviderOptions
  @OptionGroup(title: "Service") var service: PeerOptions
  @OptionGroup(title: "Relay") var listeners: RelayListenerOptions

  @Option(
    name: .customLong("protocol"),
    help: "HTTP/2, or the binary interface, which Apple switched off.")
  var wire = WireProtocol.http2

  @Option(help: .of("id", "The app to push to, for which the certificate must be valid."))
  var topic: String?

  @Option(help: .of("name[:port]", "Compare the clock with this SNTP server's."))
  var timeServer: String?

  @Option(
    help: .of(
      "token", "Also send a silent push to this device, and explain the service's response."))
  var token: String?

  @Option(
    help: ArgumentHelp(
      """
      If --token is unknown (BadDeviceToken), also push to it in this environment (production, \
      sandbox or a host), and report which one it belongs to.
      """, valueName: "environment"))
  var otherEnvironment: String?

  @Flag(
    help: """
      Also send a silent push to a nonexistent device, and explain the service's response. No \
      device gets it.
      """)
  var tryPush = false

  @Flag(help: "Check only the files, without a connection.") var offline = false
  @Flag(help: "Print one JSON object.") var json = false

  func validate() throws {
    if listeners.relay != nil { try demandOldProgram() }
    if wire == .binary, provider.p8 != nil {
      throw ValidationError(ProviderOptions.p8IsForHTTP2)
    }
    if offline, token != nil {
      throw ValidationError("--token needs a connection: it cannot be used with --offline")
    }
    if tryPush, offline || token != nil {
      throw ValidationError("--try-push cannot be used with \(offline ? "--offline" : "--token")")
    }
    if let otherEnvironment {
      if token == nil { throw ValidationError("--other-environment needs --token") }
      if wire == .binary {
        throw ValidationError(
          "--other-environment is for HTTP/2 only: it cannot be used with --protocol binary")
      }
      if ["production", "sandbox"].contains(otherEnvironment), service.host == nil,
        service.sandbox == (otherEnvironment == "sandbox")
      {
        throw ValidationError(
          "--other-environment \(otherEnvironment) is the environment that is checked: name the other one"
        )
      }
      _ = try ServiceAddress.read(otherEnvironment, of: "--other-environment")
    }
    if offline, provider.certificate == nil, provider.p12 == nil, provider.p8 == nil,
      provider.caFile == nil
    {
      throw ValidationError("--offline checks files: give --certificate, --p12, --p8 or --ca")
    }
  }

  /// Refuses options that cannot be used with --relay.
  private func demandOldProgram() throws {
    try refuse([
      "--host": service.host != nil, "--port": service.port != nil, "--sandbox": service.sandbox,
      "--proxy": service.proxy != nil, "--p8": provider.p8 != nil,
      "--crl": provider.revocations != nil, "--pin": !provider.pins.isEmpty,
      "--protocol": wire == .binary, "--topic": topic != nil, "--token": token != nil,
      "--offline": offline, "--try-push": tryPush, "--time-server": timeServer != nil,
      "--dangerously-accept-any-peer": provider.dangerouslyAcceptAnyPeer,
    ]) { "\($0) cannot be used with --relay" }
  }

  private var isHTTP2: Bool { wire == .http2 }

  /// The options for connecting to it.
  private var other: Peer? {
    otherEnvironment.flatMap { name in
      var peer = service.peer
      (peer.host, peer.port, peer.serverName) = (nil, 0, nil)
      peer.isSandbox = name == "sandbox"
      switch name {
      case "production", "sandbox": break
      default:
        guard let address = try? ServiceAddress(name) else { return nil }
        (peer.host, peer.port) = (address.host, address.port ?? 0)
      }
      return peer
    }
  }

  func run() throws {
    if listeners.relay != nil { return try runRelay() }
    let device = try Exit.refusing("--token") { try token.map { try ReadToken($0).bytes } }
    var sources = try provider.sources()
    sources.ask = sources.ask.map { ask in
      // Files are opened more than once, but the prompt appears once.
      var passphrases: [String: String?] = [:]
      return { file in
        if let known = passphrases[file] { return known }
        let answer = ask(file)
        passphrases[file] = answer
        return answer
      }
    }
    var report = Report()
    report.add(provider.passphraseFile.flatMap { CredentialFile.exposure(ofPassphrase: $0) })
    let target = PushTarget(host: service.address?.host, sandbox: service.sandbox, offline: offline)
    let ownTime = ProviderCheck(sources: sources, target: target, topic: topic).run(&report)
    let hasTokenKey = TokenKeyCheck(sources: sources).run(&report)
    let isTrusting = TrustCheck(sources: sources).run(&report)
    var times = [ownTime].compactMap { $0 }
    let beforeService = report.lines.count
    if offline {
      report.isReachable = nil
      report.skip("service", "no connection and no push: --offline")
      let place = ServicePlace(service.peer, isHTTP2: isHTTP2)
      report.add(AppleAddress(place, isHTTP2: isHTTP2)?.finding)
    } else if !isTrusting {
      report.skip("service", "no connection and no push: fix --ca first")
    } else {
      let check = ServiceCheck(
        sources: sources, peer: service.peer, isHTTP2: isHTTP2, hasCertificate: ownTime != nil,
        hasTokenKey: hasTokenKey, device: device, triesPush: tryPush, topic: topic, other: other)
      if let theirs = check.run(&report) { times.append(theirs) }
    }
    if provider.namesNobody, !offline {
      MissingCredentialsCheck(isHTTP2: isHTTP2, target: target).run(
        &report, before: beforeService)
    }
    ClockCheck(
      times: times, server: timeServer, timeoutMS: Int(service.connectTimeout * 1000)
    ).run(&report)
    try show(report)
  }

  private func runRelay() throws {
    // Listeners may close at any time.
    signal(SIGPIPE, SIG_IGN)
    var report = Report()
    try listeners.check(provider, service, &report)
    try show(report)
  }

  private func show(_ report: Report) throws {
    StandardStream.output.write(
      json ? report.json : report.text(columns: Terminal.columns(of: .output)))
    if report.isReachable == false { throw Exit.unreachable }
    if !report.findings.isEmpty { throw Exit.someRejected }
  }
}
