import CAPNS

/// Proof that what is in flight was accepted, for the gateway itself never says so.
extension BinarySession where Net: ~Copyable {
  /// Whether there is to be proof: because the call wants it, or because what is in flight
  /// has been for long.
  @inline(__always)
  mutating func noteProof(_ lane: UnsafeMutablePointer<Lane>, isWanted: Bool) {
    if isWanted {
      lane.pointee.wantsProof = !lane.pointee.window.isEmpty
    } else if lane.pointee.line.lastLook >= lane.pointee.proveDue {
      noteAge(lane)
    }
  }

  @inline(never)
  private mutating func noteAge(_ lane: UnsafeMutablePointer<Lane>) {
    guard !lane.pointee.window.isEmpty else { return }
    // A sentinel costs its connection, and the next one has to be allowed.
    if options.usesSentinel, lane.pointee.line.lastLook < reconnects.earliest { return }
    lane.pointee.wantsProof = true
  }

  /// Listens to what proves.
  @inline(__always)
  mutating func prove(
    _ lane: UnsafeMutablePointer<Lane>, isWanted: Bool
  ) throws(Failure) {
    guard lane.pointee.use == .open else { return }
    if lane.pointee.sentinel.isWhole {
      try awaitAnswer(lane)
    } else if !options.usesSentinel,
      lane.pointee.wantsProof || lane.pointee.window.flightNeedsProof
    {
      try hearSilence(lane, isWanted: isWanted)
    }
  }

  /// Has a wait end when what is in flight is to be proven.
  @inline(never)
  mutating func awaitAge(_ lane: UnsafeMutablePointer<Lane>) {
    guard lane.pointee.use == .open, !lane.pointee.wantsProof, lane.pointee.proveDue != .max,
      lane.pointee.window.hasInFlight
    else { return }
    // Whether it has come is seen as often as the line is looked at.
    let look = lane.pointee.line.lastLook &+ Line.lookInterval
    wake = min(wake, max(lane.pointee.proveDue, reconnects.earliest, look))
  }

  // MARK: The sentinel

  /// Writes a notification without a token, which the gateway cannot but answer: it names it,
  /// and thereby proves all that was sent before.
  @inline(never)
  mutating func writeSentinel(_ lane: UnsafeMutablePointer<Lane>) throws(Failure) {
    guard isSentinelDue(lane) else { return }
    try withUnsafeTemporaryAllocation(byteCount: Sentinel.room, alignment: 1) {
      (frame) throws(Failure) in
      let size = encodeSentinel(lane, frame)
      while lane.pointee.use == .open, lane.pointee.sentinel.written < size {
        let rest = UnsafeRawBufferPointer(
          rebasing: frame[min(lane.pointee.sentinel.written, size)..<size])
        switch network.write(lane.pointee.line.number, rest) {
        case .bytes(let count):
          lane.pointee.sentinel.wrote(count)
          bytes &+= UInt64(count)
          records &+= 1
          lane.pointee.lastWrite = network.now
          lane.pointee.line.stalledSince = nil
        case .full: return try stalled(lane, mustRead: false)
        case .needsReading: return try stalled(lane, mustRead: true)
        case .broken: return try broken(lane, network.failure(lane.pointee.line.number))
        }
      }
    }
  }

  private func isSentinelDue(_ lane: UnsafeMutablePointer<Lane>) -> Bool {
    guard options.usesSentinel, !lane.pointee.sentinel.isWhole else { return false }
    if lane.pointee.sentinel.isBegun || lane.pointee.isUnwelcome { return true }
    guard lane.pointee.window.hasInFlight else { return false }
    return lane.pointee.wantsProof && !lane.pointee.window.hasUnwritten
      || lane.pointee.window.flightNeedsProof
  }

