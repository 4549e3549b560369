import CAPNS

/// Opens and ends the connections of an HTTP/2 session.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// Opens the connection; false when that takes waiting or is not needed.
  @inline(__always)
  mutating func ensureOpen(
    _ connection: UnsafeMutablePointer<HTTP2Connection>, _ goal: SessionGoal
  ) throws(Failure) -> Bool {
    connection.pointee.phase == .open ? true : try openConnection(connection, goal)
  }

  @inline(never)
  private mutating func openConnection(
    _ connection: UnsafeMutablePointer<HTTP2Connection>, _ goal: SessionGoal
  ) throws(Failure) -> Bool {
    if connection.pointee.phase == .closed {
      let number = connection.pointee.number
      let isNeeded = number == apart ? isMissing(number, goal) : needsConnection(goal)
      if !isNeeded { return false }
    }
    guard
      try reconnects.open(
        &connection.pointee.link, on: &network, within: options.connectTimeout)
    else { return false }
    guard connection.pointee.codec.begin(showsToken: tokens != nil) else {
      close(connection)
      reconnects.achievedNothing(on: &network)
      throw .outOfMemory
    }
    connection.pointee.codec.pointee.serial = connection.pointee.link.serial
    connects &+= 1
    begun(connection)
    if countTaking().all > options.connections { hadExtra = true }
    return true
  }

  private mutating func begun(_ connection: UnsafeMutablePointer<HTTP2Connection>) {
    let now = network.now
    connection.pointee.link.begun(on: &network)
    connection.pointee = HTTP2Connection(connection.pointee.link, connection.pointee.codec, at: now)
  }

  mutating func close(_ connection: UnsafeMutablePointer<HTTP2Connection>) {
    connection.pointee.link.close(on: &network)
    connection.pointee.codec.connectionEnded()
  }

  /// The connection is gone. The responses that arrived resolve its notifications in flight.
  @inline(never)
  mutating func connectionEnded(
    _ connection: UnsafeMutablePointer<HTTP2Connection>, _ failure: Failure?
  ) throws(Failure) {
    let owed = connection.pointee.codec.pointee.inFlight
    let refuses = failure?.refusesProvider ?? false
    log?.at(network.now).ended(connection.pointee.link, failure, inFlight: owed)
    reconnects.ended(failure, otherwise: "the peer ended the connection without an answer")
    let (again, unknown) = (sentAgain, outbox.pointee.unknown)
    close(connection)
    if refuses {
      // It looked at nothing.
      outbox.pointee.forEachInFlight(on: UInt16(truncatingIfNeeded: connection.pointee.number)) {
        $0.refuse($1)
      }
    }
    outbox.pointee.connectionEnded(UInt16(truncatingIfNeeded: connection.pointee.number))
    reconnects.lost(connection.pointee.link, inDoubt: owed > 0, on: &network)
    takeResponses()
    log?.resent(
      sentAgain &- again, unknown: outbox.pointee.unknown &- unknown,
      on: connection.pointee.link.serial)
    if let failure {
      if refuses { throw failure }
      reconnects.note(failure)
    }
  }
}
