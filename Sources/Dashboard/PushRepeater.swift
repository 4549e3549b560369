import CAPNS
import Client
import Dispatch
import Glibc
import JSON
import Simulator
import Synchronization

/// Repeats a push that came to the gateway, to the same device or channel, with the library and the
/// simulator's own credentials. The library waits for the response, so this runs on a separate
/// thread.
final class PushRepeater: Sendable {
  /// The gateway's address and certificates, in the JSON that the page gets.
  private let gateway: JSONValue?
  private let queue = DispatchQueue(label: "repeater")
  private let waiting = Atomic(0)

  private static let waitingMax = 16
  private static let connectTimeMS: UInt32 = 5_000
  private static let responseTimeoutMS: Int32 = 10_000
  /// A binary gateway is silent about accepted notifications. A sentinel would prove acceptance,
  /// but would also appear in the list next to the push.
  private static let quietPeriodMS: UInt32 = 300
  /// The tool's limit, so that the command on the page sends the same.
  private static let lifetimeMaxS = Int64(UInt32.max)

  init(gateway: String) { self.gateway = try? JSONParser.read(gateway.utf8) }

  func respond(_ push: RecentPush) async -> Response {
    if let fault = push.repetitionFault { return .fault(409, fault) }
    guard waiting.add(1, ordering: .relaxed).newValue <= Self.waitingMax else {
      waiting.subtract(1, ordering: .relaxed)
      return .fault(429, "\(Self.waitingMax) pushes are already waiting to be resent")
    }
    defer { waiting.subtract(1, ordering: .relaxed) }
    return await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: self.send(push)) }
    }
  }

  private func send(_ push: RecentPush) -> Response {
    var header: [String: String] = [:]
    if case .http2(_, _, let headers) = push.form {
      for one in headers { header[one.name] = one.value }
    }
    do throws(LibraryError) {
      let credentials = try ProviderCredentials(sources(isToken: header["authorization"] != nil))
      let session = try PushSession(
        options(push), credentials: credentials, delivery: Self.delivery(push, header))
      let sent = SentNotification(
        number: push.number, token: push.token, channel: push.broadcast?.channel, isAgain: true)
      try session.send(sent, Array(push.payloadBytes))
      try session.flush()
      _ = try? session.drain(within: Self.responseTimeoutMS)
      guard let outcome = try? session.next(within: 0) else {
        return .fault(
          504, "the gateway did not respond within \(Self.responseTimeoutMS / 1000) seconds")
      }
      let reason = outcome.kind == .unknown ? outcome.lastReason : outcome.reason
      return .json(
        "{\"outcome\":\"\(outcome.kind.rawValue)\",\"reason\":\(JSONLiteral.string(reason))}")
    } catch {
      return .fault(502, error.message)
    }
  }

  private func sources(isToken: Bool) -> ProviderCredentials.Sources {
    var sources = ProviderCredentials.Sources()
    sources.ca = gateway?["ca"]?.string
    if isToken {
      sources.tokenKey = gateway?["token_key"]?.string
      sources.keyIdentifier = gateway?["token_key_id"]?.string
      sources.team = gateway?["token_team_id"]?.string
    } else {
      sources.certificate = gateway?["provider"]?.string
    }
    return sources
  }

  private func options(_ push: RecentPush) -> PushSession.Options {
    var options = PushSession.Options()
    options.peer = Peer(host: host)
    options.peer.connectTimeoutMS = Self.connectTimeMS
    // The user can repeat a failed request.
    options.sendsOnce = true
    // Repeats invalid pushes too.
    options.checks = -1
    switch push.form {
    case .binary(let command, _, _, _):
      options.isHTTP2 = false
      options.peer.port = port("gateway_port")
      options.format = Self.format(command)
      options.quietPeriodMS = Self.quietPeriodMS
      options.payloadMax = UInt32(UInt16.max)
    case .http2:
      options.isHTTP2 = true
      options.peer.port = port("http2_port")
    }
    return options
  }

  private static func delivery(_ push: RecentPush, _ header: [String: String]) -> Delivery {
    var delivery = Delivery()
    var expiry: Int64?
    switch push.form {
    case .binary(_, _, let seconds, let priority):
      expiry = seconds.map(Int64.init)
      delivery.priority = priority ?? 0
    case .http2:
      expiry = header["apns-expiration"].flatMap { Int64($0) }
      delivery.priority = header["apns-priority"].flatMap { UInt8($0) } ?? 0
      delivery.pushType = pushType(header["apns-push-type"])
      if push.broadcast == nil {
        delivery.topic = header["apns-topic"]
        delivery.collapseIdentifier = header["apns-collapse-id"]
      } else {
        // The app in its path. The gateway ignores these two headers.
        delivery.topic = push.topic
      }
    }
    if let expiry {
      // Keeps the original's time to live.
      let left = min(expiry &- push.time / 1000, Self.lifetimeMaxS)
      delivery.expiry = left > 0 ? Int64(time(nil)) &+ left : Int64(APNS_EXPIRY_ONCE)
    }
    return delivery
  }

  private var host: String? {
    switch gateway?["host"]?.string {
    case "0.0.0.0": "127.0.0.1"
    case "::": "::1"
    case let host: host
    }
  }

  private func port(_ name: String) -> UInt16 {
    gateway?[name]?.integer.flatMap(UInt16.init(exactly:)) ?? 0
  }

  private static func format(_ command: UInt8) -> apns_format_t {
    switch command {
    case 0: APNS_FORMAT_SIMPLE
    case 1: APNS_FORMAT_ENHANCED
    default: APNS_FORMAT_FRAMED
    }
  }

  private static func pushType(_ text: String?) -> apns_push_type_t {
    guard let text else { return APNS_PUSH_TYPE_DEFAULT }
    let known = 1...UInt32(APNS_PUSH_TYPE_CONTROLS.rawValue)
    return known.lazy.map { apns_push_type_t(rawValue: $0) }.first {
      String(cString: apns_push_type_text($0)) == text
    } ?? APNS_PUSH_TYPE_DEFAULT
  }
}
