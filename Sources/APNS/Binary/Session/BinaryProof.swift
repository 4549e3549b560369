import CAPNS

/// Proof that notifications in flight were accepted: the gateway does not confirm them on its own.
extension BinarySession where Net: ~Copyable {
  /// Decides whether a proof is wanted: because the call needs one, or because something has been
  /// in flight for long.
  @inline(__always)
  mutating func noteProof(_ channel: UnsafeMutablePointer<BinaryChannel>, isWanted: Bool) {
    if isWanted {
      channel.pointee.wantsProof = !channel.pointee.window.isEmpty
    } else if channel.pointee.connection.lastLook >= channel.pointee.proveDue
      || channel.pointee.connection.askedAt >= proofDeadline(channel)
    {
      noteAge(channel)
    }
  }

  /// When what is in flight has to be proven to have its end by its deadline; `max`: there is none, or
  /// nothing proves.
  @inline(__always)
  private func proofDeadline(_ channel: UnsafeMutablePointer<BinaryChannel>) -> Nanoseconds {
    let due = channel.pointee.window.nextDeadline
    return due > .min && due < .max && canProve ? due &- options.proofLead : .max
  }

  private var canProve: Bool { options.usesSentinel || options.quietPeriod > 0 }

  @inline(never)
  private mutating func noteAge(_ channel: UnsafeMutablePointer<BinaryChannel>) {
    guard !channel.pointee.window.isEmpty else { return }
    let now = channel.pointee.connection.askedAt
    if channel.pointee.connection.lastLook < channel.pointee.proveDue {
      // The first one may be resolved already.
      channel.pointee.window.lookAtDeadlines(at: now)
      guard now >= proofDeadline(channel), channel.pointee.window.hasInFlight else { return }
    }
    // A sentinel costs its connection, so it waits until the next connection may be made.
    if options.usesSentinel, channel.pointee.connection.lastLook < reconnects.earliest { return }
    channel.pointee.wantsProof = true
  }

  /// Waits for proof: the sentinel's error packet or, without sentinels, the quiet period.
  @inline(__always)
  mutating func prove(
    _ channel: UnsafeMutablePointer<BinaryChannel>, isWanted: Bool
  ) throws(Failure) {
    guard channel.pointee.phase == .open else { return }
    if channel.pointee.sentinel.isWhole {
      try awaitAnswer(channel)
    } else if !options.usesSentinel,
      channel.pointee.wantsProof || channel.pointee.window.flightNeedsProof
    {
      try awaitSilence(channel, isWanted: isWanted)
    }
  }

  /// When something must be done for proof: by an answer to a sentinel, after a silence, for the
  /// goal, or because something is in flight for long.
  @inline(__always)
  func proofDue(_ channel: UnsafeMutablePointer<BinaryChannel>, _ goal: SessionGoal) -> Nanoseconds
  {
    if channel.pointee.sentinel.isWhole {
      return channel.pointee.lastWrite &+ options.answerTimeout
    }
    if channel.pointee.quietMark != nil { return silenceDue(channel, goal) }
    return ageDue(channel, goal)
  }

  @inline(never)
  private func ageDue(_ channel: UnsafeMutablePointer<BinaryChannel>, _ goal: SessionGoal)
    -> Nanoseconds
  {
    guard !channel.pointee.wantsProof, !channel.pointee.window.isEmpty else { return .max }
    if goal.needsProof { return 0 }
    // The age is checked as often as the connection is polled.
    let look = channel.pointee.connection.lastLook &+ SessionConnection.lookInterval
    var due = max(channel.pointee.proveDue, look)
    if channel.pointee.window.hasInFlight { due = min(due, proofDeadline(channel)) }
    return options.usesSentinel ? max(due, reconnects.earliest) : due
  }

  @inline(never)
  private func silenceDue(_ channel: UnsafeMutablePointer<BinaryChannel>, _ goal: SessionGoal)
    -> Nanoseconds
  {
    guard let mark = channel.pointee.quietMark,
      channel.pointee.wantsProof || channel.pointee.window.flightNeedsProof
    else { return ageDue(channel, goal) }
    // A packet that has begun ends the silence.
    if channel.pointee.packet.count > 0 || !channel.pointee.window.hasInFlight { return .max }
    return mark.time &+ options.quietPeriod
  }

  // MARK: The sentinel

  /// Writes a notification without a token. The gateway must answer it by name, which proves
  /// everything sent before it.
  @inline(never)
  mutating func writeSentinel(_ channel: UnsafeMutablePointer<BinaryChannel>) throws(Failure) {
    guard isSentinelDue(channel) else { return }
    try withUnsafeTemporaryAllocation(byteCount: Sentinel.room, alignment: 1) {
      (frame) throws(Failure) in
      let size = encodeSentinel(channel, frame)
      while channel.pointee.phase == .open, channel.pointee.sentinel.written < size {
        let rest = UnsafeRawBufferPointer(
          rebasing: frame[min(channel.pointee.sentinel.written, size)..<size])
        switch network.write(channel.pointee.connection.number, rest) {
        case .bytes(let count):
          channel.pointee.sentinel.wrote(count)
          if channel.pointee.sentinel.written >= size {
            log?.at(network.now).asked(
              channel.pointee.connection,
              "a notification without a token is sent, whose error packet proves the others")
          }
          bytes &+= UInt64(count)
          records &+= 1
          channel.pointee.lastWrite = network.now
          channel.pointee.connection.stalledSince = nil
        case .full: return try stalled(channel, mustRead: false)
        case .needsReading: return try stalled(channel, mustRead: true)
        case .broken: return try broken(channel, network.failure(channel.pointee.connection.number))
        }
      }
    }
  }

