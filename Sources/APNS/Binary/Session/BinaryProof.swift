import CAPNS

/// Proof that notifications in flight were accepted: the gateway does not confirm them on its own.
extension BinarySession where Net: ~Copyable {
  /// Decides whether a proof is wanted: because the call needs one, or because something has been
  /// in flight for long.
  @inline(__always)
  mutating func noteProof(_ connection: UnsafeMutablePointer<BinaryConnection>, isWanted: Bool) {
    if isWanted {
      connection.pointee.wantsProof = !connection.pointee.window.isEmpty
    } else if connection.pointee.link.lastLook >= connection.pointee.proveDue
      || connection.pointee.link.askedAt >= proofDeadline(connection)
    {
      noteAge(connection)
    }
  }

  /// When what is in flight has to be proven to have its end by its deadline; `max`: there is none, or
  /// nothing proves.
  @inline(__always)
  private func proofDeadline(_ connection: UnsafeMutablePointer<BinaryConnection>) -> Nanoseconds {
    let due = connection.pointee.window.nextDeadline
    return due > .min && due < .max && canProve ? due &- options.proofLead : .max
  }

  private var canProve: Bool { options.usesSentinel || options.quietPeriod > 0 }

  @inline(never)
  private mutating func noteAge(_ connection: UnsafeMutablePointer<BinaryConnection>) {
    guard !connection.pointee.window.isEmpty else { return }
    let now = connection.pointee.link.askedAt
    if connection.pointee.link.lastLook < connection.pointee.proveDue {
      // The first one may be resolved already.
      connection.pointee.window.lookAtDeadlines(at: now)
      guard now >= proofDeadline(connection), connection.pointee.window.hasInFlight else { return }
    }
    // A sentinel costs its connection, so it waits until the next connection may be made.
    if options.usesSentinel, connection.pointee.link.lastLook < reconnects.earliest { return }
    connection.pointee.wantsProof = true
  }

  /// Waits for proof: the sentinel's error packet or, without sentinels, the quiet period.
  @inline(__always)
  mutating func prove(
    _ connection: UnsafeMutablePointer<BinaryConnection>, isWanted: Bool
  ) throws(Failure) {
    guard connection.pointee.phase == .open else { return }
    if connection.pointee.traffic.sentinel.isWhole {
      try awaitAnswer(connection)
    } else if !options.usesSentinel,
      connection.pointee.wantsProof || connection.pointee.window.flightNeedsProof
    {
      try awaitSilence(connection, isWanted: isWanted)
    }
  }

  /// When something must be done for proof: by an answer to a sentinel, after a silence, for the
  /// goal, or because something is in flight for long.
  @inline(__always)
  func proofDue(_ connection: UnsafeMutablePointer<BinaryConnection>, _ goal: SessionGoal)
    -> Nanoseconds
  {
    if connection.pointee.traffic.sentinel.isWhole {
      return connection.pointee.traffic.lastWrite &+ options.answerTimeout
    }
    if connection.pointee.traffic.quietMark != nil { return silenceDue(connection, goal) }
    return ageDue(connection, goal)
  }

  @inline(never)
  private func ageDue(_ connection: UnsafeMutablePointer<BinaryConnection>, _ goal: SessionGoal)
    -> Nanoseconds
  {
    guard !connection.pointee.wantsProof, !connection.pointee.window.isEmpty else { return .max }
    if goal.needsProof { return 0 }
    // The age is checked as often as the connection is polled.
    let look = connection.pointee.link.lastLook &+ SessionLink.lookInterval
    var due = max(connection.pointee.proveDue, look)
    if connection.pointee.window.hasInFlight { due = min(due, proofDeadline(connection)) }
    return options.usesSentinel ? max(due, reconnects.earliest) : due
  }

  @inline(never)
  private func silenceDue(_ connection: UnsafeMutablePointer<BinaryConnection>, _ goal: SessionGoal)
    -> Nanoseconds
  {
    guard let mark = connection.pointee.traffic.quietMark,
      connection.pointee.wantsProof || connection.pointee.window.flightNeedsProof
    else { return ageDue(connection, goal) }
    // A packet that has begun ends the silence.
    if connection.pointee.traffic.packet.count > 0 || !connection.pointee.window.hasInFlight {
      return .max
    }
    return mark.time &+ options.quietPeriod
  }

  // MARK: The sentinel

  /// Writes a notification without a token. The gateway must answer it by name, which proves
  /// everything sent before it.
  @inline(never)
  mutating func writeSentinel(_ connection: UnsafeMutablePointer<BinaryConnection>) throws(Failure)
  {
    guard isSentinelDue(connection) else { return }
    try withUnsafeTemporaryAllocation(byteCount: Sentinel.room, alignment: 1) {
      (frame) throws(Failure) in
      let size = encodeSentinel(connection, frame)
      while connection.pointee.phase == .open, connection.pointee.traffic.sentinel.written < size {
        let rest = UnsafeRawBufferPointer(
          rebasing: frame[min(connection.pointee.traffic.sentinel.written, size)..<size])
        switch network.write(connection.pointee.link.number, rest) {
        case .bytes(let count):
          connection.pointee.traffic.sentinel.wrote(count)
          if connection.pointee.traffic.sentinel.written >= size {
            log?.at(network.now).asked(
              connection.pointee.link,
              "a notification without a token is sent, whose error packet proves the others")
          }
          bytes &+= UInt64(count)
          records &+= 1
          connection.pointee.traffic.lastWrite = network.now
          connection.pointee.link.stalledSince = nil
        case .full: return try stalled(connection, mustRead: false)
        case .needsReading: return try stalled(connection, mustRead: true)
        case .broken: return try broken(connection, network.failure(connection.pointee.link.number))
        }
      }
    }
  }

