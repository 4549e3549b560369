import APNSLibrary
import CAPNS

/// The way to the service: name, connection, proxy, TLS, and what it says to the provider.
struct ServiceCheck {
  var sources: ProviderCredentials.Sources
  var peer: Peer
  var isHTTP2: Bool
  /// Whether the sources have a usable certificate, and a usable signing key.
  var hasCertificate: Bool
  var hasTokenKey: Bool
  /// To be pushed to.
  var device: [UInt8]?
  /// Push to a device that cannot be.
  var triesPush: Bool
  var topic: String?
  /// Where the push may go too, to find out which environment the device's token is of.
  var other: Peer?

  private var place: ServicePlace { ServicePlace(peer, isHTTP2: isHTTP2) }

  /// The time of the service's certificate.
  func run(_ report: inout Report) -> CertificateTime? {
    let named = peer.proxyAddress?.host ?? place.host
    let addresses = AddressList.of(named)
    if !addresses.isEmpty, addresses != [named] {
      report.fine(named, addresses.joined(separator: ", "))
    }
    var hasSettings = true
    let error = connect(&hasSettings)
    let isAtTLS = error.map(ConnectionCause.isAtTLS) ?? true
    let look = isAtTLS ? TLSLook.take(place, peer: peer, isHTTP2: isHTTP2) : TLSLook()
    report.isReachable = error == nil
    let cause = ConnectionCause(
      place: place, peer: peer, trust: TrustCheck(sources: sources),
      shown: AlertCause.Shown(
        certificate: hasCertificate, isUnusable: sources.certificate != nil && !hasCertificate,
        tokenKey: hasTokenKey),
      isHTTP2: isHTTP2)
    let apple = AppleAddress(place, isHTTP2: isHTTP2)
    if let error {
      // Why nobody answers where Apple no longer is says more than how.
      report.add(apple?.finding ?? cause.finding(error, look))
      report.skip(Self.push, "not tried: the service was not reached")
    } else {
      report.fine(place.name, text(of: look, hasSettings: hasSettings))
      if let finding = apple?.finding {
        report.add(finding, severity: .warning)
      }
      if let refusal = refusal(look) {
        report.add(cause.finding(refusal, look))
        report.isReachable = false
        report.skip(Self.push, "not tried: the service does not let this provider in")
      } else if !hasSettings {
        report.add(
          Finding(
            cause: "no-settings", about: place.name,
            message:
              "it agrees to HTTP/2 (ALPN h2) in the handshake, but sends no SETTINGS, with which HTTP/2 begins",
            remedy:
              "check --port; ask the service's operator whether the server behind its TLS speaks HTTP/2; otherwise raise --connect-timeout"
          ))
        report.isReachable = false
        report.skip(Self.push, "not tried: the service does not speak HTTP/2")
      } else if apple?.isForChannels == true {
        report.skip(
          Self.push, "this service manages channels and takes no pushes, broadcasts included")
      } else if let device {
        push(to: device, &report)
      } else if triesPush {
        pushToNoDevice(&report)
      } else {
        report.skip(
          Self.push,
          "not tried: what the service says of \(hasTokenKey ? "the provider token" : "the provider") and the topic shows only when something is pushed; --try-push pushes to a device that cannot be, --token to one of yours"
        )
      }
    }
    return look.certificates.first.map { CertificateTime($0, whose: "the service's certificate") }
  }

  private static let push = "push"

  private func pushToNoDevice(_ report: inout Report) {
    var options = options
    options.topic = topic
    do throws(LibraryError) {
      let who = try credentials()
      let outcome = try withExtendedLifetime(who) { () throws(LibraryError) in
        try ServiceProbe(options).push(who.handle)
      }
      guard let outcome else {
        report.add(
          Finding(
            cause: "push-unanswered", about: Self.push,
            message: "the service does not answer a push to a device that cannot be",
            remedy: "try again; ask the service's operator"))
        return
      }
      if outcome.isBadToken {
        report.fine(
          Self.push,
          "a device that cannot be is all that it refuses (\(outcome.reason)): it takes pushes of this provider; whether a device belongs to the topic is not tried (--token)"
        )
      } else if outcome.kind == .accepted {
        report.fine(
          Self.push, "accepted, though there is no such device: the service does not judge tokens")
      } else {
        report.add(ReasonCause.finding(outcome, about: Self.push))
      }
    } catch {
      report.add(
        Finding(
          cause: "push-not-sent", about: Self.push, message: error.message,
          remedy: "check what you send with apns send --dry-run; try again"))
    }
  }

  private func push(to device: [UInt8], _ report: inout Report) {
    var attempt = PushAttempt(
      token: device, topic: topic, options: options, answerMS: Int32(peer.connectTimeoutMS),
      isByToken: hasTokenKey)
    let first = attempt.answer { () throws(LibraryError) in try credentials() }
    guard let other else {
      first.tell(&report)
      return
    }
    attempt.options.peer = other
    TokenEnvironment(other: ServicePlace(other, isHTTP2: true), own: place, attempt: attempt)
      .judge(first, &report) { () throws(LibraryError) in try credentials() }
  }

  /// The library's error for a connection with the usable credentials.
  private func connect(_ hasSettings: inout Bool) -> LibraryError? {
    do throws(LibraryError) {
      let who = try credentials()
      let heard = try withExtendedLifetime(who) { () throws(LibraryError) in
        try ServiceProbe(options).connect(who.handle)
      }
      hasSettings = heard || !isHTTP2
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

  /// With TLS 1.3 a service judges the provider's certificate when the handshake is over
  /// for the client; with 1.2, which most speak too, as part of it.
  private func refusal(_ look: TLSLook) -> LibraryError? {
    guard hasCertificate, look.hello.version == "1.3" else { return nil }
    var error = connect(belowTLS13: true)
    // It does not speak 1.2, which some call a handshake failure.
    if error?.alert == 70 || error?.alert == 40 { error = wordAfterHandshake() }
    guard let alert = error?.alert, (42...49).contains(alert) || alert == 116 else { return nil }
    return error
  }

  /// The error of a connection that only listens. If a service sends its alert later than this, its
  /// opinion of the certificate stays unknown.
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

  private func text(of look: TLSLook, hasSettings: Bool) -> String {
    var words = ["connected"]
    if let proxy = peer.proxyAddress?.host { words[0] += " through the proxy \(proxy)" }
    if let version = look.hello.version { words.append("TLS \(version)") }
    if isHTTP2 { words.append(hasSettings ? "HTTP/2 with its SETTINGS" : "HTTP/2 agreed") }
    if let own = look.certificates.first {
      words.append(
        "\(own.subject), issued by \(own.issuer), until \(Clock.written(own.validUntil))")
    }
    return words.joined(separator: "; ")
  }
}
