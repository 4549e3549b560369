import APNSLibrary

/// What to do about the service's word on a push.
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

  // The first texts are those of HTTP/2, then those of the binary interface.
  private static let all = [
    Known(
      reasons: ["ExpiredProviderToken"],
      meaning: "the provider token's time is more than an hour from the service's",
      remedy: "set this machine's clock: timedatectl set-ntp true; --time-server compares it"),
    Known(
      reasons: ["InvalidProviderToken"],
      meaning: "key, key identifier and team do not belong together",
      remedy:
        "check --key-id and --team-id on the account page, and that the key was not revoked there"),
    Known(
      reasons: ["MissingProviderToken"],
      meaning: "the service was shown neither certificate nor token",
      remedy: "give --certificate, or --p8 with --team-id"),
    Known(
      reasons: ["UnrelatedKeyIdInToken"],
      meaning: "this connection began with another key's tokens",
      remedy: "use one key for each connection"),
    Known(
      reasons: ["BadEnvironmentKeyIdInToken"],
      meaning: "the key is for the other of Apple's services",
      remedy: "add --sandbox or leave it away, or make a key for both"),
    Known(
      reasons: ["TooManyProviderTokenUpdates"], meaning: "new tokens come too often",
      remedy: "share one session or credentials between those that push, and wait 20 minutes"),
    Known(
      reasons: ["BadCertificateEnvironment"],
      meaning: "the certificate is for the other of Apple's services",
      remedy: "add --sandbox or leave it away, or get a certificate for this one"),
    Known(
      reasons: ["BadCertificate", "Forbidden"], meaning: "the service does not take who pushes",
      remedy: "see that the certificate is a push certificate and was not revoked"),
    Known(
      reasons: ["TopicDisallowed"], meaning: "this provider may not push to this app",
      remedy: "--topic as one of the certificate's, or an app of --team-id's"),
    Known(
      reasons: ["MissingTopic", "missing topic"], meaning: "no app is named",
      remedy: "give --topic, the app's bundle identifier"),
    Known(
      reasons: ["BadTopic", "invalid topic size"], meaning: "there is no such app",
      remedy: "--topic is the app's bundle identifier; voip and others have an ending"),
    Known(
      reasons: ["DeviceTokenNotForTopic"], meaning: "the token is another app's",
      remedy: "give the --topic of the app whose token it is"),
    Known(
      reasons: ["BadDeviceToken", "invalid token", "invalid token size"],
      meaning: "the service does not know the token",
      remedy:
        "add --sandbox for an app that Xcode put on the device, leave it away for others; apns token looks for slips"
    ),
    Known(
      reasons: ["Unregistered", "ExpiredToken"], meaning: "the app is no more on the device",
      remedy: "take a token that the app sent lately"),
    Known(
      reasons: ["TooManyRequests"], meaning: "too much came for this device",
      remedy: "wait, and push less often to it"),
    Known(
      reasons: ["MissingDeviceToken"], meaning: "no device is named",
      remedy: "give --token; behind a proxy that changes paths, go without it"),
    Known(
      reasons: ["PayloadEmpty", "missing payload"], meaning: "there was no payload",
      remedy: "see that nothing on the way takes the body away"),
    Known(
      reasons: ["PayloadTooLarge", "invalid payload size"],
      meaning: "the service takes less than was sent",
      remedy: "apns payload says how long a payload is; --limit as the service's"),
    Known(
      reasons: [
        "BadCollapseId", "BadExpirationDate", "BadMessageId", "BadPriority", "DuplicateHeaders",
        "InvalidPushType", "BadPath", "MethodNotAllowed",
      ], meaning: "the service does not take what the library asks by default",
      remedy: "see that --host is APNs or speaks like it, and that no proxy changes headers"),
    Known(
      reasons: ["IdleTimeout"], meaning: "the service closed a connection that nobody used",
      remedy: "nothing: the library sends again by itself; try again"),
    Known(
      reasons: ["InternalServerError", "ServiceUnavailable", "Shutdown", "processing error"],
      meaning: "the service is in trouble, or goes away",
      remedy: "try again later; Apple says 15 minutes"),
  ]
}
