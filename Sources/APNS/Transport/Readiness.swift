import CSystem

/// A descriptor's readiness. Waits for it are poll()'s.
struct Readiness: OptionSet {
  let rawValue: Int16
  static let reading = Readiness(rawValue: Int16(POLLIN))
  static let writing = Readiness(rawValue: Int16(POLLOUT))

  /// Nil when the deadline passed first. An error or hang-up counts as readiness: the next call
  /// finds it.
  static func wait(
    for wanted: Readiness, on descriptor: CInt, until deadline: Deadline
  ) -> Readiness? {
    while true {
      if let ready = poll(wanted, descriptor, deadline.milliseconds) { return ready }
      if deadline.hasPassed { return nil }
    }
  }

  /// The readiness at this moment; nil if not ready.
  static func look(for wanted: Readiness, on descriptor: CInt) -> Readiness? {
    poll(wanted, descriptor, 0)
  }

  private static func poll(
    _ wanted: Readiness, _ descriptor: CInt, _ milliseconds: CInt
  ) -> Readiness? {
    var entry = pollfd(fd: descriptor, events: wanted.rawValue, revents: 0)
    guard CSystem.poll(&entry, 1, milliseconds) > 0 else { return nil }
    let ready = Readiness(rawValue: entry.revents).intersection(wanted)
    return ready.isEmpty ? wanted : ready
  }
}