  /// Its size; the same bytes for the same connection.
  private mutating func encodeSentinel(
    _ lane: UnsafeMutablePointer<Lane>, _ frame: UnsafeMutableRawBufferPointer
  ) -> Int {
    withUnsafeTemporaryAllocation(byteCount: 2, alignment: 1) { braces in
      braces[0] = 0x7B
      braces[1] = 0x7D
      var sentinel = WireNotification(
        token: UnsafeRawBufferPointer(start: nil, count: 0),
        payload: UnsafeRawBufferPointer(braces), identifier: nextIdentifier)
      guard let size = FrameEncoder.size(of: sentinel, as: options.command),
        size <= frame.count, let base = frame.baseAddress
      else { return 0 }
      if !lane.pointee.sentinel.isBegun {
        lane.pointee.sentinel.begin(takeIdentifier(), size: size)
      }
      sentinel.identifier = lane.pointee.sentinel.identifier
      FrameEncoder.encode(sentinel, as: options.command, size: size, into: base)
      return size
    }
  }

  /// The gateway owes an answer to a sentinel. One that does not give it is not there
  /// any more, whatever its connection looks like.
  @inline(never)
  private mutating func awaitAnswer(_ lane: UnsafeMutablePointer<Lane>) throws(Failure) {
    let due = lane.pointee.lastWrite &+ options.answerTimeout
    if network.now < due {
      wake = min(wake, due)
      return
    }
    // The process may have been put aside since it looked last: what came until then counts.
    try hear(lane)
    if lane.pointee.use == .open { try connectionEnded(lane, nil) }
  }

  // MARK: Silence

  /// Where there is no sentinel: silence after what was written.
  @inline(never)
  private mutating func hearSilence(
    _ lane: UnsafeMutablePointer<Lane>, isWanted: Bool
  ) throws(Failure) {
    if options.quietPeriod > 0 { return try awaitQuiet(lane) }
    guard isWanted, !lane.pointee.window.hasUnwritten, lane.pointee.window.hasInFlight
    else { return }
    // It proves nothing, and nothing else will ever come.
    try hear(lane)
    guard lane.pointee.use == .open else { return }
    lane.pointee.window.giveUpWritten()
    lane.pointee.settled()
  }

  private mutating func awaitQuiet(_ lane: UnsafeMutablePointer<Lane>) throws(Failure) {
    while lane.pointee.window.hasInFlight {
      if lane.pointee.quietMark == nil {
        // What is old is proven though more is written all the while.
        guard
          !lane.pointee.window.hasUnwritten || lane.pointee.window.flightNeedsProof
            || lane.pointee.line.lastLook >= lane.pointee.proveDue
        else { return }
        lane.pointee.quietMark = QuietMark(
          position: lane.pointee.window.written, time: lane.pointee.lastWrite)
      }
      guard let mark = lane.pointee.quietMark else { return }
      let quiet = mark.time &+ options.quietPeriod
      if network.now < quiet {
        wake = min(wake, quiet)
        return
      }
      // The process may have been put aside since it looked last: what came until then counts.
      try hear(lane)
      // A packet that has begun is a word too.
      guard lane.pointee.use == .open, lane.pointee.packet.count == 0 else { return }
      lane.pointee.quietMark = nil
      lane.pointee.window.quietPeriodPassed(after: mark.position)
      lane.pointee.ambiguousEnds = 0
      lane.pointee.hasProven = true
      reconnects.achieved()
      if lane.pointee.window.hasInFlight {
        lane.pointee.settled()
        lane.pointee.proveDue = later(mark.time, by: options.proveAfter)
      } else {
        provenByQuiet(lane)
      }
      // The next of a flight that was all there may be.
      if lane.pointee.window.hasUnwritten { try write(lane, all: true) }
      guard lane.pointee.use == .open else { return }
    }
  }

  /// What is written next on the connection is as on a new one; not where the peer has refused
  /// a record, which has to come again with as many bytes at least.
  private func provenByQuiet(_ lane: UnsafeMutablePointer<Lane>) {
    lane.pointee.settled()
    guard lane.pointee.line.stalledSince == nil else {
      lane.pointee.proveDue = later(lane.pointee.line.lastLook, by: options.proveAfter)
      return
    }
    lane.pointee.firstWrite = nil
    lane.pointee.written = 0
  }

  /// `max`, and a span of that, are never.
  func later(_ time: Int64, by span: Int64) -> Int64 {
    let (sum, overflow) = time.addingReportingOverflow(span)
    return overflow ? .max : sum
  }
}
