/// Redis answers that it does not do it. The connection goes on.
struct RedisRefusal: Error, CustomStringConvertible {
  var name: String
  var words: String
  var description: String { "\(name): \(words.prefix(Self.mostShown))" }

  private static let mostShown = 500

  var fault: QueueFault { QueueFault(description: description) }
}

/// There is no answer.
struct RedisSilence: Error, CustomStringConvertible {
  var fault: QueueFault
  /// The time was over, and the other side still there.
  var isLate: Bool
  var description: String { fault.description }

  init(_ fault: QueueFault, isLate: Bool = false) {
    self.fault = fault
    self.isLate = isLate
  }
}

/// There is no connection, so nothing was done.
struct RedisAbsence: Error, CustomStringConvertible {
  var fault: QueueFault
  var description: String { fault.description }
}
