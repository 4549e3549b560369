import CAPNS
import Client
import JSON
import Simulator

/// The findings of the library's payload check, as JSON.
enum PayloadFindings {
  private static let limit = 64

  /// The number of findings, and whether one is an error.
  static func summary(of push: RecentPush) -> (count: Int, hasError: Bool) {
    let payload = Array(push.payloadBytes)
    return payload.isEmpty ? (0, false) : LibraryFinding.summary(of: payload, limit: limit(push))
  }

  static func all(of push: RecentPush) -> [String] {
    let payload = Array(push.payloadBytes)
    if payload.isEmpty { return [] }
    return LibraryFinding.all(in: payload, limit: limit(push)).prefix(limit).map { finding in
      """
      {"severity":"\(finding.isError ? "error" : "warning")","offset":\(finding.offset),\
      "line":\(finding.line),"column":\(finding.column),\
      "message":\(JSONLiteral.string(finding.message))}
      """
    }
  }

  /// The largest payload of the push's protocol.
  private static func limit(_ push: RecentPush) -> Int {
    guard case .http2(_, _, let headers) = push.form else { return 0 }
    if push.broadcast != nil { return PushRules.broadcastPayloadMax }
    let isVoIP = headers.contains { $0.name == "apns-push-type" && $0.value == "voip" }
    return isVoIP ? Int(APNS_PAYLOAD_MAX_VOIP) : Int(APNS_PAYLOAD_MAX_HTTP2)
  }
}
