import ArgumentParser
import CAPNS

struct Doctor: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Say what is wrong with certificate, key, way and service, and what to do.",
    discussion: """
      Everything at once, from the files to the service's last word:

          apns doctor --certificate provider.pem

      A provider token's key, and Apple's sandbox:

          apns doctor --p8 AuthKey_ABCDE12345.p8 --team-id TEAM123456 --sandbox

      The files alone, without a connection:

          apns doctor --p12 provider.p12 --passphrase-file passphrase --offline

      A gateway or the simulator, which says where its certificates are:

          apns doctor --protocol binary --host 127.0.0.1 --port 2195 \\
            --ca simulator-certificates/ca.pem \\
            --certificate simulator-certificates/provider.pem

      It connects and shakes hands, once or a few times, and pushes nothing. What a service \
      thinks of a provider token it says of a push only: --token sends a silent one to that \
      device.

      Each finding is a problem or a warning, with what to do; --json gives it a "cause", a name \
      that stays the same.

      THE CLOCK is compared with the certificates of both sides and with the age of this program; \
      with --time-server also with that one's.

      EXIT STATUS: 0 where nothing is wrong; 1 where there are findings; 2 where the command line \
      cannot be used; 3 where the service could not be reached or the handshake failed, whatever \
      else was found.
      """)

  @OptionGroup(title: "Provider") var provider: ProviderOptions
  @OptionGroup(title: "Service") var service: PeerOptions

  @Option(name: .customLong("protocol"), help: "Today's interface, or the one before it.")
  var wire = WireProtocol.http2

  @Option(
    help: ArgumentHelp(
      "The app that is to be pushed to: the certificate has to be for it.", valueName: "id"))
  var topic: String?

  @Option(
    help: ArgumentHelp(
      "Compare the clock with this server's, by SNTP.", valueName: "name[:port]"))
  var timeServer: String?

  @Option(
    help: ArgumentHelp(
      "Also send one silent push to this device, and explain the service's word on it.",
      valueName: "token"))
  var token: String?

  @Flag(help: "Look at the files only, and connect with nobody.") var offline = false
  @Flag(help: "Print JSON, one object.") var json = false

  func validate() throws {
    if wire == .binary, provider.p8 != nil {
      throw ValidationError(ProviderOptions.p8IsForHTTP2)
    }
    if offline, token != nil {
      throw ValidationError("--offline and --token: say one of them")
    }
    if offline, provider.certificate == nil, provider.p12 == nil, provider.p8 == nil,
      provider.authority == nil
    {
      throw ValidationError("--offline looks at files: name --certificate, --p12, --p8 or --ca")
    }
  }

  func run() throws {
    var device: [UInt8]?
    do throws(TokenFault) {
      device = try token.map { (text) throws(TokenFault) in try ReadToken(text).bytes }
    } catch {
      throw Exit.refusal("--token: \(error.message)")
    }
    var sources = try provider.sources()
    sources.ask = sources.ask.map { ask in
      // Files are opened more than once, and a person asked once.
      var said: [String: String?] = [:]
      return { file in
        if let known = said[file] { return known }
        let answer = ask(file)
        said[file] = answer
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
    } else if !isTrusting {
      report.skip("service", "not asked, for nobody can be trusted before --ca is mended")
    } else {
      let isHTTP2 = wire == .http2
      let check = ServiceCheck(
        sources: sources,
        peer: service.peer(sandbox: isHTTP2 ? APNS_HOST_HTTP2_SANDBOX : APNS_HOST_SANDBOX),
        isHTTP2: isHTTP2, hasCertificate: ownTime != nil, hasTokenKey: hasTokenKey,
        device: device, topic: topic)
      if let theirs = check.run(&report) { times.append(theirs) }
    }
    if provider.namesNobody, !offline {
      NobodyCheck(isHTTP2: wire == .http2, target: target).run(&report, before: beforeService)
    }
    ClockCheck(
      times: times, server: timeServer, timeoutMS: Int(service.connectTimeout * 1000)
    ).run(&report)
    StandardStream.output.write(
      json ? report.json : report.text(columns: Terminal.columns(of: .output)))
    if report.isReachable == false { throw Exit.unreachable }
    if !report.findings.isEmpty { throw Exit.someRejected }
  }
}
