import Client
import JSON

/// An outcome as JSON and as text.
extension SendOutcome {
  var json: String {
    var members = JSONMembers()
    members.add("n", number: sent.number)
    members.add("token", text: sent.token.isEmpty ? nil : DeviceToken.hex(of: sent.token))
    members.add("channel", text: sent.channel)
    members.add("outcome", text: kind.rawValue)
    if !reason.isEmpty { members.add("reason", text: reason) }
    if status != 0 { members.add("status", number: status) }
    if httpStatus != 0 { members.add("http_status", number: httpStatus) }
    if retryAfter != 0 { members.add("retry_after", number: retryAfter) }
    if timestamp != 0 { members.add("timestamp", number: timestamp) }
    if rejectedAt != 0 { members.add("time", number: rejectedAt) }
    if !apnsIdentifier.isEmpty {
      members.add(sent.channel == nil ? "apns_id" : "request_id", text: apnsIdentifier)
    }
    if !uniqueIdentifier.isEmpty { members.add("unique_id", text: uniqueIdentifier) }
    if sent.isAgain { members.add("again", json: "true") }
    return members.object
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
