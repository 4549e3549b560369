import Client

/// The meaning of the service's reason for a rejection, with a remedy.
enum ReasonCause {
  static func finding(_ outcome: SendOutcome, about: String) -> Finding {
    let known = all.first { $0.reasons.contains(outcome.reason) }
    return Finding(
      cause: outcome.kind == .rejected ? "push-" + dashed(outcome.reason) : "push-unknown",
      about: about,
      message:
        "\(outcome.kind.rawValue): \(outcome.reason)\(known.map { ", " + $0.meaning } ?? "")",
      remedy: known?.remedy ?? "try again later; ask the service's operator")
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
  }

  // The first texts are reasons in HTTP/2 responses, the others are statuses of the binary
  // interface.
  private static let all = [
    Known(
      reasons: ["ExpiredProviderToken"],
      meaning: "the provider token's time differs from the service's by more than an hour",
      remedy: "set this machine's clock: timedatectl set-ntp true; --time-server compares it"),
    Known(
      reasons: ["InvalidProviderToken"],
      meaning: "the key, its ID and the team do not belong together",
      remedy:
        "check --key-id and --team-id on the account page, and that the key was not revoked there"),
    Known(
      reasons: ["MissingProviderToken"],
      meaning: "the service got neither a certificate nor a token",
      remedy: "give --certificate, or --p8 with --team-id"),
    Known(
      reasons: ["UnrelatedKeyIdInToken"],
      meaning: "this connection began with tokens signed with another key",
      remedy: "use one key per connection"),
    Known(
      reasons: ["BadEnvironmentKeyIdInToken"],
      meaning: "the key is scoped: it is for Apple's other environment, or for certain topics",
      remedy:
        "check the key's scope on the account page (Keys); add or leave out --sandbox, give one of the key's topics with --topic, or make a key for both environments and the whole team"
    ),
    Known(
      reasons: ["TooManyProviderTokenUpdates"], meaning: "new provider tokens come too often",
      remedy: "share one session or its credentials among all senders, and wait 20 minutes"
    ),
    Known(
      reasons: ["BadCertificateEnvironment"],
      meaning: "the certificate is for Apple's other service",
      remedy: "add or leave out --sandbox, or get a certificate for this one"),
    Known(
      reasons: ["BadCertificate", "Forbidden"], meaning: "the service does not accept the provider",
      remedy: "check that the certificate is a push certificate and has not been revoked"),
    Known(
      reasons: ["TopicDisallowed"], meaning: "this provider may not push to this app",
      remedy:
        "give a --topic of the certificate, or one of the --team-id's apps; a key can be for certain topics only (account page, Keys)"
    ),
    Known(
      reasons: ["MissingTopic", "missing topic"], meaning: "the topic is missing",
      remedy: "give --topic, the app's bundle ID"),
    Known(
      reasons: ["BadTopic", "invalid topic size"], meaning: "no app has this topic",
      remedy:
        "give --topic, the app's bundle ID; the library adds the suffix that a --push-type needs"),
    Known(
      reasons: ["InvalidPushType"], meaning: "the push type does not fit the topic",
      remedy:
        "leave out --push-type: it follows the topic and the certificate; a topic that ends in .voip is for VoIP, the app's bundle ID for alerts"
    ),
    Known(
      reasons: ["DeviceTokenNotForTopic"],
      meaning: "the token belongs to another app, or to another kind of push",
      remedy:
        "give the topic of the token's app with --topic; PushKit (VoIP) tokens need the topic that ends in .voip, and only they"
    ),
    Known(
      reasons: ["BadDeviceToken", "invalid token", "invalid token size"],
      meaning: "the service does not know the token",
      remedy:
        "add --sandbox for an app that Xcode installed, leave it out for others; apns token finds typing errors"
    ),
    Known(
      reasons: ["Unregistered", "ExpiredToken"], meaning: "the app is no longer on the device",
      remedy: "use a token that the app sent recently"),
    Known(
      reasons: ["ChannelNotRegistered", "BadChannelId", "MissingChannelId"],
      meaning: "the service does not know the channel",
      remedy:
        "give a channel of this app and this service: sandbox and production have separate channels"
    ),
    Known(
      reasons: ["CannotCreateChannelConfig"], meaning: "the app has 10,000 channels",
      remedy: "delete channels that are no longer used"),
    Known(
      reasons: ["FeatureNotEnabled"], meaning: "broadcasts are not enabled for the app",
      remedy: "enable Broadcast for the app's bundle ID on Apple's account page"),
    Known(
      reasons: ["TopicMismatch"], meaning: "the topic does not match the channel",
      remedy: "give the bundle ID with --topic exactly as on the account page, capitals too"),
    Known(
      reasons: ["TooManyRequests"], meaning: "too many pushes came for this device",
      remedy: "wait, and push less often to it"),
    Known(
      reasons: ["MissingDeviceToken"], meaning: "the request has no device token",
      remedy: "give --token; do not use a proxy that changes paths"),
    Known(
      reasons: ["PayloadEmpty", "missing payload"], meaning: "the payload is missing",
      remedy: "check that no proxy removes the body"),
    Known(
      reasons: ["PayloadTooLarge", "invalid payload size"],
      meaning: "the service's limit is smaller than the payload",
      remedy: "check the payload's size with apns payload --limit"),
    Known(
      reasons: [
        "BadCollapseId", "BadExpirationDate", "BadMessageId", "BadPriority", "DuplicateHeaders",
        "MissingPushType", "BadPath", "MethodNotAllowed",
      ], meaning: "the service does not accept the library's default request",
      remedy: "check that --host is APNs or compatible with it, and that no proxy changes headers"),
    Known(
      reasons: ["IdleTimeout"], meaning: "the service closed an unused connection",
      remedy: "none: the library resends automatically; otherwise try again"),
    Known(
      reasons: ["InternalServerError", "ServiceUnavailable", "Shutdown", "processing error"],
      meaning: "the service has an internal problem, or is shutting down",
      remedy: "try again later; Apple recommends 15 minutes"),
  ]
}
