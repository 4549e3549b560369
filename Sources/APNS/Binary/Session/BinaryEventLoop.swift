/// The part of a session that the application's event loop uses: the network's descriptor.
extension BinarySession where Net: ~Copyable {
  mutating func look() { network.look() }

  @inline(__always)
  mutating func hurry() { network.hurry() }

  var descriptor: CInt { network.descriptor }
  var due: Nanoseconds { network.due }
  var bell: CInt { network.bell }
}
