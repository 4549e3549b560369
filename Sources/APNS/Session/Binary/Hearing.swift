import CAPNS

/// Hearing what the gateway says.
extension BinarySession where Net: ~Copyable {
  /// Looks where a wait found something, or where the last look is long ago.
  @inline(__always)
  mutating func hearIfDue(_ lane: UnsafeMutablePointer<Lane>) throws(Failure) {
    if lane.pointee.line.hasNews(on: &network) { try hearNews(lane) }
  }

  /// So many hearings a minute may come to nothing: the tickets of TLS 1.3, which carry the
  /// provider's certificate, in the smallest pieces that a network makes of them.
  private static var mostVainHearings: Int { 4096 }
  private static var minute: Int64 { 60_000_000_000 }

  /// Something is there. What never comes to a word keeps a call busy and achieves nothing,
  /// so a connection that goes on with it is given up.
  @inline(never)
  mutating func hearNews(_ lane: UnsafeMutablePointer<Lane>) throws(Failure) {
    let heard = lane.pointee.packet.count
    try hear(lane)
    guard lane.pointee.use == .open else { return }
    if heard != lane.pointee.packet.count { return }
    let now = lane.pointee.line.lastLook
    if now &- lane.pointee.vainSince > Self.minute {
      (lane.pointee.vainHearings, lane.pointee.vainSince) = (0, now)
    }
    lane.pointee.vainHearings &+= 1
    guard lane.pointee.vainHearings > Self.mostVainHearings else { return }
    let failure = Failure(APNS_ERR_PROTOCOL, cause: APNS_CAUSE_FLOOD) {
      $0.append("without end, and without a word in it, something comes from ")
      network.append(to: &$0)
    }
    try connectionEnded(lane, failure)
    reconnects.achievedNothing(on: &network)
    throw failure
  }

  /// Takes all that is there. Throws where the peer refused the provider itself.
  @inline(never)
  mutating func hear(_ lane: UnsafeMutablePointer<Lane>) throws(Failure) {
    try withUnsafeTemporaryAllocation(byteCount: 512, alignment: 1) {
      (buffer) throws(Failure) in
      while lane.pointee.use == .open {
        switch network.read(lane.pointee.line.number, into: buffer) {
        case .bytes(let count):
          try heard(lane, UnsafeRawBufferPointer(rebasing: buffer[0..<min(count, buffer.count)]))
        case .nothing: return
        case .end: try connectionEnded(lane, nil)
        case .broken: try connectionEnded(lane, network.failure(lane.pointee.line.number))
        }
      }
    }
  }

  @inline(never)
  private mutating func heard(
    _ lane: UnsafeMutablePointer<Lane>, _ bytes: UnsafeRawBufferPointer
  ) throws(Failure) {
    let packet: ErrorPacket?
    do throws(WireError) {
      packet = try lane.pointee.packet.read(bytes)
    } catch {
      try connectionEnded(
        lane,
        Failure(APNS_ERR_PROTOCOL) {
          $0.append("not an error packet from ")
          network.append(to: &$0)
          $0.append(": it begins with 0x")
          $0.append(hex: bytes.first ?? 0)
        })
      return
    }
    guard let packet else { return }
    switch lane.pointee.window.errorPacket(
      status: packet.status, identifier: packet.identifier, sentinel: lane.pointee.sentinel)
    {
    case .ambiguous: return try connectionEnded(lane, nil)
    case .proven:
      lane.pointee.expectsRejection = false
      lane.pointee.pace.proven()
    case .rejected(let bytes):
      lane.pointee.expectsRejection = true
      lane.pointee.pace.rejected(
        after: bytes, in: network.now &- (lane.pointee.firstWrite ?? network.now),
        window: lane.pointee.window.ring.size)
    }
    reconnects.achieved()
    lane.pointee.ambiguousEnds = 0
    lane.pointee.hasProven = true
    lane.pointee.isUnwelcome = false
    lane.pointee.settled()
    // The gateway discards whatever else was written here.
    close(lane)
  }
}
