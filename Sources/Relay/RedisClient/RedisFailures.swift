/// The reason why a command has no result.
protocol RedisFailure: Error, CustomStringConvertible {
  var fault: RelayFault { get }
}

extension RedisFailure {
  var description: String { fault.description }
}

/// Redis replied with an error. The connection stays usable.
struct RedisRefusal: RedisFailure {
  var name: String
  var words: String
  var fault: RelayFault { RelayFault("\(name): \(words.prefix(Self.mostShown))") }

  private static let mostShown = 500
}

/// No reply arrived.
struct RedisTimeout: RedisFailure {
  var fault: RelayFault
  /// The time ran out while the connection was still open.
  var isLate = false
}

/// No connection was made, so no command was sent.
struct RedisUnreachable: RedisFailure {
  var fault: RelayFault
}
