/// What a session waits for, worked out of its state before each wait and after each call of one
/// that never waits. Whoever has a time answers it here, so no call can forget another one's.
extension BinarySession where Net: ~Copyable {
  /// When there is something to do that no connection will tell of; `max`: never. `goal` is what
  /// the session works for.
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
          // A spare one takes its place without a pause.
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

  /// Makes the next wait end when a connection is ready for what is wanted of it.
  @inline(never)
  mutating func watch() {
    for index in 0..<options.connections {
      let channel = channels + index
      channel.pointee.connection.watch(on: &network)
      // Nobody continues one that opens beside none in use.
      if channel.pointee.phase == .open, channel.pointee.spare.phase == .opening {
        channel.pointee.spare.watch(on: &network)
      }
    }
  }
}
