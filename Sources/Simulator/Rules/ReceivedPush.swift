import NIOCore
import NIOHPACK

/// A provider's request on one stream: a push to a device, a broadcast, or a channel management
/// request.
struct ReceivedPush {
  var method = ""
  var path = ""
  var authorization: String?
  var topic: String?
  var type: String?
  var identifier: String?
  var expiration: String?
  var priority: String?
  var collapse: String?
  /// `apns-request-id`, which broadcasts and channel management requests have instead of `apns-id`.
  var requestIdentifier: String?
  /// `apns-channel-id`.
  var channel: String?
  /// All headers, for the page.
  var headers: HPACKHeaders?
  /// A header above was repeated.
  var hasDuplicates = false

  var payload = ByteBuffer()
  /// The length of the whole payload, even if not all of it is kept.
  var payloadCount = 0

  /// The payload exceeds the largest accepted one.
  private static let kept = 8192

  init(_ headers: HPACKHeaders) {
    for (name, value, _) in headers {
      switch name {
      case ":method": method = value
      case ":path": path = value
      case "authorization": hasDuplicates = Self.take(value, &authorization) || hasDuplicates
      case "apns-topic": hasDuplicates = Self.take(value, &topic) || hasDuplicates
      case "apns-push-type": hasDuplicates = Self.take(value, &type) || hasDuplicates
      case "apns-id": hasDuplicates = Self.take(value, &identifier) || hasDuplicates
      case "apns-expiration": hasDuplicates = Self.take(value, &expiration) || hasDuplicates
      case "apns-priority": hasDuplicates = Self.take(value, &priority) || hasDuplicates
      case "apns-collapse-id": hasDuplicates = Self.take(value, &collapse) || hasDuplicates
      case "apns-request-id":
        hasDuplicates = Self.take(value, &requestIdentifier) || hasDuplicates
      case "apns-channel-id": hasDuplicates = Self.take(value, &channel) || hasDuplicates
      default: break
      }
    }
  }

  /// True if the field was already set.
  private static func take(_ value: String, _ field: inout String?) -> Bool {
    defer { field = value }
    return field != nil
  }

  mutating func append(_ data: inout ByteBuffer) {
    payloadCount += data.readableBytes
    if payload.readableBytes == 0, data.readableBytes <= Self.kept {
      // Copied, because TLS reuses its buffer.
      payload.clear()
      payload.writeBuffer(&data)
    } else if payload.readableBytes + data.readableBytes <= Self.kept {
      payload.writeBuffer(&data)
    }
  }

  private static let device = "/3/device/"
  private static let broadcasts = "/4/broadcasts/apps/"

  /// The app in the path of a broadcast; nil if the path is a different one.
  var broadcastApp: Substring? {
    path.hasPrefix(Self.broadcasts) ? path.dropFirst(Self.broadcasts.count) : nil
  }

  /// The device token in the path, in hex; nil if the path is a different one.
  var tokenText: Substring? {
    if path.hasPrefix(Self.device) { return path.dropFirst(Self.device.count) }
    return path == "/3/device" ? "" : nil
  }
}
