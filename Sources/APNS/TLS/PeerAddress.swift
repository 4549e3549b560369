import CSystem

/// The address of a peer, from which a second connection needs no name looked up.
struct PeerAddress {
  private var storage = sockaddr_storage()
  private var size = socklen_t(MemoryLayout<sockaddr_storage>.size)

  /// Who is at the other end; nil where nobody is.
  init?(of descriptor: CInt) {
    guard
      withUnsafeMutablePointer(
        to: &storage,
        { csystem_peer_address(descriptor, UnsafeMutableRawPointer($0), &size) == 0 })
    else { return nil }
  }

  /// A copy of what a name came to.
  init?(_ address: UnsafePointer<sockaddr>?, size: socklen_t, port: UInt16) {
    guard let address, size <= self.size else { return nil }
    self.size = size
    withUnsafeMutablePointer(to: &storage) {
      UnsafeMutableRawPointer($0).copyMemory(from: address, byteCount: Int(size))
      csystem_set_port(UnsafeMutableRawPointer($0), port)
    }
  }

  var family: CInt { CInt(storage.ss_family) }

  /// Begins a connection; 0 or errno.
  func connect(_ descriptor: CInt) -> CInt {
    withUnsafePointer(to: storage) {
      csystem_connect(descriptor, UnsafeRawPointer($0), size) == 0 ? 0 : csystem_errno()
    }
  }
}
