import JSON

/// A request on its stream, with the part of its answer that has arrived.
struct Attempt {
  /// Its end, other than a response.
  enum End { case reset(String), silence, lost }

  /// Milliseconds since the recording began.
  var at: Int
  var connection: UInt32
  /// The first 8 digits of the device token.
  var token: String
  var device: String
  var isAgain: Bool
  var bytes = 0
  var status = 0
  var reason: String?
  var end: End?
  /// When it was answered.
  var until = 0

  func line(_ delivery: RecordedDelivery) -> String {
    var members = JSONMembers()
    members.add("at", number: at)
    members.add("event", text: "push")
    members.add("connection", number: connection)
    members.add("device", text: device)
    members.add("bytes", number: bytes)
    members.add("type", text: delivery.type)
    if delivery.priority != 0 { members.add("priority", number: delivery.priority) }
    if isAgain { members.add("again", json: "true") }
    switch end {
    case .reset(let name): members.add("reset", text: name)
    case .silence: members.add("silence", json: "true")
    case .lost: break
    case nil:
      members.add("status", number: status)
      members.add("reason", text: reason)
    }
    members.add("ms", number: max(0, until - at))
    return members.object
  }
}

/// The fields that all pushes of a run share.
struct RecordedDelivery {
  var type: String?
  var priority: UInt8 = 0
}
