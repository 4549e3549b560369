import CAPNS

/// Opens and ends the connections of an HTTP/2 session.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// Opens the channel's connection; false when that takes waiting or is not needed.
  @inline(__always)
  mutating func ensureOpen(
    _ channel: UnsafeMutablePointer<HTTP2Channel>, _ goal: SessionGoal
  ) throws(Failure) -> Bool {
    channel.pointee.phase == .open ? true : try openConnection(channel, goal)
  }

  @inline(never)
  private mutating func openConnection(
    _ channel: UnsafeMutablePointer<HTTP2Channel>, _ goal: SessionGoal
  ) throws(Failure) -> Bool {
    if channel.pointee.phase == .closed {
      let number = channel.pointee.number
      let isNeeded = number == apart ? isMissing(number, goal) : needsConnection(goal)
      if !isNeeded { return false }
    }
    guard
      try reconnects.open(
        &channel.pointee.connection, on: &network, within: options.connectTimeout)
    else { return false }
    guard channel.pointee.http.begin(showsToken: tokens != nil) else {
      close(channel)
      reconnects.achievedNothing(on: &network)
      throw .outOfMemory
    }
    channel.pointee.http.pointee.serial = channel.pointee.connection.serial
    connects &+= 1
    begun(channel)
    if countTaking().all > options.connections { hadExtra = true }
    return true
  }

  private mutating func begun(_ channel: UnsafeMutablePointer<HTTP2Channel>) {
    let now = network.now
    channel.pointee.connection.begun(on: &network)
    channel.pointee = HTTP2Channel(channel.pointee.connection, channel.pointee.http, at: now)
  }

  mutating func close(_ channel: UnsafeMutablePointer<HTTP2Channel>) {
    channel.pointee.connection.close(on: &network)
    channel.pointee.http.pointee.end()
  }

  /// The connection is gone. The responses that arrived resolve its notifications in flight.
  @inline(never)
  mutating func connectionEnded(
    _ channel: UnsafeMutablePointer<HTTP2Channel>, _ failure: Failure?
  ) throws(Failure) {
    let owed = channel.pointee.http.pointee.inFlight
    let refuses = failure?.refusesProvider ?? false
    log?.at(network.now).ended(channel.pointee.connection, failure, inFlight: owed)
    reconnects.ended(failure, otherwise: "the peer ended the connection without an answer")
    let (again, unknown) = (sentAgain, outbox.pointee.unknown)
    close(channel)
    if refuses {
      // It looked at nothing.
      outbox.pointee.forEachInFlight(on: UInt16(truncatingIfNeeded: channel.pointee.number)) {
        $0.refuse($1)
      }
    }
    outbox.pointee.connectionEnded(UInt16(truncatingIfNeeded: channel.pointee.number))
    reconnects.lost(channel.pointee.connection, leavingDoubt: owed > 0, on: &network)
    judgeAnswered()
    log?.resent(
      sentAgain &- again, unknown: outbox.pointee.unknown &- unknown,
      on: channel.pointee.connection.serial)
    if let failure {
      if refuses { throw failure }
      reconnects.note(failure)
    }
  }
}
