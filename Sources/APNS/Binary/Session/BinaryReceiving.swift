import CAPNS

/// Reads the gateway's error packets.
extension BinarySession where Net: ~Copyable {
  /// Reads when a wait found something, or when the last look was long ago.
  @inline(__always)
  mutating func receiveIfDue(_ connection: UnsafeMutablePointer<BinaryConnection>) throws(Failure) {
    if connection.pointee.link.isReadable(on: &network) { try receiveReadable(connection) }
  }

  /// Maximum number of reads a minute that bring nothing: TLS 1.3 tickets, which carry the
  /// provider's certificate, in the smallest pieces that a network makes of them.
  private static var emptyReadsMax: Int { 4096 }
  private static var minute: Nanoseconds { 60_000_000_000 }

  /// Reads what arrived. A connection that keeps sending bytes that never become a packet keeps
  /// calls busy and achieves nothing, so it is abandoned.
  @inline(never)
  mutating func receiveReadable(_ connection: UnsafeMutablePointer<BinaryConnection>)
    throws(Failure)
  {
    let heard = connection.pointee.traffic.packet.count
    try receive(connection)
    guard connection.pointee.phase == .open else { return }
    if heard != connection.pointee.traffic.packet.count { return }
    let now = connection.pointee.link.lastLook
    if now &- connection.pointee.traffic.emptyReadsSince > Self.minute {
      (connection.pointee.traffic.emptyReads, connection.pointee.traffic.emptyReadsSince) = (0, now)
    }
    connection.pointee.traffic.emptyReads &+= 1
    guard connection.pointee.traffic.emptyReads > Self.emptyReadsMax else { return }
    let failure = Failure(APNS_ERR_PROTOCOL, cause: APNS_CAUSE_FLOOD) {
      $0.append("the gateway keeps sending TLS records without data: ")
      network.append(to: &$0)
    }
    try connectionEnded(connection, failure)
    reconnects.achievedNothing(on: &network)
    throw failure
  }

  /// Reads everything that is there. Throws when the peer refused the provider itself.
  @inline(never)
  mutating func receive(_ connection: UnsafeMutablePointer<BinaryConnection>) throws(Failure) {
    try withUnsafeTemporaryAllocation(byteCount: 512, alignment: 1) {
      (buffer) throws(Failure) in
      while connection.pointee.phase == .open {
        switch network.read(connection.pointee.link.number, into: buffer) {
        case .bytes(let count):
          metrics.pointee.bytes_read &+= UInt64(count.magnitude)
          try received(
            connection, UnsafeRawBufferPointer(rebasing: buffer[0..<min(count, buffer.count)]))
        case .nothing: return
        case .end: try connectionEnded(connection, nil)
        case .broken:
          try connectionEnded(connection, network.failure(connection.pointee.link.number))
        }
      }
    }
  }

  @inline(never)
  private mutating func received(
    _ connection: UnsafeMutablePointer<BinaryConnection>, _ bytes: UnsafeRawBufferPointer
  ) throws(Failure) {
    var rest = bytes
    while rest.count > 0, connection.pointee.phase == .open {
      let missing = ErrorPacket.size &- connection.pointee.traffic.packet.count
      try receivedPacket(connection, rest)
      rest = UnsafeRawBufferPointer(rebasing: rest[min(missing, rest.count)...])
    }
  }

  /// "HTTP/1.1 400", or a server's first SETTINGS: three bytes for its length, then its type
  /// (RFC 9113, 3.4 and 4.1).
  private static func isOfHTTP(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if bytes.count >= 4, bytes[0] == 0, bytes[3] == 4 { return true }
    return bytes.count >= 5 && bytes[0] == 0x48 && bytes[1] == 0x54 && bytes[2] == 0x54
      && bytes[3] == 0x50 && bytes[4] == UInt8(ascii: "/")
  }

  private mutating func receivedPacket(
    _ connection: UnsafeMutablePointer<BinaryConnection>, _ bytes: UnsafeRawBufferPointer
  ) throws(Failure) {
    let packet: ErrorPacket?
    do throws(WireError) {
      packet = try connection.pointee.traffic.packet.read(bytes)
    } catch {
      try connectionEnded(
        connection,
        Failure(APNS_ERR_PROTOCOL) {
          if Self.isOfHTTP(bytes) {
            $0.append("the peer speaks HTTP: set the option protocol to HTTP/2: ")
            return network.append(to: &$0)
          }
          $0.append("the answer from ")
          network.append(to: &$0)
          $0.append(" is not an error packet: it begins with 0x")
          $0.append(hex: bytes.first ?? 0)
        })
      return
    }
    guard let packet else { return }
    let counts = logAnswer(connection, packet)
    let rejected = connection.pointee.window.rejected
    defer { logResent(connection, since: counts) }
    switch connection.pointee.window.errorPacket(
      status: packet.status, identifier: packet.identifier,
      sentinel: connection.pointee.traffic.sentinel)
    {
    case .ambiguous: return try connectionEnded(connection, nil)
    case .noError:
      reconnects.achieved()
      connection.pointee.ambiguousEnds = 0
      connection.pointee.hasProven = true
      connection.pointee.traffic.emptyReads = 0
      if !connection.pointee.window.hasInFlight { connection.pointee.settled() }
      return
    case .proven:
      if connection.pointee.traffic.sentinel.isWhole {
        metrics.noteResponse(after: network.now &- connection.pointee.traffic.lastWrite)
      }
      connection.pointee.expectsEnd = false
      connection.pointee.pace.proven()
    case .rejected(let bytes):
      // It may have ended as unknown before.
      if connection.pointee.window.rejected != rejected {
        metrics.noteRejection(status: packet.status)
      }
      connection.pointee.expectsEnd = true
      connection.pointee.pace.rejected(
        after: bytes, in: network.now &- (connection.pointee.traffic.firstWrite ?? network.now),
        window: connection.pointee.window.ring.size)
    }
    reconnects.achieved()
    connection.pointee.ambiguousEnds = 0
    connection.pointee.hasProven = true
    connection.pointee.isUnwelcome = false
    connection.pointee.settled()
    // The gateway discards everything else that was written here.
    close(connection)
  }
}
