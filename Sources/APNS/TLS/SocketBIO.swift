import COpenSSL
import CSystem

/// The state that OpenSSL's callbacks share with a connection. It never moves in memory.
struct SocketState {
  /// -1 until there is a socket.
  var descriptor: CInt = -1
  /// errno of the last failed call that was not just "try again".
  var systemError: CInt = 0
  /// The peer has ended its side.
  var hasEnded = false
  /// The peer requested the provider's certificate, but it could not be shown.
  var lacksCertificate = false
  /// An allocation failed between two socket calls. OpenSSL does not always report that.
  private(set) var ranOut = false
  var peerFault = PeerFault()
  /// The protocol that the peer chose by ALPN, if it was not offered.
  var otherProtocol = Message()
  /// How many bytes may be read before the reading call must return. OpenSSL itself keeps reading
  /// as long as the peer sends TLS records that OpenSSL handles on its own.
  var allowance = 0

  /// Enough for a whole TLS record, or for several hundred of the smallest, which take OpenSSL 50
  /// ms.
  static var wholeAllowance: Int { 16 << 10 }

  /// Call this before errno changes.
  mutating func noteMemory() { if TLSErrors.isOutOfMemory { ranOut = true } }
}

/// Our own BIO over a socket: OpenSSL's would call write() and so raise SIGPIPE.
enum SocketBIO {
  /// Made for each connection: making a shared one only once would need a lock.
  static func makeMethod() -> OpaquePointer? {
    guard let method = BIO_meth_new(BIO_TYPE_SOURCE_SINK | 0x7F, "socket without SIGPIPE") else {
      return nil
    }
    BIO_meth_set_write(method, writeToSocket)
    BIO_meth_set_read(method, readFromSocket)
    BIO_meth_set_ctrl(method, controlSocket)
    return method
  }

  static func make(_ method: OpaquePointer, _ state: UnsafeMutablePointer<SocketState>)
    -> OpaquePointer?
  {
    guard let bio = BIO_new(method) else { return nil }
    BIO_set_data(bio, state)
    BIO_set_init(bio, 1)
    return bio
  }
}

private func state(of bio: OpaquePointer) -> UnsafeMutablePointer<SocketState>? {
  BIO_get_data(bio)?.assumingMemoryBound(to: SocketState.self)
}

private func writeToSocket(
  _ bio: OpaquePointer?, _ bytes: UnsafePointer<CChar>?, _ count: CInt
) -> CInt {
  guard let bio, let bytes, count > 0, let state = state(of: bio) else { return 0 }
  copenssl_clear_retry(bio)
  state.pointee.noteMemory()
  while true {
    let sent = csystem_send(state.pointee.descriptor, bytes, Int(count))
    if sent >= 0 { return CInt(truncatingIfNeeded: sent) }
    switch csystem_errno() {
    case EINTR: continue
    case EAGAIN:
      copenssl_retry_write(bio)
      return -1
    case let code:
      state.pointee.systemError = code
      return -1
    }
  }
}

private func readFromSocket(
  _ bio: OpaquePointer?, _ bytes: UnsafeMutablePointer<CChar>?, _ count: CInt
) -> CInt {
  guard let bio, let bytes, count > 0, let state = state(of: bio) else { return 0 }
  copenssl_clear_retry(bio)
  state.pointee.noteMemory()
  if state.pointee.allowance <= 0 {
    // The socket stays readable, so a wait for it ends at once.
    copenssl_retry_read(bio)
    return -1
  }
  while true {
    let received = csystem_receive(state.pointee.descriptor, bytes, Int(count))
    if received > 0 {
      state.pointee.allowance &-= Int(received)
      return CInt(truncatingIfNeeded: received)
    }
    if received == 0 {
      state.pointee.hasEnded = true
      return 0
    }
    switch csystem_errno() {
    case EINTR: continue
    case EAGAIN:
      copenssl_retry_read(bio)
      return -1
    case let code:
      state.pointee.systemError = code
      return -1
    }
  }
}

private func controlSocket(
  _ bio: OpaquePointer?, _ command: CInt, _ number: Int, _ pointer: UnsafeMutableRawPointer?
) -> Int {
  switch command {
  case BIO_CTRL_FLUSH: 1
  case BIO_CTRL_EOF: bio.flatMap { state(of: $0) }?.pointee.hasEnded == true ? 1 : 0
  default: 0
  }
}

/// OpenSSL's callback for each of the peer's extensions: OpenSSL only reports that one of them is
/// bad. ALPN's has the length of a list, then that of its one name, and the name (RFC 7301, 3.1).
func noteProtocol(
  _ ssl: OpaquePointer?, _ isServers: CInt, _ type: CInt, _ data: UnsafePointer<UInt8>?,
  _ count: CInt, _ context: UnsafeMutableRawPointer?
) {
  guard type == 16, count > 3, let data, let context else { return }
  let name = UnsafeRawBufferPointer(start: data + 3, count: Int(count) &- 3)
  if name.count == 2, name[0] == 0x68, name[1] == 0x32 { return }
  context.assumingMemoryBound(to: SocketState.self).pointee.otherProtocol.append(text: name)
}