  private func isSentinelDue(_ channel: UnsafeMutablePointer<BinaryChannel>) -> Bool {
    guard options.usesSentinel, !channel.pointee.sentinel.isWhole else { return false }
    if channel.pointee.sentinel.isBegun || channel.pointee.holds.contains(.unwelcome) {
      return true
    }
    guard channel.pointee.window.hasInFlight else { return false }
    return channel.pointee.wantsProof && !channel.pointee.window.hasUnwritten
      || channel.pointee.window.flightNeedsProof || hasWrittenLast(channel)
  }

  /// Returns its size; the bytes are the same each time for the same connection.
  private mutating func encodeSentinel(
    _ channel: UnsafeMutablePointer<BinaryChannel>, _ frame: UnsafeMutableRawBufferPointer
  ) -> Int {
    withUnsafeTemporaryAllocation(byteCount: 2, alignment: 1) { braces in
      braces[0] = UInt8(ascii: "{")
      braces[1] = UInt8(ascii: "}")
      var sentinel = WireNotification(
        token: UnsafeRawBufferPointer(start: nil, count: 0),
        payload: UnsafeRawBufferPointer(braces), identifier: nextIdentifier)
      guard let size = FrameEncoder.size(of: sentinel, as: options.command),
        size <= frame.count, let base = frame.baseAddress
      else { return 0 }
      if !channel.pointee.sentinel.isBegun {
        channel.pointee.sentinel.begin(takeIdentifier(), size: size)
      }
      sentinel.identifier = channel.pointee.sentinel.identifier
      FrameEncoder.encode(sentinel, as: options.command, size: size, into: base)
      return size
    }
  }

  /// The gateway must answer a sentinel. If it does not, treat it as dead even if the connection
  /// looks open.
  @inline(never)
  private mutating func awaitAnswer(_ channel: UnsafeMutablePointer<BinaryChannel>) throws(Failure)
  {
    let due = channel.pointee.lastWrite &+ options.answerTimeout
    if network.now < due { return }
    // The process may have been suspended since the last look: what came until then counts.
    try receive(channel)
    if channel.pointee.phase == .open {
      log?.at(network.now).givenUp(
        channel.pointee.connection, APNS_CAUSE_ANSWER_TIMEOUT, "no answer to what asks for proof")
      try connectionEnded(channel, nil)
    }
  }

  // MARK: Silence

  /// Without a sentinel: silence after the last write.
  @inline(never)
  private mutating func awaitSilence(
    _ channel: UnsafeMutablePointer<BinaryChannel>, isWanted: Bool
  ) throws(Failure) {
    if options.quietPeriod > 0 { return try awaitQuiet(channel) }
    guard isWanted && !channel.pointee.window.hasUnwritten || hasWrittenLast(channel),
      channel.pointee.window.hasInFlight
    else { return }
    // It proves nothing, and nothing else will ever come.
    try receive(channel)
    guard channel.pointee.phase == .open else { return }
    channel.pointee.window.giveUpWritten()
    channel.pointee.settled()
    if hasWrittenLast(channel) { close(channel) }
  }

  private mutating func awaitQuiet(_ channel: UnsafeMutablePointer<BinaryChannel>) throws(Failure) {
    while channel.pointee.window.hasInFlight {
      if channel.pointee.quietMark == nil {
        // Old notifications are proven even while more are written.
        guard
          !channel.pointee.window.hasUnwritten || channel.pointee.window.flightNeedsProof
            || channel.pointee.connection.lastLook >= channel.pointee.proveDue
            || channel.pointee.holds.contains(.replaced)
        else { return }
        channel.pointee.quietMark = QuietMark(
          position: channel.pointee.window.written, time: channel.pointee.lastWrite)
      }
      guard let mark = channel.pointee.quietMark else { return }
      let quiet = mark.time &+ options.quietPeriod
      if network.now < quiet { return }
      // The process may have been suspended since the last look: what came until then counts.
      try receive(channel)
      // A packet that has begun is an answer too.
      guard channel.pointee.phase == .open, channel.pointee.packet.count == 0 else { return }
      channel.pointee.quietMark = nil
      channel.pointee.window.quietPeriodPassed(after: mark.position)
      channel.pointee.ambiguousEnds = 0
      channel.pointee.hasProven = true
      reconnects.achieved()
      if channel.pointee.window.hasInFlight {
        channel.pointee.settled()
        channel.pointee.wantsProof = channel.pointee.holds.contains(.replaced)
        channel.pointee.proveDue = later(mark.time, by: options.proveAfter)
      } else if hasWrittenLast(channel) {
        channel.pointee.settled()
        return close(channel)
      } else {
        provenByQuiet(channel)
      }
      // The flight was complete; the next one may be written.
      if channel.pointee.window.hasUnwritten { try write(channel, all: true) }
      guard channel.pointee.phase == .open else { return }
    }
  }

  /// Later writes count as if on a new connection. Not if the peer has refused a TLS record,
  /// because that must be offered again with at least as many bytes.
  func provenByQuiet(_ channel: UnsafeMutablePointer<BinaryChannel>) {
    channel.pointee.settled()
    guard channel.pointee.connection.stalledSince == nil else {
      channel.pointee.proveDue = later(channel.pointee.connection.lastLook, by: options.proveAfter)
      return
    }
    channel.pointee.firstWrite = nil
    channel.pointee.written = 0
  }

  /// Adds a span to a time; `max`, as either of them, means never.
  func later(_ time: Nanoseconds, by span: Nanoseconds) -> Nanoseconds {
    let (sum, overflow) = time.addingReportingOverflow(span)
    return overflow ? .max : sum
  }
}
