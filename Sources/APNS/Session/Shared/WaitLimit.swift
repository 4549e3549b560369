/// The longest wait of a call, if the session limits it. It counts from when the call first waits.
struct WaitLimit {
  private var span: Nanoseconds

  init(_ options: SessionOptions) { span = options.waitMax }

  /// The call is about to wait until `deadline`, for the first time or again.
  @inline(__always)
  mutating func apply(to deadline: inout Nanoseconds, at now: Nanoseconds) {
    guard span < .max else { return }
    deadline = min(deadline, now &+ span)
    span = .max
  }
}
