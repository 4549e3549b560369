import APNS

/// The reason for a rejected push: an HTTP status and Apple's word.
package struct PushReason: Sendable, Hashable {
  package var status: Int
  package var word: String

  init(_ status: Int, _ word: String) {
    self.status = status
    self.word = word
  }

  static let badChannelId = PushReason(400, "BadChannelId")
  static let badCollapseId = PushReason(400, "BadCollapseId")
  static let badDeviceToken = PushReason(400, "BadDeviceToken")
  static let badExpirationDate = PushReason(400, "BadExpirationDate")
  static let badMessageId = PushReason(400, "BadMessageId")
  static let badPriority = PushReason(400, "BadPriority")
  static let badTopic = PushReason(400, "BadTopic")
  static let cannotCreateChannelConfig = PushReason(400, "CannotCreateChannelConfig")
  static let channelNotRegistered = PushReason(400, "ChannelNotRegistered")
  static let deviceTokenNotForTopic = PushReason(400, "DeviceTokenNotForTopic")
  static let duplicateHeaders = PushReason(400, "DuplicateHeaders")
  static let featureNotEnabled = PushReason(400, "FeatureNotEnabled")
  static let invalidPushType = PushReason(400, "InvalidPushType")
  static let missingChannelId = PushReason(400, "MissingChannelId")
  static let missingDeviceToken = PushReason(400, "MissingDeviceToken")
  static let missingPushType = PushReason(400, "MissingPushType")
  static let missingTopic = PushReason(400, "MissingTopic")
  static let payloadEmpty = PushReason(400, "PayloadEmpty")
  static let topicDisallowed = PushReason(400, "TopicDisallowed")
  static let topicMismatch = PushReason(400, "TopicMismatch")
  static let badPath = PushReason(404, "BadPath")
  static let methodNotAllowed = PushReason(405, "MethodNotAllowed")
  static let payloadTooLarge = PushReason(413, "PayloadTooLarge")
  static let badEnvironmentKeyIdInToken = PushReason(403, "BadEnvironmentKeyIdInToken")
  static let expiredProviderToken = PushReason(403, "ExpiredProviderToken")
  static let invalidProviderToken = PushReason(403, "InvalidProviderToken")
  static let missingProviderToken = PushReason(403, "MissingProviderToken")
  static let unrelatedKeyIdInToken = PushReason(403, "UnrelatedKeyIdInToken")
  static let unregistered = PushReason(410, "Unregistered")
  static let tooManyProviderTokenUpdates = PushReason(429, "TooManyProviderTokenUpdates")

  /// All reasons that Apple lists, from the library's table.
  package static let all: [PushReason] = (UInt32(1)...254).compactMap {
    let reason = Reason($0)
    return reason.text.map { PushReason(reason.status, String(decoding: $0, as: UTF8.self)) }
  }

  /// Parses one of Apple's words, or `status word` for any other reason.
  init?(text: String) {
    if let known = Self.all.first(where: { $0.word == text }) {
      self = known
      return
    }
    let parts = text.split(separator: " ")
    guard parts.count == 2, let status = Int(parts[0]), (200...599).contains(status) else {
      return nil
    }
    self.init(status, String(parts[1]))
  }

  /// The text that `init(text:)` parses.
  var text: String { Self.all.contains(self) ? word : "\(status) \(word)" }

  /// Whether the response has the time since when the device is gone.
  var tellsTime: Bool { status == 410 }
}

struct PushFault: Error {
  var reason: PushReason
}
