import CAPNS

/// How many connections a running session may have.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// Limits connections from now on. Extra connections start no more streams and close after their
  /// last response, as after GOAWAY.
  mutating func limitConnections(to maximum: Int) {
    connectionLimit = maximum
    var taking = 0
    for number in 0..<connectionCount where connections[number].isTaking { taking &+= 1 }
    // The last ones go: the first have the most requests.
    var number = connectionCount
    while taking > maximum, number > 0 {
      number &-= 1
      guard connections[number].isTaking else { continue }
      taking &-= 1
      if connections[number].phase == .open {
        connections[number].codec.pointee.drainUnsent()
      } else {
        close(connections + number)
      }
    }
    if options.neverWaits { wake() }
  }

  /// Whether one more connection may be made beside `taking` that take streams.
  func hasRoomForConnection(beside taking: Int) -> Bool {
    guard taking < options.connections else { return false }
    guard connectionLimit < .max else { return true }
    var used = 0
    for number in 0..<connectionCount where connections[number].phase != .closed { used &+= 1 }
    return used < connectionLimit
  }
}
