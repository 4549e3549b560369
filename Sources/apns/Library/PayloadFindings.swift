import CAPNS

/// What the library finds in a payload.
struct PayloadFinding {
  var isError: Bool
  var line: Int
  var column: Int
  var offset: Int
  var message: String

  static let limits = [
    (bytes: Int(APNS_PAYLOAD_MAX_LISTING), of: "binary, before iOS 8"),
    (bytes: Int(APNS_PAYLOAD_MAX_FRAMED), of: "binary"),
    (bytes: Int(APNS_PAYLOAD_MAX_HTTP2), of: "HTTP/2"),
    (bytes: Int(APNS_PAYLOAD_MAX_VOIP), of: "HTTP/2, VoIP"),
  ]

  static func all(in json: [UInt8], limit: Int) -> [PayloadFinding] {
    var capacity = 16
    while true {
      var findings = [apns_payload_finding_t](repeating: apns_payload_finding_t(), count: capacity)
      findings[0].size = MemoryLayout<apns_payload_finding_t>.size
      var count = 0
      _ = apns_payload_check(json, json.count, limit, &findings, capacity, &count, nil)
      if count > capacity {
        capacity = count
        continue
      }
      return findings.prefix(count).map { finding in
        var finding = finding
        return PayloadFinding(
          isError: UInt32(bitPattern: finding.severity) == APNS_FINDING_ERROR.rawValue,
          line: Int(finding.line), column: Int(finding.column), offset: finding.offset,
          message: text(of: &finding.message))
      }
    }
  }
}
