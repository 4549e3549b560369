import Client

/// The meaning of the service's reason for a rejection, with a remedy.
enum ReasonCause {
  static func finding(_ outcome: SendOutcome, about: String) -> Finding {
    let known = all.first { $0.reasons.contains(outcome.reason) }
    return .problem(
      outcome.kind == .rejected ? "push-" + dashed(outcome.reason) : "push-unknown", about,
      "\(outcome.kind.rawValue): \(outcome.reason)\(known.map { ", " + $0.meaning } ?? "")",
      known?.remedy ?? "try again later; ask the service's operator")
  }

  /// The same in one line, for other commands; nil if the reason needs no explanation.
  static func words(_ reason: String) -> String? {
    all.first { $0.reasons.contains(reason) }.map { "\($0.meaning): \($0.remedy)" }
  }

  /// BadDeviceToken and "invalid token" as bad-device-token and invalid-token.
  private static func dashed(_ reason: String) -> String {
    var out = ""
    for character in reason {
      if character.isUppercase, let last = out.last, last != "-" { out += "-" }
      out += character.isLetter || character.isNumber ? character.lowercased() : "-"
    }
    return out
  }

  private struct Known {
    var reasons: [String]
    var meaning: String
    var remedy: String

    init(_ reasons: [String], _ meaning: String, _ remedy: String) {
      (self.reasons, self.meaning, self.remedy) = (reasons, meaning, remedy)
    }
  }

  // The first texts are reasons in HTTP/2 responses, the others are statuses of the binary
  // interface.
  private static let all = [
    Known(
      ["ExpiredProviderToken"],
      "the provider token's time differs from the service's by more than an hour",
      "set this machine's clock: timedatectl set-ntp true; --time-server compares it"),
    Known(
      ["InvalidProviderToken"], "the key, its ID and the team do not belong together",
      "check --key-id and --team-id on the account page, and that the key was not revoked there"),
    Known(
      ["MissingProviderToken"], "the service got neither a certificate nor a token",
      "give --certificate, or --p8 with --team-id"),
    Known(
      ["UnrelatedKeyIdInToken"], "this connection began with tokens signed with another key",
      "use one key per connection"),
    Known(
      ["BadEnvironmentKeyIdInToken"],
      "the key is scoped: it is for Apple's other environment, or for certain topics",
      "check the key's scope on the account page (Keys); add or leave out --sandbox, give one of the key's topics with --topic, or make a key for both environments and the whole team"
    ),
    Known(
      ["TooManyProviderTokenUpdates"], "new provider tokens come too often",
      "share one session or its credentials among all senders, and wait 20 minutes"),
    Known(
      ["BadCertificateEnvironment"], "the certificate is for Apple's other service",
      "add or leave out --sandbox, or get a certificate for this one"),
    Known(
      ["BadCertificate", "Forbidden"], "the service does not accept the provider",
      "check that the certificate is a push certificate and has not been revoked"),
    Known(
      ["TopicDisallowed"], "this provider may not push to this app",
      "give a --topic of the certificate, or one of the --team-id's apps; a key can be for certain topics only (account page, Keys)"
    ),
    Known(
      ["MissingTopic", "missing topic"], "the topic is missing", "give --topic, the app's bundle ID"
    ),
    Known(
      ["BadTopic", "invalid topic size"], "no app has this topic",
      "give --topic, the app's bundle ID; the library adds the suffix that a --push-type needs"),
    Known(
      ["InvalidPushType"], "the push type does not fit the topic",
      "leave out --push-type: it follows the topic and the certificate; a topic that ends in .voip is for VoIP, the app's bundle ID for alerts"
    ),
    Known(
      ["DeviceTokenNotForTopic"], "the token belongs to another app, or to another kind of push",
      "give the topic of the token's app with --topic; PushKit (VoIP) tokens need the topic that ends in .voip, and only they"
    ),
    Known(
      ["BadDeviceToken", "invalid token", "invalid token size"],
      "the service does not know the token",
      "add --sandbox for an app that Xcode installed, leave it out for others; apns token finds typing errors"
    ),
    Known(
      ["Unregistered", "ExpiredToken"], "the app is no longer on the device",
      "use a token that the app sent recently"),
    Known(
      ["ChannelNotRegistered", "BadChannelId", "MissingChannelId"],
      "the service does not know the channel",
      "give a channel of this app and this service: sandbox and production have separate channels"),
    Known(
      ["CannotCreateChannelConfig"], "the app has 10,000 channels",
      "delete channels that are no longer used"),
    Known(
      ["FeatureNotEnabled"], "broadcasts are not enabled for the app",
      "enable Broadcast for the app's bundle ID on Apple's account page"),
    Known(
      ["TopicMismatch"], "the topic does not match the channel",
      "give the bundle ID with --topic exactly as on the account page, capitals too"),
    Known(
      ["TooManyRequests"], "too many pushes came for this device", "wait, and push less often to it"
    ),
    Known(
      ["MissingDeviceToken"], "the request has no device token",
      "give --token; do not use a proxy that changes paths"),
    Known(
      ["PayloadEmpty", "missing payload"], "the payload is missing",
      "check that no proxy removes the body"),
    Known(
      ["PayloadTooLarge", "invalid payload size"],
      "the service's limit is smaller than the payload",
      "check the payload's size with apns payload --limit"),
    Known(
      [
        "BadCollapseId", "BadExpirationDate", "BadMessageId", "BadPriority", "DuplicateHeaders",
        "MissingPushType", "BadPath", "MethodNotAllowed",
      ], "the service does not accept the library's default request",
      "check that --host is APNs or compatible with it, and that no proxy changes headers"),
    Known(
      ["IdleTimeout"], "the service closed an unused connection",
      "none: the library resends automatically; otherwise try again"),
    Known(
      ["InternalServerError", "ServiceUnavailable", "Shutdown", "processing error"],
      "the service has an internal problem, or is shutting down",
      "try again later; Apple recommends 15 minutes"),
  ]
}
