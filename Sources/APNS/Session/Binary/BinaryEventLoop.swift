/// What the program's event loop has to do with: the network's descriptor.
extension BinarySession where Net: ~Copyable {
  mutating func look() { network.look() }

  @inline(__always)
  mutating func hurry() { network.hurry() }

  var descriptor: CInt { network.descriptor }
  var due: Nanoseconds { network.due }
  var bell: CInt { network.bell }
}
