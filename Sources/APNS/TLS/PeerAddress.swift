import CSystem

/// The address of a peer. A second connection to it needs no name lookup.
struct PeerAddress {
  private var storage = sockaddr_storage()
  private var size = socklen_t(MemoryLayout<sockaddr_storage>.size)

  /// The peer of a connected socket; nil if there is none.
  init?(of descriptor: CInt) {
    guard
      withUnsafeMutablePointer(
        to: &storage,
        { csystem_peer_address(descriptor, UnsafeMutableRawPointer($0), &size) == 0 })
    else { return nil }
  }

  /// A copy of an address that a name resolved to.
  init?(_ address: UnsafePointer<sockaddr>?, size: socklen_t, port: UInt16) {
    guard let address, size <= self.size else { return nil }
    self.size = size
    withUnsafeMutablePointer(to: &storage) {
      UnsafeMutableRawPointer($0).copyMemory(from: address, byteCount: Int(size))
      csystem_set_port(UnsafeMutableRawPointer($0), port)
    }
  }

  var family: CInt { CInt(storage.ss_family) }

  /// Starts connecting; 0 or errno.
  func connect(_ descriptor: CInt) -> CInt {
    withUnsafePointer(to: storage) {
      csystem_connect(descriptor, UnsafeRawPointer($0), size) == 0 ? 0 : csystem_errno()
    }
  }
}
