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
      let channel = channels + index
      due = min(due, channel.pointee.window.nextDeadline)
      switch channel.pointee.phase {
      case .closed:
        if needsConnection(channel, goal) {
          // A standby one takes its place without a pause.
          due = min(due, channel.pointee.spare.phase == .closed ? reconnects.earliest : 0)
        }
      case .opening: due = min(due, channel.pointee.connection.opening.until)
      case .open:
        due = min(due, channel.pointee.connection.stallDue(atMost: options.writeTimeout))
        due = min(due, paceDue(channel), proofDue(channel, goal), spareDue(channel, goal))
      }
    }
    return due
  }

  /// Makes the next wait end when a connection is ready as needed.
  @inline(never)
  mutating func watch() {
    for index in 0..<options.connections {
      let channel = channels + index
      channel.pointee.connection.watch(on: &network)
      // A connection that opens as standby continues only if one is in use.
      if channel.pointee.phase == .open, channel.pointee.spare.phase == .opening {
        channel.pointee.spare.watch(on: &network)
      }
    }
  }
}
