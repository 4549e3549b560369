import NIOCore
import NIOHPACK
import NIOHTTP2

/// The answer to a push.
struct PushAnswer {
  var identifier: String
  /// nil if the push was accepted.
  var reason: PushReason?
  /// UNIX milliseconds since when the device is gone, in answers of 410.
  var time: Int64?

  var body: String? {
    guard let reason else { return nil }
    let time = time.map { ",\"timestamp\":\($0)" } ?? ""
    return "{\"reason\":\(JSONLiteral.string(reason.word))\(time)}"
  }

  var headers: HPACKHeaders {
    var headers = HPACKHeaders()
    headers.reserveCapacity(2)
    headers.add(name: ":status", value: reason.map { "\($0.status)" } ?? "200")
    headers.add(name: "apns-id", value: identifier, indexing: .nonIndexable)
    return headers
  }
}
