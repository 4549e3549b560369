/// The longest wait of a call, where the session has one: it counts from when the call first waits.
struct WaitLimit {
  private var span: Nanoseconds

  init(_ options: SessionOptions) { span = options.waitMax }

  /// The call would wait until `deadline`, and this is the first time or another.
  @inline(__always)
  mutating func apply(to deadline: inout Nanoseconds, at now: Nanoseconds) {
    guard span < .max else { return }
    deadline = min(deadline, now &+ span)
    span = .max
  }
}
