/// The network as the driver of both protocols and the application's event loop use it.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  var now: Nanoseconds { network.now }

  mutating func look() { network.look() }

  @inline(__always)
  mutating func wake() { network.wake() }

  var descriptor: CInt { network.descriptor }
  var due: Nanoseconds { network.due }
  var wakeup: CInt { network.wakeup }
}
