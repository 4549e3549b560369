/// Credential rotation in a running session. A connection with old credentials accepts no new
/// notifications. Its notifications are proven, as at a checkpoint, and only then the next
/// connection writes.
extension BinarySession where Net: ~Copyable {
  /// The network's next connections show other credentials than those it has.
  mutating func replaceConnections() {
    for index in 0..<options.connections {
      let connection = connections + index
      dropStandby(connection)
      switch connection.pointee.phase {
      case .closed: break
      case .opening: close(connection)
      case .open:
        connection.pointee.traffic.isReplaced = true
        if !connection.pointee.window.hasInFlight, hasWrittenLast(connection) {
          close(connection)
        } else {
          connection.pointee.wantsProof = true
          // The next connection is made meanwhile.
          connection.pointee.expectsEnd = true
        }
      }
    }
    if options.neverWaits { wake() }
  }

  /// Bytes that a connection may still write although it accepts no more notifications.
  @inline(never)
  func leftToWrite(_ connection: UnsafeMutablePointer<BinaryConnection>) -> Int {
    guard connection.pointee.traffic.isReplaced, !connection.pointee.isUnwelcome,
      !connection.pointee.traffic.sentinel.isBegun
    else {
      return 0
    }
    // TLS was given a record before, and has to be given the same bytes again.
    if connection.pointee.link.stalledSince != nil {
      return connection.pointee.traffic.stalledRecord
    }
    return connection.pointee.window.restOfFrame
  }

  /// The connection is being replaced and has written a whole frame, its last bytes.
  @inline(never)
  func hasWrittenLast(_ connection: UnsafeMutablePointer<BinaryConnection>) -> Bool {
    connection.pointee.traffic.isReplaced && !connection.pointee.traffic.sentinel.isBegun
      && connection.pointee.link.stalledSince == nil && connection.pointee.window.restOfFrame == 0
  }
}
