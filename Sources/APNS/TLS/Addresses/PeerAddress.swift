import CSystem

/// The address of a peer. A second connection to it needs no name lookup.
struct PeerAddress {
  /// As large and aligned as a sockaddr_storage, whose 120 fields the compiler would check one by one.
  private var storage = InlineArray<16, UInt64>(repeating: 0)
  private var size = socklen_t(MemoryLayout<sockaddr_storage>.size)

  /// The peer of a connected socket; nil without one.
  init?(of descriptor: CInt) {
    guard
      withUnsafeMutablePointer(
        to: &storage,
        { csystem_peer_address(descriptor, UnsafeMutableRawPointer($0), &size) == 0 })
    else { return nil }
  }

  /// A copy of an address that a name resolved to.
  init?(_ address: UnsafePointer<sockaddr>?, size: socklen_t) {
    guard let address, size <= self.size else { return nil }
    self.size = size
    withUnsafeMutablePointer(to: &storage) {
      UnsafeMutableRawPointer($0).copyMemory(from: address, byteCount: Int(size))
    }
  }

  func with(port: UInt16) -> PeerAddress {
    var other = self
    withUnsafeMutablePointer(to: &other.storage) {
      csystem_set_port(UnsafeMutableRawPointer($0), port)
    }
    return other
  }

  /// Whether both are the same, apart from their ports.
  func isSame(as other: PeerAddress) -> Bool {
    guard size == other.size else { return false }
    return withUnsafePointer(to: with(port: 0).storage) { own in
      withUnsafePointer(to: other.with(port: 0).storage) { memcmp(own, $0, Int(size)) == 0 }
    }
  }

  /// Appends the address without its port.
  @inline(never)
  func append(to message: inout Message) {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
      text.initialize(repeating: 0)
      withUnsafePointer(to: storage) {
        csystem_address_text(UnsafeRawPointer($0), text.baseAddress, text.count)
      }
      message.append(UnsafePointer(text.baseAddress))
    }
  }

  var family: CInt {
    withUnsafePointer(to: storage) {
      CInt(UnsafeRawPointer($0).loadUnaligned(as: sockaddr.self).sa_family)
    }
  }

  /// Starts connecting; 0 or errno.
  func connect(_ descriptor: CInt) -> CInt {
    withUnsafePointer(to: storage) {
      csystem_connect(descriptor, UnsafeRawPointer($0), size) == 0 ? 0 : csystem_errno()
    }
  }
}
