import CAPNS
import Simulator

/// What the library's check says of a payload.
enum PayloadFindings {
  private static let most = 64

  /// How many there are and whether one is an error, for a list.
  static func summary(of push: RecentPush) -> String {
    let payload = Array(push.payloadBytes)
    if payload.isEmpty { return "\"findings\":0,\"error\":false" }
    var count = 0
    let status = apns_payload_check(payload, payload.count, limit(push), nil, 0, &count, nil)
    return "\"findings\":\(count),\"error\":\(status != APNS_OK)"
  }

  /// Each as JSON.
  static func all(of push: RecentPush) -> [String] {
    let payload = Array(push.payloadBytes)
    if payload.isEmpty { return [] }
    var finding = apns_payload_finding_t()
    finding.size = MemoryLayout<apns_payload_finding_t>.size
    var findings = [apns_payload_finding_t](repeating: finding, count: most)
    var count = 0
    _ = apns_payload_check(
      payload, payload.count, limit(push), &findings, most, &count, nil)
    return findings.prefix(count).map { finding in
      let message = withUnsafeBytes(of: finding.message) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      let severity =
        finding.severity == Int32(APNS_FINDING_ERROR.rawValue) ? "error" : "warning"
      return """
        {"severity":"\(severity)","offset":\(finding.offset),"line":\(finding.line),\
        "column":\(finding.column),"message":\(JSONLiteral.string(message))}
        """
    }
  }

  /// The largest payload of that interface.
  private static func limit(_ push: RecentPush) -> Int {
    guard case .http2(_, _, let headers) = push.form else { return 0 }
    let isVoIP = headers.contains { $0.name == "apns-push-type" && $0.value == "voip" }
    return isVoIP ? Int(APNS_PAYLOAD_MAX_VOIP) : Int(APNS_PAYLOAD_MAX_HTTP2)
  }
}
