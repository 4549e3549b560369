/// Redis replied with an error. The connection stays usable.
struct RedisRefusal: Error, CustomStringConvertible {
  var name: String
  var words: String
  var description: String { "\(name): \(words.prefix(Self.mostShown))" }

  private static let mostShown = 500

  var fault: RelayFault { RelayFault(description: description) }
}

/// No reply arrived.
struct RedisTimeout: Error, CustomStringConvertible {
  var fault: RelayFault
  /// The time ran out while the connection was still open.
  var isLate: Bool
  var description: String { fault.description }

  init(_ fault: RelayFault, isLate: Bool = false) {
    self.fault = fault
    self.isLate = isLate
  }
}

/// No connection was made, so no command was sent.
struct RedisUnreachable: Error, CustomStringConvertible {
  var fault: RelayFault
  var description: String { fault.description }
}
