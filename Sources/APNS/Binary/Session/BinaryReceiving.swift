import CAPNS

/// Reads the gateway's error packets.
extension BinarySession where Net: ~Copyable {
  /// Reads when a wait found something, or when the last look was long ago.
  @inline(__always)
  mutating func receiveIfDue(_ channel: UnsafeMutablePointer<BinaryChannel>) throws(Failure) {
    if channel.pointee.connection.hasNews(on: &network) { try receiveNews(channel) }
  }

  /// Maximum number of reads a minute that bring nothing: TLS 1.3 tickets, which carry the
  /// provider's certificate, in the smallest pieces that a network makes of them.
  private static var emptyReadsMax: Int { 4096 }
  private static var minute: Nanoseconds { 60_000_000_000 }

  /// Reads what arrived. A connection that keeps sending bytes that never become a packet keeps
  /// calls busy and achieves nothing, so it is abandoned.
  @inline(never)
  mutating func receiveNews(_ channel: UnsafeMutablePointer<BinaryChannel>) throws(Failure) {
    let heard = channel.pointee.packet.count
    try receive(channel)
    guard channel.pointee.phase == .open else { return }
    if heard != channel.pointee.packet.count { return }
    let now = channel.pointee.connection.lastLook
    if now &- channel.pointee.emptyReadsSince > Self.minute {
      (channel.pointee.emptyReads, channel.pointee.emptyReadsSince) = (0, now)
    }
    channel.pointee.emptyReads &+= 1
    guard channel.pointee.emptyReads > Self.emptyReadsMax else { return }
    let failure = Failure(APNS_ERR_PROTOCOL, cause: APNS_CAUSE_FLOOD) {
      $0.append("the gateway keeps sending TLS records without data: ")
      network.append(to: &$0)
    }
    try connectionEnded(channel, failure)
    reconnects.achievedNothing(on: &network)
    throw failure
  }

  /// Reads everything that is there. Throws when the peer refused the provider itself.
  @inline(never)
  mutating func receive(_ channel: UnsafeMutablePointer<BinaryChannel>) throws(Failure) {
    try withUnsafeTemporaryAllocation(byteCount: 512, alignment: 1) {
      (buffer) throws(Failure) in
      while channel.pointee.phase == .open {
        switch network.read(channel.pointee.connection.number, into: buffer) {
        case .bytes(let count):
          metrics.pointee.bytes_read &+= UInt64(count.magnitude)
          try received(
            channel, UnsafeRawBufferPointer(rebasing: buffer[0..<min(count, buffer.count)]))
        case .nothing: return
        case .end: try connectionEnded(channel, nil)
        case .broken:
          try connectionEnded(channel, network.failure(channel.pointee.connection.number))
        }
      }
    }
  }

  @inline(never)
  private mutating func received(
    _ channel: UnsafeMutablePointer<BinaryChannel>, _ bytes: UnsafeRawBufferPointer
  ) throws(Failure) {
    var rest = bytes
    while rest.count > 0, channel.pointee.phase == .open {
      let missing = ErrorPacket.size &- channel.pointee.packet.count
      try receivedPacket(channel, rest)
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
    _ channel: UnsafeMutablePointer<BinaryChannel>, _ bytes: UnsafeRawBufferPointer
  ) throws(Failure) {
    let packet: ErrorPacket?
    do throws(WireError) {
      packet = try channel.pointee.packet.read(bytes)
    } catch {
      try connectionEnded(
        channel,
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
    let counts = logAnswer(channel, packet)
    let rejected = channel.pointee.window.rejected
    defer { logResent(channel, since: counts) }
    switch channel.pointee.window.errorPacket(
      status: packet.status, identifier: packet.identifier, sentinel: channel.pointee.sentinel)
    {
    case .ambiguous: return try connectionEnded(channel, nil)
    case .noError:
      reconnects.achieved()
      channel.pointee.ambiguousEnds = 0
      channel.pointee.hasProven = true
      channel.pointee.emptyReads = 0
      if !channel.pointee.window.hasInFlight { channel.pointee.settled() }
      return
    case .proven:
      if channel.pointee.sentinel.isWhole {
        metrics.noteAnswer(after: network.now &- channel.pointee.lastWrite)
      }
      channel.pointee.expectsEnd = false
      channel.pointee.pace.proven()
    case .rejected(let bytes):
      // It may have ended as unknown before.
      if channel.pointee.window.rejected != rejected {
        metrics.noteRejection(status: packet.status)
      }
      channel.pointee.expectsEnd = true
      channel.pointee.pace.rejected(
        after: bytes, in: network.now &- (channel.pointee.firstWrite ?? network.now),
        window: channel.pointee.window.ring.size)
    }
    reconnects.achieved()
    channel.pointee.ambiguousEnds = 0
    channel.pointee.hasProven = true
    channel.pointee.holds = []
    channel.pointee.settled()
    // The gateway discards everything else that was written here.
    close(channel)
  }
}
