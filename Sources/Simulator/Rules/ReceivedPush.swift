import NIOCore
import NIOHPACK

/// What a provider asks for in one stream.
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
  /// All of them, for those who look on.
  var headers: HPACKHeaders?
  /// One of these came twice.
  var hasDuplicates = false

  var payload = ByteBuffer()
  /// All of it, though what is beyond the largest is not kept.
  var payloadCount = 0

  /// More than any payload that is taken.
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
      default: break
      }
    }
  }

  /// True where there was one.
  private static func take(_ value: String, _ field: inout String?) -> Bool {
    defer { field = value }
    return field != nil
  }

  mutating func append(_ data: inout ByteBuffer) {
    payloadCount += data.readableBytes
    if payload.readableBytes == 0, data.readableBytes <= Self.kept {
      // Copied, not kept: TLS wants its buffer back.
      payload.clear()
      payload.writeBuffer(&data)
    } else if payload.readableBytes + data.readableBytes <= Self.kept {
      payload.writeBuffer(&data)
    }
  }

  private static let device = "/3/device/"

  /// The device's token as the path has it in hex; nil where the path is another.
  var tokenText: Substring? {
    if path.hasPrefix(Self.device) { return path.dropFirst(Self.device.count) }
    return path == "/3/device" ? "" : nil
  }
}
