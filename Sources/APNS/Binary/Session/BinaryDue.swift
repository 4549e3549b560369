/// Computes from the session's state when it must act, before each wait and after each call of a
/// session that never waits. Every part with a deadline adds it here, so no call can forget one.
extension BinarySession where Net: ~Copyable {
  /// When there is something to do that no connection will report; `max`: never. `goal` is the
  /// session's current goal.
  @inline(never)
  func nextDue(_ goal: SessionGoal) -> Nanoseconds {
    if isCutShort { return 0 }
    var due = Nanoseconds.max
    for index in 0..<options.connections {
      let connection = connections + index
      due = min(due, connection.pointee.window.nextDeadline)
      switch connection.pointee.phase {
      case .closed:
        if needsConnection(connection, goal) {
          // A standby one takes its place without a pause.
          due = min(due, connection.pointee.standby.phase == .closed ? reconnects.earliest : 0)
        }
      case .opening: due = min(due, connection.pointee.link.opening.until)
      case .open:
        due = min(due, connection.pointee.link.stallDue(timeout: options.writeTimeout))
        due = min(
          due, paceDue(connection), proofDue(connection, goal), standbyDue(connection, goal))
      }
    }
    return due
  }

  /// Makes the next wait end when a connection is ready as needed.
  @inline(never)
  mutating func watch() {
    for index in 0..<options.connections {
      let connection = connections + index
      connection.pointee.link.watch(on: &network)
      // A connection that opens as standby continues only if one is in use.
      if connection.pointee.phase == .open, connection.pointee.standby.phase == .opening {
        connection.pointee.standby.watch(on: &network)
      }
    }
  }
}
