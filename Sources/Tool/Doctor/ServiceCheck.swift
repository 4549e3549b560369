import CAPNS
import Client

/// Checks the service: name, connection, proxy, TLS, and its response to the provider.
struct ServiceCheck {
  var sources: ProviderCredentials.Sources
  var peer: Peer
  var isHTTP2: Bool
  /// Whether the sources have a usable certificate, and a usable signing key.
  var hasCertificate: Bool
  var hasTokenKey: Bool
  var device: [UInt8]?
  var triesPush: Bool
  var topic: String?
  /// The other environment to push to, to find out which one knows the token.
  var other: Peer?

  private var place: ServicePlace { ServicePlace(peer, isHTTP2: isHTTP2) }

  func run(_ report: inout Report) -> CertificateTime? {
    let named = peer.proxyAddress?.host ?? place.host
    let addresses = AddressList.of(named)
    if !addresses.isEmpty, addresses != [named] {
      report.fine(named, addresses.joined(separator: ", "))
    }
    var hasSettings = true
    let error = connect(&hasSettings)
    let isAtTLS = error.map(ConnectionCause.isAtTLS) ?? true
    let probe = isAtTLS ? TLSProbe.take(place, peer: peer, isHTTP2: isHTTP2) : TLSProbe()
    report.isReachable = error == nil
    let cause = ConnectionCause(
      place: place, peer: peer, trust: TrustCheck(sources: sources),
      shown: AlertCause.Shown(
        certificate: hasCertificate, isUnusable: sources.certificate != nil && !hasCertificate,
        tokenKey: hasTokenKey),
      isHTTP2: isHTTP2)
    let apple = AppleAddress(place, isHTTP2: isHTTP2)
    if let error {
      // For an address that Apple has retired, that fact explains more than the error.
      report.add(apple?.finding ?? cause.finding(error, probe))
      report.skip(Self.push, "not tried: the service is unreachable")
    } else {
      report.fine(place.name, text(of: probe, hasSettings: hasSettings))
      if let finding = apple?.finding {
        report.add(finding, severity: .warning)
      }
      if let refusal = refusal(probe) {
        report.add(cause.finding(refusal, probe))
        report.isReachable = false
        report.skip(Self.push, "not tried: the service rejects this provider")
      } else if !hasSettings {
        report.problem(
          "no-settings", place.name,
          "it chooses HTTP/2 (ALPN h2) in the handshake, but does not send SETTINGS, which must come first",
          "check --port; ask the service's operator whether its TLS proxy leads to an HTTP/2 server; otherwise raise --connect-timeout"
        )
        report.isReachable = false
        report.skip(Self.push, "not tried: the service does not speak HTTP/2")
      } else if apple?.isForChannels == true {
        report.skip(
          Self.push, "this service manages channels and accepts no pushes, nor broadcasts")
      } else if let device {
        push(to: device, &report)
      } else if triesPush {
        pushToNoDevice(&report)
      } else {
        report.skip(
          Self.push,
          "not tried: the service checks \(hasTokenKey ? "the provider token" : "the provider") and the topic only for a push; --try-push pushes to a nonexistent device, --token to one of yours"
        )
      }
    }
    return probe.certificates.first.map {
      CertificateTime($0, subject: "the service's certificate")
    }
  }

  private static let push = "push"

  private func pushToNoDevice(_ report: inout Report) {
    do throws(LibraryError) {
      let who = try credentials()
      let outcome = try withExtendedLifetime(who) { () throws(LibraryError) in
        try ServiceProbe(pushOptions).push(who.handle)
      }
      guard let outcome else {
        report.problem(
          "push-unanswered", Self.push,
          "the service does not respond to a push to a nonexistent device",
          "try again; ask the service's operator")
        return
      }
      if outcome.isBadToken {
        report.fine(
          Self.push,
          "it rejects only the nonexistent device (\(outcome.reason)), so it accepts pushes of this provider; whether a device belongs to the topic is not tried (--token)"
        )
      } else if outcome.kind == .accepted {
        report.fine(
          Self.push,
          "accepted, although the device does not exist: the service does not check tokens")
      } else {
        report.add(ReasonCause.finding(outcome, about: Self.push))
      }
    } catch {
      report.problem(
        "push-not-sent", Self.push, error.message,
        "check your notification with apns send --dry-run; try again")
    }
  }

