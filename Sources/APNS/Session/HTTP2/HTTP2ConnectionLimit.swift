import CAPNS

/// How many connections a running session may have.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// Limits connections from now on. Extra connections start no more streams and close after their
  /// last response, as after GOAWAY.
  mutating func limitConnections(to most: Int) {
    connectionLimit = most
    var taking = 0
    for number in 0..<channelCount where channels[number].isTaking { taking &+= 1 }
    // The last ones go: the first have the most requests.
    var number = channelCount
    while taking > most, number > 0 {
      number &-= 1
      guard channels[number].isTaking else { continue }
      taking &-= 1
      if channels[number].phase == .open {
        channels[number].http.pointee.leaveUnsent()
      } else {
        close(channels + number)
      }
    }
    if options.neverWaits { hurry() }
  }

  /// Whether one more connection may be made beside `taking` that take streams.
  func hasRoomForConnection(beside taking: Int) -> Bool {
    guard taking < options.connections else { return false }
    guard connectionLimit < .max else { return true }
    var used = 0
    for number in 0..<channelCount where channels[number].phase != .closed { used &+= 1 }
    return used < connectionLimit
  }
}
