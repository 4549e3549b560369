import Client
import CAPNS
import Logging

/// A problem that stops all work of an app until the operator acts: APNs rejects the provider,
/// credentials are missing, the topic is wrong, or the server is not trusted. It is logged when it
/// begins, then once a minute, and when it ends.
package struct StandingProblem {
  private struct Stop {
    var words: String
    var cause: apns_cause_t
    var since: Int64
    var nextLine: Int64
    var count = 0
    /// The count in the last log line.
    var saidCount = 0
  }

  private static let everyMS: Int64 = 60_000
  /// How long after a success a failure may be an exception.
  private static let doubtMS: Int64 = 2000

  private var stop: Stop?
  /// Whether it has been logged.
  private var stands = false
  private var lastGood: Int64?
  /// Responses that call a token bad, while there was no success yet.
  private var badTokens = 0
  /// With this many, the tokens are not the reason.
  private static let mostBadTokens = 100

  /// The current problem; nil without one.
  package var words: String? { stands ? stop?.words : nil }

  /// Whether a failure may still be an exception.
  var isInDoubt: Bool { stop != nil && !stands }

  /// Counts a failure. Times are monotonic.
  package mutating func meet(_ words: String, _ cause: apns_cause_t, at now: Int64, _ log: Logger) {
    var met = stop ?? Stop(words: words, cause: cause, since: now, nextLine: now)
    (met.words, met.cause) = (words, cause)
    met.count += 1
    stop = met
    look(at: now, log)
  }

  /// A push was accepted, or rejected for a reason that concerns only it.
  package mutating func end(at now: Int64, _ log: Logger) {
    lastGood = now
    guard let stop else { return }
    self.stop = nil
    guard stands else { return }
    stands = false
    log.notice(
      "pushes succeed again after \((now - stop.since) / 1000) s and \(stop.count) failures: \(stop.words)",
      metadata: Self.fields(stop))
  }

  /// Logs that the worker ends, perhaps to be replaced after a change of the configuration.
  func leave(at now: Int64, _ log: Logger) {
    guard stands, let stop else { return }
    log.notice(
      "ends, and nothing was pushed for \((now - stop.since) / 1000) s: \(stop.words)",
      metadata: Self.fields(stop))
  }

  package mutating func look(at now: Int64, _ log: Logger) {
    guard var stop, now >= stop.nextLine, stop.count > stop.saidCount else { return }
    if !stands, let lastGood, now - max(lastGood, stop.since) < Self.doubtMS { return }
    log.error(
      stands
        ? "nothing is pushed for \((now - stop.since) / 1000) s, after \(stop.count) failures: \(stop.words)"
        : "nothing is pushed until an operator acts: \(stop.words)",
      metadata: Self.fields(stop))
    stands = true
    stop.nextLine = now + Self.everyMS
    stop.saidCount = stop.count
    self.stop = stop
  }

  private static func fields(_ stop: Stop) -> Logger.Metadata {
    [
      "kind": "stopped", "cause": "\(String(cString: apns_cause_name(stop.cause)))",
      "count": .stringConvertible(stop.count),
    ]
  }
}

extension StandingProblem {
  /// Causes that no retry resolves.
  private static let causes: Set<UInt32> = Set(
    [
      APNS_CAUSE_PROXY_AUTHENTICATION, APNS_CAUSE_PEER_EXPIRED, APNS_CAUSE_PEER_NOT_YET_VALID,
      APNS_CAUSE_PEER_NAME, APNS_CAUSE_PEER_NOT_TRUSTED, APNS_CAUSE_PEER_REVOKED,
      APNS_CAUSE_PEER_NOT_PINNED, APNS_CAUSE_PEER_UNFIT, APNS_CAUSE_NOT_TLS,
      APNS_CAUSE_TLS_VERSION, APNS_CAUSE_NO_HTTP2, APNS_CAUSE_CERTIFICATE_WANTED,
      APNS_CAUSE_CERTIFICATE_REFUSED, APNS_CAUSE_FILE_UNREADABLE, APNS_CAUSE_FILE_MALFORMED,
      APNS_CAUSE_CERTIFICATE_MISSING, APNS_CAUSE_KEY_MISSING, APNS_CAUSE_KEY_MISMATCH,
      APNS_CAUSE_KEY_UNFIT, APNS_CAUSE_PASSPHRASE_MISSING, APNS_CAUSE_PASSPHRASE_WRONG,
      APNS_CAUSE_CERTIFICATE_EXPIRED, APNS_CAUSE_CERTIFICATE_NOT_YET_VALID,
      APNS_CAUSE_CERTIFICATE_UNFIT, APNS_CAUSE_CA_MISSING, APNS_CAUSE_TOKEN_IDENTIFIER,
      APNS_CAUSE_TOPIC, APNS_CAUSE_PROVIDER_TOKEN, APNS_CAUSE_SEVERAL_IDENTITIES,
    ].map(\.rawValue))

  static func words(_ error: LibraryError) -> String {
    let isOurs = [APNS_CAUSE_CERTIFICATE_WANTED, APNS_CAUSE_CERTIFICATE_REFUSED].contains(
      error.cause)
    return isOurs ? "APNs rejects the certificate: \(error.message)" : error.message
  }

  static func isOne(_ cause: apns_cause_t) -> Bool { causes.contains(cause.rawValue) }

  /// Takes a response into account. Returns the problem if the response shows one.
  mutating func receive(_ result: PushResult, at now: Int64, _ log: Logger) -> String? {
    if let words = words(result) {
      meet(words, APNS_CAUSE_NONE, at: now, log)
      return words
    }
    let isBadToken = result.httpStatus == 400 && PushLimits.badTokenReasons.contains(result.code)
    if isBadToken, lastGood == nil {
      badTokens += 1
    } else if result.httpStatus > 0, result.httpStatus != 429, result.httpStatus < 500 {
      end(at: now, log)
    }
    return nil
  }

  /// The configuration error that a response shows; nil if it concerns the notification or APNs.
  private func words(_ result: PushResult) -> String? {
    if result.httpStatus == 403 { return "APNs rejects the provider: \(result.reason)" }
    // A topic in the entry is the producer's error.
    guard result.httpStatus == 400, result.held.entry.content.topic == nil else { return nil }
    switch result.code {
    case APNS_REASON_TOPIC_DISALLOWED, APNS_REASON_BAD_TOPIC, APNS_REASON_MISSING_TOPIC:
      return "APNs rejects the topic: \(result.reason)"
    case APNS_REASON_BAD_CERTIFICATE, APNS_REASON_BAD_CERTIFICATE_ENVIRONMENT:
      return "APNs rejects the provider: \(result.reason)"
    default:
      guard PushLimits.badTokenReasons.contains(result.code), lastGood == nil,
        badTokens >= Self.mostBadTokens
      else { return nil }
      return
        "APNs has accepted nothing and calls every token bad; check environment and topic: "
        + "\(result.reason)"
    }
  }
}
