import APNS
import JSON

/// Validates HTTP/2 requests without looking at the connection.
package struct PushRules {
  var rules: GatewayRules

  static let payloadMax = 4096
  static let voipPayloadMax = 5120
  package static let broadcastPayloadMax = 5120
  static let priorities: Set<String> = ["10", "5", "1"]
  private static let collapseMax = 64
  private static let topicMax = 255

  private static let types: Set<String> = [
    "alert", "background", "location", "voip", "complication", "fileprovider", "mdm",
    "liveactivity", "pushtotalk", "widgets", "controls",
  ]
  private static let topicBytes = Set(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_".utf8)

  /// The reason if the request is malformed; nil otherwise. Fills in the token.
  func fault(of request: ReceivedPush, _ token: inout [UInt8]) -> PushReason? {
    guard let text = request.tokenText else { return .badPath }
    if request.method != "POST" { return .methodNotAllowed }
    if request.hasDuplicates { return .duplicateHeaders }
    if text.isEmpty { return .missingDeviceToken }
    guard let bytes = Self.bytes(ofHex: text) else { return .badDeviceToken }
    token = bytes
    if let identifier = request.identifier, !PushIdentifier.isOne(identifier) {
      return .badMessageId
    }
    if let type = request.type, !Self.types.contains(type) { return .invalidPushType }
    if let expiration = request.expiration, !Self.isDate(expiration) { return .badExpirationDate }
    if let priority = request.priority {
      guard Self.priorities.contains(priority) else { return .badPriority }
      if request.type == "background", priority != "5" { return .badPriority }
    }
    if let collapse = request.collapse, collapse.utf8.count > Self.collapseMax {
      return .badCollapseId
    }
    if let topic = request.topic, !Self.isTopic(topic) { return .badTopic }
    if request.payloadCount == 0 { return .payloadEmpty }
    if request.payloadCount
      > (request.type == "voip" ? Self.voipPayloadMax : Self.payloadMax)
    {
      return .payloadTooLarge
    }
    return nil
  }

  /// The reason to reject pushes to the device; nil if they are accepted.
  func fault(ofToken token: [UInt8]) -> PushReason? {
    if !rules.frames.tokenSizes.contains(token.count) { return .badDeviceToken }
    return token.withUnsafeBytes(rules.frames.badTokens.contains) ? .badDeviceToken : nil
  }

  /// The reason to reject the payload, if payloads are checked. Apple lists no separate reason for
  /// that.
  func fault(
    ofPayload payload: UnsafeRawBufferPointer, _ type: String?, topic: String?
  ) -> PushReason? {
    guard rules.checksPayloads else { return nil }
    let needsAps = TopicKind.needsAps(type, topic ?? "")
    return PayloadValidator.fault(of: payload, needsAps: needsAps) == nil ? nil : .payloadEmpty
  }

  /// The reason if no device token belongs to the topic; nil if tokens do, or if no topics are set.
  func fault(ofTopic topic: String) -> PushReason? {
    guard case .only(let names)? = rules.topic else { return nil }
    return names.contains { TopicKind.belongs(topic, to: $0) } ? nil : .deviceTokenNotForTopic
  }

  static func isTopic(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= topicMax && text.utf8.allSatisfy(topicBytes.contains)
  }

  /// The reason why the provider may not use an app's channels; nil if it may, or if no topics are
  /// set.
  func fault(ofApp app: String) -> PushReason? {
    guard case .only(let names)? = rules.topic else { return nil }
    return TopicKind.fault(of: app, among: names)
  }

  static func isDate(_ text: String) -> Bool {
    text.utf8.allSatisfy(\.isDigit) && Int64(text) != nil
  }

  /// Without the spaces that a token in a file may have.
  private static func bytes(ofHex text: Substring) -> [UInt8]? {
    guard text.utf8.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }) else { return nil }
    return try? TokenField.bytes(of: text.utf8)
  }
}
