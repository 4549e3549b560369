import JSON
import NIOCore
import NIOHPACK
import NIOHTTP2

/// The response to a push or a channel management request.
struct PushResponse {
  var identifier: String
  /// `identifier` is an `apns-request-id`.
  var isRequestIdentifier = false
  var uniqueIdentifier: String?
  /// nil if the push was accepted.
  var reason: PushReason?
  /// For 410: when the device was found gone, in UNIX milliseconds.
  var time: Int64?
  /// The result of a successful channel management request.
  var result: ChannelResult?

  init(_ push: Push, _ reason: PushReason?, since time: Int64?) {
    identifier = push.identifier
    isRequestIdentifier = push.hasRequestIdentifier
    self.reason = reason
    self.time = time
    if reason == nil {
      uniqueIdentifier = push.uniqueIdentifier
      result = push.result
    }
  }

  var body: String? {
    guard let reason else { return result?.body }
    let time = time.map { ",\"timestamp\":\($0)" } ?? ""
    return "{\"reason\":\(JSONLiteral.string(reason.word))\(time)}"
  }

  var headers: HPACKHeaders {
    var headers = HPACKHeaders()
    headers.reserveCapacity(3)
    headers.add(name: ":status", value: status)
    headers.add(
      name: isRequestIdentifier ? "apns-request-id" : "apns-id", value: identifier,
      indexing: .nonIndexable)
    if let uniqueIdentifier {
      headers.add(name: "apns-unique-id", value: uniqueIdentifier, indexing: .nonIndexable)
    }
    if let channel = result?.channel {
      headers.add(name: "apns-channel-id", value: channel, indexing: .nonIndexable)
    }
    if result?.body != nil { headers.add(name: "content-type", value: "application/json") }
    return headers
  }

  private var status: String {
    if let reason { return "\(reason.status)" }
    return result.map { "\($0.status)" } ?? "200"
  }
}
