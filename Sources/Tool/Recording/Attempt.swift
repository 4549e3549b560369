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
  var until = 0

  func line(_ delivery: RecordedDelivery) -> String {
    var members: JSONMembers = [
      "at": .number(at), "event": .text("push"), "connection": .number(connection),
      "device": .text(device), "bytes": .number(bytes), "type": .text(delivery.type),
      "priority": .number(nonzero: delivery.priority), "again": .flag(isAgain ? true : nil),
    ]
    switch end {
    case .reset(let name): members.add("reset", .text(name))
    case .silence: members.add("silence", .flag(true))
    case .lost: break
    case nil:
      members.add("status", .number(status))
      members.add("reason", .text(reason))
    }
    members.add("ms", .number(max(0, until - at)))
    return members.object
  }
}

/// The fields that all pushes of a run share.
struct RecordedDelivery {
  var type: String?
  var priority: UInt8 = 0
}
