/// The network as the driver of both protocols and the application's event loop use it.
extension BinarySession where Net: ~Copyable {
  var now: Nanoseconds { network.now }

  mutating func look() { network.look() }

  @inline(__always)
  mutating func wake() { network.wake() }

  var descriptor: CInt { network.descriptor }
  var due: Nanoseconds { network.due }
  var wakeup: CInt { network.wakeup }

  mutating func wait(for goal: SessionGoal, until deadline: Nanoseconds, _ now: Nanoseconds) {
    watch()
    network.wait(until: min(deadline, nextDue(goal)))
  }

  /// No clock is read: the pass has acted on the time that it knows.
  mutating func arm(until deadline: Nanoseconds) {
    watch()
    network.arm(until: min(deadline, nextDue(standing.goal)))
  }
}
