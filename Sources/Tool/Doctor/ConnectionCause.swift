import CAPNS
import Client
import Glibc

/// Turns a connection failure of the library into a finding.
struct ConnectionCause {
  var place: ServicePlace
  var peer: Peer
  var trust: TrustCheck
  var shown: AlertCause.Shown
  var isHTTP2: Bool

  /// Whether a TLS probe can explain the error better, because the connection got that far.
  static func isAtTLS(_ error: LibraryError) -> Bool {
    // After a handshake timeout, a TLS probe would only time out again.
    error.status == APNS_ERR_TLS || error.status == APNS_ERR_PROTOCOL
      || error.cause == APNS_CAUSE_HANDSHAKE_ENDED
  }

  func finding(_ error: LibraryError, _ probe: TLSProbe) -> Finding {
    func found(_ cause: String, _ message: String, _ remedy: String) -> Finding {
      .problem(cause, place.name, message, remedy)
    }

    switch error.cause {
    case APNS_CAUSE_NAME_NOT_FOUND, APNS_CAUSE_LOOKUP_FAILED, APNS_CAUSE_LOOKUP_TIMEOUT:
      return name(error)
    case APNS_CAUSE_PROXY_UNREACHABLE, APNS_CAUSE_PROXY_TIMEOUT, APNS_CAUSE_PROXY_LOST,
      APNS_CAUSE_PROXY_NOT_HTTP, APNS_CAUSE_PROXY_AUTHENTICATION, APNS_CAUSE_PROXY_REFUSED,
      APNS_CAUSE_PROXY_NO_ROUTE:
      return proxy(error)
    case APNS_CAUSE_PEER_EXPIRED, APNS_CAUSE_PEER_NOT_YET_VALID, APNS_CAUSE_PEER_NAME,
      APNS_CAUSE_PEER_NOT_TRUSTED, APNS_CAUSE_PEER_REVOKED, APNS_CAUSE_PEER_REVOCATION_LIST,
      APNS_CAUSE_PEER_NOT_PINNED, APNS_CAUSE_PEER_UNFIT:
      return ChainCause(place: place, trust: trust).finding(error, probe)
    default: break
    }
    if isHTTP2, error.cause == APNS_CAUSE_NO_HTTP2 || error.status == APNS_ERR_PROTOCOL {
      return found(
        "no-http2",
        "the service does not speak HTTP/2 (ALPN h2); it chose \(probe.application ?? "no protocol")",
        "use --protocol binary if it is a binary gateway; otherwise check --port")
    }
    if !probe.hello.isEmpty, !probe.hello.isTLS {
      return found(
        "not-tls", "the server at this port does not speak TLS; it sends \"\(probe.hello.line)\"",
        "check --port; if it is a proxy, give it with --proxy and the service with --host")
    }
    if let version = probe.hello.version, version < "1.2" {
      return found(
        "tls-too-old",
        "the service speaks TLS \(version), but at least 1.2 is required",
        "enable TLS 1.2 or 1.3 in the service; no option allows less")
    }
    if let alert = error.alert {
      return AlertCause.finding(alert, about: place.name, shown)
    }
    if error.cause == APNS_CAUSE_NOT_TLS {
      return found(
        "not-tls", "the server at this port does not speak TLS: \(error.message)",
        "check --port; if it is a proxy, give it with --proxy and the service with --host")
    }
    if error.cause == APNS_CAUSE_HANDSHAKE_TIMEOUT {
      return found(
        "handshake-timeout",
        "it accepts connections but does not answer the handshake",
        "check --port: the server there may expect another protocol; a firewall may drop TLS; otherwise raise --connect-timeout"
      )
    }
    if error.cause == APNS_CAUSE_HANDSHAKE_ENDED {
      return found(
        "handshake-closed", "it closes the connection during the handshake",
        "an address list, a limit or a firewall may block this machine: ask its operator; check --port"
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
    let isDown = error.cause != APNS_CAUSE_NAME_NOT_FOUND
    let name = peer.proxyAddress?.host ?? place.host
    return .problem(
      isDown ? "name-service-down" : "name-not-found", name, error.message,
      isDown
        ? "no name server responds: see /etc/resolv.conf, in a container too; getent hosts \(name)"
        : "check the spelling of the name; getent hosts \(name) resolves it on this machine")
  }

  private func network(_ error: LibraryError) -> Finding {
    func found(_ cause: String, _ remedy: String) -> Finding {
      .problem(cause, place.name, error.message, remedy)
    }
    switch error.cause {
    case APNS_CAUSE_CONNECTION_REFUSED:
      return found(
        "connection-refused",
        "no server listens there: check --port (\(isHTTP2 ? "443 or 2197" : "2195")), and that the service is up"
      )
    case APNS_CAUSE_UNREACHABLE:
      return found(
        "no-route",
        "this machine has no route to it: see ip route, and ip -6 route for an IPv6 address")
    case _ where error.systemError == EACCES || error.systemError == EPERM:
      return found("connection-forbidden", "this machine's firewall blocks it")
    case _ where error.systemError == ECONNRESET:
      return found("connection-reset", "a firewall or the service blocks this machine")
    case _ where error.status == APNS_ERR_TIMEOUT:
      return found(
        "connection-timeout",
        "something on the network path drops the packets, usually a firewall: have port \(place.port) opened to the outside\(isHTTP2 ? ", or try --port 2197" : ""), or go through a proxy with --proxy"
      )
    default: return found("connection-failed", "try again; ask the service's operator")
    }
  }

  private func proxy(_ error: LibraryError) -> Finding {
    func found(_ cause: String, _ remedy: String) -> Finding {
      .problem(cause, peer.proxyAddress?.host ?? "", error.message, remedy)
    }
    switch error.cause {
    case APNS_CAUSE_PROXY_UNREACHABLE:
      return found(
        "proxy-unreachable",
        "check --proxy, and that the proxy is up; leave it out if the service can be reached without a proxy"
      )
    case APNS_CAUSE_PROXY_AUTHENTICATION:
      return found(
        "proxy-authentication",
        "the proxy requires a user and a password: --proxy USER@HOST:PORT, and the password in APNS_PROXY_PASSWORD"
      )
    case APNS_CAUSE_PROXY_NO_ROUTE:
      return found(
        "proxy-without-way",
        "the proxy cannot reach \(place.name) either: check --host and --port; ask its operator")
    case APNS_CAUSE_PROXY_REFUSED:
      return found(
        "proxy-refused",
        "the proxy does not allow connections to \(place.name): have its operator allow CONNECT there"
      )
    case APNS_CAUSE_PROXY_NOT_HTTP:
      return found("proxy-not-http", "check the port in --proxy: it must be an HTTP proxy")
    case APNS_CAUSE_PROXY_TIMEOUT:
      return found("proxy-timeout", "the proxy cannot reach it either: ask its operator")
    default:
      return found("proxy-closed", "check the port in --proxy; ask its operator")
    }
  }
}
