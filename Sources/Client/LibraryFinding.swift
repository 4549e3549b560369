import CAPNS

/// A finding of the library's payload check.
package struct LibraryFinding {
  package var isError: Bool
  package var line: Int
  package var column: Int
  package var offset: Int
  package var message: String

  package static let limits = [
    (bytes: Int(APNS_PAYLOAD_MAX_LISTING), of: "binary, before iOS 8"),
    (bytes: Int(APNS_PAYLOAD_MAX_FRAMED), of: "binary"),
    (bytes: Int(APNS_PAYLOAD_MAX_HTTP2), of: "HTTP/2"),
    (bytes: Int(APNS_PAYLOAD_MAX_VOIP), of: "HTTP/2, VoIP and broadcasts"),
  ]

  /// How many findings there are, and whether one is an error. Cheaper than all of them.
  package static func summary(of json: [UInt8], limit: Int) -> (count: Int, hasError: Bool) {
    var count = 0
    let status = apns_payload_check(json, json.count, limit, nil, 0, &count, nil)
    return (count, status != APNS_OK)
  }

  package static func all(in json: [UInt8], limit: Int) -> [LibraryFinding] {
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
        return LibraryFinding(
          isError: UInt32(bitPattern: finding.severity) == APNS_FINDING_ERROR.rawValue,
          line: Int(finding.line), column: Int(finding.column), offset: finding.offset,
          message: text(of: &finding.message))
      }
    }
  }
}