  private func isSentinelDue(_ connection: UnsafeMutablePointer<BinaryConnection>) -> Bool {
    guard options.usesSentinel, !connection.pointee.traffic.sentinel.isWhole else { return false }
    if connection.pointee.traffic.sentinel.isBegun || connection.pointee.isUnwelcome {
      return true
    }
    guard connection.pointee.window.hasInFlight else { return false }
    return connection.pointee.wantsProof && !connection.pointee.window.hasUnwritten
      || connection.pointee.window.flightNeedsProof || hasWrittenLast(connection)
  }

  /// Returns its size; the bytes are the same each time for the same connection.
  private mutating func encodeSentinel(
    _ connection: UnsafeMutablePointer<BinaryConnection>, _ frame: UnsafeMutableRawBufferPointer
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
      if !connection.pointee.traffic.sentinel.isBegun {
        connection.pointee.traffic.sentinel.begin(takeIdentifier(), size: size)
      }
      sentinel.identifier = connection.pointee.traffic.sentinel.identifier
      FrameEncoder.encode(sentinel, as: options.command, size: size, into: base)
      return size
    }
  }

  /// The gateway must answer a sentinel. If it does not, treat it as dead even if the connection
  /// looks open.
  @inline(never)
  private mutating func awaitAnswer(_ connection: UnsafeMutablePointer<BinaryConnection>)
    throws(Failure)
  {
    let due = connection.pointee.traffic.lastWrite &+ options.answerTimeout
    if network.now < due { return }
    // The process may have been suspended since the last look: what came until then counts.
    try receive(connection)
    if connection.pointee.phase == .open {
      log?.at(network.now).abandoned(
        connection.pointee.link, APNS_CAUSE_ANSWER_TIMEOUT, "no answer to what asks for proof")
      try connectionEnded(connection, nil)
    }
  }

  // MARK: Silence

  /// Without a sentinel: silence after the last write.
  @inline(never)
  private mutating func awaitSilence(
    _ connection: UnsafeMutablePointer<BinaryConnection>, isWanted: Bool
  ) throws(Failure) {
    if options.quietPeriod > 0 { return try awaitQuiet(connection) }
    guard isWanted && !connection.pointee.window.hasUnwritten || hasWrittenLast(connection),
      connection.pointee.window.hasInFlight
    else { return }
    // It proves nothing, and nothing else will ever come.
    try receive(connection)
    guard connection.pointee.phase == .open else { return }
    connection.pointee.window.giveUpWritten()
    connection.pointee.settled()
    if hasWrittenLast(connection) { close(connection) }
  }

  private mutating func awaitQuiet(_ connection: UnsafeMutablePointer<BinaryConnection>)
    throws(Failure)
  {
    while connection.pointee.window.hasInFlight {
      if connection.pointee.traffic.quietMark == nil {
        // Old notifications are proven even while more are written.
        guard
          !connection.pointee.window.hasUnwritten || connection.pointee.window.flightNeedsProof
            || connection.pointee.link.lastLook >= connection.pointee.proveDue
            || connection.pointee.traffic.isReplaced
        else { return }
        connection.pointee.traffic.quietMark = QuietMark(
          position: connection.pointee.window.written, time: connection.pointee.traffic.lastWrite)
      }
      guard let mark = connection.pointee.traffic.quietMark else { return }
      let quiet = mark.time &+ options.quietPeriod
      if network.now < quiet { return }
      // The process may have been suspended since the last look: what came until then counts.
      try receive(connection)
      // A packet that has begun is an answer too.
      guard connection.pointee.phase == .open, connection.pointee.traffic.packet.count == 0 else {
        return
      }
      connection.pointee.traffic.quietMark = nil
      connection.pointee.window.quietPeriodPassed(after: mark.position)
      connection.pointee.ambiguousEnds = 0
      connection.pointee.hasProven = true
      reconnects.achieved()
      if connection.pointee.window.hasInFlight {
        connection.pointee.settled()
        connection.pointee.wantsProof = connection.pointee.traffic.isReplaced
        connection.pointee.proveDue = later(mark.time, by: options.proveAfter)
      } else if hasWrittenLast(connection) {
        connection.pointee.settled()
        return close(connection)
      } else {
        provenByQuiet(connection)
      }
      // The flight was complete; the next one may be written.
      if connection.pointee.window.hasUnwritten { try write(connection, all: true) }
      guard connection.pointee.phase == .open else { return }
    }
  }

  /// Later writes count as if on a new connection. Not if the peer has refused a TLS record,
  /// because that must be offered again with at least as many bytes.
  func provenByQuiet(_ connection: UnsafeMutablePointer<BinaryConnection>) {
    connection.pointee.settled()
    guard connection.pointee.link.stalledSince == nil else {
      connection.pointee.proveDue = later(connection.pointee.link.lastLook, by: options.proveAfter)
      return
    }
    connection.pointee.traffic.firstWrite = nil
    connection.pointee.traffic.written = 0
  }

  /// Adds a span to a time; `max`, as either of them, means never.
  func later(_ time: Nanoseconds, by span: Nanoseconds) -> Nanoseconds {
    let (sum, overflow) = time.addingReportingOverflow(span)
    return overflow ? .max : sum
  }
}
