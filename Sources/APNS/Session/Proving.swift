import CAPNS

/// Proof that what is in flight was accepted, for the gateway itself never says so.
extension Session where Net: ~Copyable {
  /// A sentinel proves, so that nothing has to be waited for; not where the gateway does
  /// not answer one, or could not name it.
  var usesSentinel: Bool { options.quietPeriod == 0 && options.command != .simple }

  /// Where there is no sentinel: silence after all is written.
  @inline(never)
  mutating func hearSilence(_ lane: UnsafeMutablePointer<Lane>) throws(Failure) {
    guard !lane.pointee.window.hasUnwritten, lane.pointee.window.hasInFlight else { return }
    if options.quietPeriod > 0 {
      try awaitQuiet(lane)
    } else {
      // It proves nothing, and nothing else will ever come.
      try hear(lane)
      if lane.pointee.use == .open { lane.pointee.window.giveUpWritten() }
    }
  }

  /// A notification without a token, which the gateway cannot but answer: it
  /// names it, and thereby proves all that was sent before.
  mutating func queueSentinel(_ lane: UnsafeMutablePointer<Lane>) {
    guard lane.pointee.window.unresolved > 0, !lane.pointee.window.hasSentinel else { return }
    withUnsafeTemporaryAllocation(byteCount: 2, alignment: 1) { braces in
      braces[0] = 0x7B
      braces[1] = 0x7D
      var sentinel = WireNotification(
        token: UnsafeRawBufferPointer(start: nil, count: 0),
        payload: UnsafeRawBufferPointer(braces), identifier: nextIdentifier)
      // The window keeps room for one.
      guard let size = FrameEncoder.size(of: sentinel, as: options.command),
        let place = lane.pointee.window.reserveSentinel(size)
      else { return }
      let identifier = takeIdentifier()
      sentinel.identifier = identifier
      FrameEncoder.encode(
        sentinel, as: options.command, size: size, into: lane.pointee.window.ring.address(place))
      lane.pointee.window.commitSentinel(place, size: size, identifier: identifier)
    }
  }

  /// The gateway owes an answer to a sentinel. One that does not give it is not there
  /// any more, whatever its connection looks like.
  @inline(never)
  mutating func awaitAnswer(_ lane: UnsafeMutablePointer<Lane>) throws(Failure) {
    guard !lane.pointee.window.hasUnwritten else { return }
    let due = lane.pointee.lastWrite &+ options.answerTimeout
    if network.now < due {
      wake = min(wake, due)
      return
    }
    // The process may have been put aside since it looked last: what came until then counts.
    try hear(lane)
    if lane.pointee.use == .open { try connectionEnded(lane, nil) }
  }

  private mutating func awaitQuiet(_ lane: UnsafeMutablePointer<Lane>) throws(Failure) {
    let quiet = lane.pointee.lastWrite &+ options.quietPeriod
    if network.now < quiet {
      wake = min(wake, quiet)
      return
    }
    // The process may have been put aside since it looked last: what came until then counts.
    try hear(lane)
    // A packet that has begun is a word too.
    guard lane.pointee.use == .open, lane.pointee.packet.count == 0 else { return }
    lane.pointee.window.quietPeriodPassed()
    lane.pointee.ambiguousEnds = 0
    reconnects.achieved()
  }
}
