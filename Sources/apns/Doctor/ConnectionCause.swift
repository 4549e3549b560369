import APNSLibrary
import CAPNS
import Glibc

/// Why the library does not come through, as a finding.
struct ConnectionCause {
  var place: ServicePlace
  var peer: Peer
  var trust: TrustCheck
  var shown: AlertCause.Shown
  var isHTTP2: Bool

  /// Whether a look at TLS can tell more of this error: its way leads as far as that.
  static func isAtTLS(_ error: LibraryError) -> Bool {
    if error.status == APNS_ERR_TLS || error.status == APNS_ERR_PROTOCOL { return true }
    // Whoever was silent in time will be so again.
    return error.status != APNS_ERR_TIMEOUT && error.message.contains("TLS handshake")
  }

  func finding(_ error: LibraryError, _ look: TLSLook) -> Finding {
    func found(_ cause: String, _ message: String, _ remedy: String) -> Finding {
      Finding(cause: cause, about: place.name, message: message, remedy: remedy)
    }
    func says(_ words: String) -> Bool { error.message.contains(words) }

    if says("cannot resolve") { return name(error) }
    if says("the proxy ") { return proxy(error) }
    if error.message.contains("is not verified") {
      return ChainCause(place: place, trust: trust).finding(error, look)
    }
    if isHTTP2, error.alert == 120 || error.status == APNS_ERR_PROTOCOL {
      return found(
        "no-http2",
        "the service does not speak HTTP/2 (ALPN h2); it took \(look.application ?? "no protocol")",
        "--protocol binary where it is a gateway of the old interface; else check --port")
    }
    if !look.hello.isEmpty, !look.hello.isTLS {
      return found(
        "not-tls", "what answers there speaks no TLS; it begins with \"\(look.hello.line)\"",
        "check --port; where it is a proxy, give it with --proxy and the service with --host")
    }
    if let version = look.hello.version, version < "1.2" {
      return found(
        "tls-too-old", "the service speaks TLS \(version), and the lowest taken is 1.2",
        "have the service speak TLS 1.2 or 1.3; there is no option for less")
    }
    if let alert = error.alert {
      return AlertCause.finding(alert, about: place.name, shown)
    }
    if says("wrong version number") || says("packet length too long") || says("http request") {
      return found(
        "not-tls", "what answers there speaks no TLS: \(error.message)",
        "check --port; where it is a proxy, give it with --proxy and the service with --host")
    }
    if says("handshake took too long") {
      return found(
        "handshake-timeout",
        "it takes connections and does not answer the handshake",
        "check --port: what listens there may wait for another protocol; a firewall may swallow TLS; else --connect-timeout"
      )
    }
    if says("handshake broke off") || says("closed during the TLS handshake") {
      return found(
        "handshake-closed", "it closes the connection during the handshake",
        "a list of addresses, a limit or a firewall may turn this machine away: ask its operator; check --port"
      )
    }
    if error.status == APNS_ERR_TLS {
      return found(
        "tls-failed", error.message,
        "openssl s_client -connect \(place.name) shows more; ask the service's operator")
    }
    return network(error)
  }

  private func name(_ error: LibraryError) -> Finding {
    let isDown = error.message.contains("emporary failure")
    let name = peer.proxyHost ?? place.host
    return Finding(
      cause: isDown ? "name-service-down" : "name-not-found", about: name,
      message: error.message,
      remedy: isDown
        ? "no name server answers: see /etc/resolv.conf, in a container too; getent hosts \(name)"
        : "check the name for slips; getent hosts \(name) asks the same on this machine")
  }

  private func network(_ error: LibraryError) -> Finding {
    let (cause, remedy): (String, String)
    switch error.systemError {
    case ECONNREFUSED:
      (cause, remedy) = (
        "connection-refused",
        "nobody listens there: check --port (\(isHTTP2 ? "443 or 2197" : "2195")), and that the service is up"
      )
    case ENETUNREACH, EHOSTUNREACH, ENETDOWN:
      (cause, remedy) = (
        "no-route",
        "this machine has no way there: see ip route, and IPv6 where the address is of it"
      )
    case EACCES, EPERM:
      (cause, remedy) = ("connection-forbidden", "this machine's own firewall forbids it")
    case ECONNRESET:
      (cause, remedy) = ("connection-reset", "a firewall or the service turns this machine away")
    default:
      if error.status == APNS_ERR_TIMEOUT || error.systemError == ETIMEDOUT {
        (cause, remedy) = (
          "connection-timeout",
          "something on the way drops it, mostly a firewall: have port \(place.port) let out\(isHTTP2 ? ", or try --port 2197" : ""), or go through a proxy with --proxy"
        )
      } else {
        (cause, remedy) = ("connection-failed", "try again; ask the service's operator")
      }
    }
    return Finding(cause: cause, about: place.name, message: error.message, remedy: remedy)
  }

  private func proxy(_ error: LibraryError) -> Finding {
    let (cause, remedy): (String, String)
    if error.message.contains("cannot connect to the proxy") {
      (cause, remedy) = (
        "proxy-unreachable",
        "check --proxy, and that the proxy is up; leave it away where the service is reached without"
      )
    } else if error.message.contains("refused: 407") {
      (cause, remedy) = (
        "proxy-authentication",
        "the proxy asks who is there: --proxy USER@HOST:PORT, the password in APNS_PROXY_PASSWORD"
      )
    } else if error.message.contains(" refused: 5") {
      (cause, remedy) = (
        "proxy-without-way",
        "the proxy does not reach \(place.name) either: check --host and --port; ask its operator"
      )
    } else if error.message.contains(" refused: ") {
      (cause, remedy) = (
        "proxy-refused",
        "the proxy lets nobody to \(place.name): have its operator allow CONNECT there"
      )
    } else if error.message.contains("does not speak HTTP") {
      (cause, remedy) = ("proxy-not-http", "check the port in --proxy: an HTTP proxy is wanted")
    } else if error.status == APNS_ERR_TIMEOUT {
      (cause, remedy) = ("proxy-timeout", "the proxy comes not through either: ask its operator")
    } else {
      (cause, remedy) = ("proxy-closed", "check the port in --proxy; ask its operator")
    }
    return Finding(
      cause: cause, about: peer.proxyHost ?? "", message: error.message, remedy: remedy)
  }
}