  private func push(to device: [UInt8], _ report: inout Report) {
    var attempt = PushAttempt(token: device, options: pushOptions, isByToken: hasTokenKey)
    let first = attempt.send { () throws(LibraryError) in try credentials() }
    guard let other else {
      first.add(to: &report)
      return
    }
    attempt.options.peer = other
    TokenEnvironment(other: ServicePlace(other, isHTTP2: true), own: place, attempt: attempt)
      .evaluate(first, &report) { () throws(LibraryError) in try credentials() }
  }

  /// The library's error for a connection with the usable credentials.
  private func connect(_ hasSettings: inout Bool) -> LibraryError? {
    do throws(LibraryError) {
      let who = try credentials()
      let hasSettingsFrame = try withExtendedLifetime(who) { () throws(LibraryError) in
        try ServiceProbe(options).connect(who.handle)
      }
      hasSettings = hasSettingsFrame || !isHTTP2
      return nil
    } catch {
      return error
    }
  }

  private func connect(belowTLS13: Bool) -> LibraryError? {
    do throws(LibraryError) {
      let session = try PushSession(
        options, credentials: credentials(belowTLS13: belowTLS13), delivery: Delivery())
      try session.connect()
      session.close(within: 0)
      return nil
    } catch {
      return error
    }
  }

  private var options: PushSession.Options {
    var options = PushSession.Options()
    options.peer = peer
    options.isHTTP2 = isHTTP2
    return options
  }

  private var pushOptions: PushSession.Options {
    var options = options
    options.topic = topic
    return options
  }

  private func credentials(belowTLS13: Bool = false) throws(LibraryError) -> ProviderCredentials {
    var usable = sources
    usable.acceptsExpired = true
    usable.staysBelowTLS13 = belowTLS13
    if !hasCertificate { (usable.certificate, usable.key) = (nil, nil) }
    if !hasTokenKey {
      (usable.tokenKey, usable.keyIdentifier, usable.team) = (nil, nil, nil)
    }
    return try ProviderCredentials(usable)
  }

  /// With TLS 1.3 a service checks the provider's certificate after the client's handshake; with
  /// 1.2, which most also speak, as part of it.
  private func refusal(_ probe: TLSProbe) -> LibraryError? {
    guard hasCertificate, probe.hello.version == "1.3" else { return nil }
    var error = connect(belowTLS13: true)
    // The service does not speak 1.2, which some servers report as handshake_failure.
    if error?.alert == 70 || error?.alert == 40 { error = wordAfterHandshake() }
    guard let alert = error?.alert, (42...49).contains(alert) || alert == 116 else { return nil }
    return error
  }

  /// The error of a connection that only waits. If the alert comes later than this, the check does
  /// not see it.
  private func wordAfterHandshake() -> LibraryError? {
    var peer = peer
    (peer.host, peer.port) = (place.host, place.port)
    do throws(LibraryError) {
      _ = try FeedbackStream(peer, credentials: credentials(), readTimeoutMS: 1000).next()
      return nil
    } catch {
      return error
    }
  }

  private func text(of probe: TLSProbe, hasSettings: Bool) -> String {
    var words = ["connected"]
    if let proxy = peer.proxyAddress?.host { words[0] += " through the proxy \(proxy)" }
    if let version = probe.hello.version { words.append("TLS \(version)") }
    if isHTTP2 { words.append(hasSettings ? "HTTP/2 with its SETTINGS" : "HTTP/2 agreed") }
    if let own = probe.certificates.first {
      words.append(
        "\(own.subject), issued by \(own.issuer), until \(Clock.written(own.validUntil))")
    }
    return words.joined(separator: "; ")
  }
}
