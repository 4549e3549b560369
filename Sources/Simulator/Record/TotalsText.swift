import BinaryServer
import JSON

extension Totals {
  /// For people.
  package var text: String {
    let statuses = rejected.sorted { $0.key < $1.key }
      .map { "  status \($0.key), \(RejectStatus.text($0.key)): \($0.value)\n" }.joined()
    let words = reasons.sorted { $0.key < $1.key }.map { "  \($0.key): \($0.value)\n" }.joined()
    return """
      connections: \(connections), refused in the handshake: \(refused)
      notifications received: \(received)
      accepted: \(accepted)\(duplicates.map { ", seen before: \($0)" } ?? "")
      rejected: \(rejections)
      \(statuses)\(words)discarded: \(discarded), ignored: \(ignored)
      shutdowns: \(shutdowns)
      broadcasts: \(broadcasts), deliveries to devices: \(deliveries)
      feedback connections: \(feedbackConnections), tuples sent: \(feedbackTuples)

      """
  }

  /// By the binary interface's statuses and by HTTP/2's reasons.
  private var rejections: Int {
    rejected.values.reduce(0, +) + reasons.values.reduce(0, +)
  }

  /// For programs; one line.
  package var json: String {
    let statuses = rejected.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }
      .joined(separator: ",")
    let words = reasons.sorted { $0.key < $1.key }
      .map { "\(JSONLiteral.string($0.key)):\($0.value)" }.joined(separator: ",")
    return """
      {"connections":\(connections),"connections_most":\(connectionsMax),"refused":\(refused),\
      "received":\(received),\
      "accepted":\(accepted),"rejected":\(rejections),\
      "statuses":{\(statuses)},"reasons":{\(words)},"discarded":\(discarded),\
      "ignored":\(ignored),"duplicates":\(duplicates.map(String.init) ?? "null"),"shutdowns":\(shutdowns),\
      "broadcasts":\(broadcasts),"deliveries":\(deliveries),\
      "feedback_connections":\(feedbackConnections),"feedback_tuples":\(feedbackTuples)}

      """
  }
}
