import Client
import JSON

extension SendOutcome {
  var json: String {
    JSONMembers.object([
      "n": .number(sent.number),
      "token": .text(sent.token.isEmpty ? nil : DeviceToken.hex(of: sent.token)),
      "channel": .text(sent.channel), "outcome": .text(kind.rawValue),
      "reason": .text(nonempty: reason), "status": .number(nonzero: status),
      "http_status": .number(nonzero: httpStatus), "retry_after": .number(nonzero: retryAfter),
      "timestamp": .number(nonzero: timestamp), "time": .number(nonzero: rejectedAt),
      sent.channel == nil ? "apns_id" : "request_id": .text(nonempty: apnsIdentifier),
      "unique_id": .text(nonempty: uniqueIdentifier), "again": .flag(sent.isAgain ? true : nil),
    ])
  }

  var text: String {
    var name = sent.channel ?? DeviceToken.hex(of: sent.token)
    if name.isEmpty { name = "\(sent.number)" }
    let outcome = reason.isEmpty ? kind.rawValue : "\(kind.rawValue): \(reason)"
    var names: [String] = []
    if sent.channel != nil, !apnsIdentifier.isEmpty { names.append("request \(apnsIdentifier)") }
    if !uniqueIdentifier.isEmpty { names.append("unique id \(uniqueIdentifier)") }
    return Printable.line(
      "\(name)  \(outcome)" + (names.isEmpty ? "" : "  (\(names.joined(separator: ", ")))"))
  }
}
