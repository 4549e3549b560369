import CAPNS

/// Log lines about connections, over either protocol.
extension UnsafeMutablePointer<SessionLog> {
  @inline(never)
  func connecting<Net: Network & ~Copyable>(
    _ connection: SessionLink, isStandby: Bool, on network: borrowing Net
  ) {
    guard begin(LogLine(APNS_LOG_KIND_CONNECTING, APNS_LOG_DEBUG, on: connection.serial)) else {
      return
    }
    append("connecting", isStandby: isStandby, to: network)
    put()
  }

  @inline(never)
  func connected<Net: Network & ~Copyable>(
    _ connection: SessionLink, isStandby: Bool, on network: borrowing Net
  ) {
    var line = LogLine(APNS_LOG_KIND_CONNECTED, APNS_LOG_INFO, on: connection.serial)
    line.isResumed = network.isResumed(connection.number)
    line.milliseconds = Int((network.now &- connection.openedAt) / 1_000_000)
    let (milliseconds, isResumed) = (line.milliseconds, line.isResumed)
    guard begin(line) else { return }
    append("connected", isStandby: isStandby, to: network)
    network.append(wayTo: connection.number, to: &pointee.words)
    pointee.words.append(" in ")
    pointee.words.append(milliseconds)
    pointee.words.append(" ms")
    if isResumed { pointee.words.append(", TLS session resumed") }
    put()
  }

  @inline(never)
  private func append<Net: Network & ~Copyable>(
    _ verb: StaticString, isStandby: Bool, to network: borrowing Net
  ) {
    pointee.words.append(verb)
    if isStandby { pointee.words.append(", as a standby,") }
    pointee.words.append(" to ")
    network.append(to: &pointee.words)
  }

  /// It could not be opened.
  @inline(never)
  func refused(_ connection: SessionLink, isStandby: Bool, _ failure: Failure) {
    let level = failure.refusesProvider ? APNS_LOG_ERROR : APNS_LOG_WARNING
    guard begin(LogLine(APNS_LOG_KIND_CONNECT_FAILED, level, on: connection.serial)) else { return }
    let what: StaticString = isStandby ? "no standby connection" : "no connection"
    pointee.words.append(what)
    put(because: failure)
  }

  /// It was open. `inFlight`: what it had not answered. A time that was exceeded and rules that were
  /// broken are why the session, not the peer, ended it.
  @inline(never)
  func ended(_ connection: SessionLink, _ failure: Failure?, inFlight: Int) {
    let isGivenUp = failure?.status == APNS_ERR_TIMEOUT || failure?.status == APNS_ERR_PROTOCOL
    let refuses = failure?.refusesProvider ?? false
    var line = LogLine(
      refuses
        ? APNS_LOG_KIND_CONNECT_FAILED
        : isGivenUp ? APNS_LOG_KIND_ABANDONED : APNS_LOG_KIND_DISCONNECTED,
      refuses
        ? APNS_LOG_ERROR
        : isGivenUp || inFlight > 0 || failure != nil ? APNS_LOG_WARNING : APNS_LOG_INFO,
      on: connection.serial)
    line.count = inFlight
    if failure == nil { line.cause = APNS_CAUSE_CONNECTION_LOST }
    guard begin(line) else { return }
    let what: StaticString =
      refuses
      ? "the provider is refused, with "
      : isGivenUp ? "given up with " : failure == nil ? "the peer ended it with " : "ended with "
    pointee.words.append(what)
    pointee.words.append(inFlight)
    pointee.words.append(" in flight")
    put(because: failure)
  }

  /// The session closes the connection for the given reason.
  @inline(never)
  func abandoned(_ connection: SessionLink, _ cause: apns_cause_t, _ reason: StaticString) {
    var line = LogLine(APNS_LOG_KIND_ABANDONED, APNS_LOG_WARNING, on: connection.serial)
    line.cause = cause
    guard begin(line) else { return }
    pointee.words.append("given up: ")
    pointee.words.append(reason)
    put()
  }

  @inline(never)
  func asked(_ connection: SessionLink, _ question: StaticString) {
    guard begin(LogLine(APNS_LOG_KIND_PING, APNS_LOG_DEBUG, on: connection.serial)) else { return }
    pointee.words.append(question)
    put()
  }

  /// No connection is made before that time. Said once for each pause.
  @inline(never)
  func pausing(_ reconnects: inout Reconnects, until earliest: Nanoseconds, from now: Nanoseconds) {
    guard reconnects.toldPause != earliest, earliest > now else { return }
    reconnects.toldPause = earliest
    let unproductive = reconnects.unproductive
    var line = LogLine(APNS_LOG_KIND_BACKOFF, APNS_LOG_NOTICE)
    line.cause = APNS_CAUSE_RECONNECT_PAUSE
    line.milliseconds = Int((earliest &- now) / 1_000_000)
    let milliseconds = line.milliseconds
    guard begin(line) else { return }
    pointee.words.append("no connection is made for ")
    pointee.words.append(milliseconds)
    pointee.words.append(" ms, ")
    if unproductive > 0 {
      pointee.words.append("after ")
      pointee.words.append(unproductive)
      pointee.words.append(" that achieved nothing")
    } else {
      pointee.words.append("because connects_per_minute is reached")
    }
    put()
  }

  /// They were in flight when their connection ended, or the peer discarded them.
  @inline(never)
  func resent(_ count: UInt64, unknown: UInt64 = 0, on connection: UInt32) {
    guard count > 0 || unknown > 0 else { return }
    var line = LogLine(APNS_LOG_KIND_RESENT, APNS_LOG_NOTICE, on: connection)
    line.count = Int(clamping: count)
    guard begin(line) else { return }
    pointee.words.append(count)
    pointee.words.append(" notifications in flight are sent again")
    if unknown > 0 {
      pointee.words.append(", ")
      pointee.words.append(unknown)
      pointee.words.append(" end as unknown")
    }
    put()
  }

  /// They reached their deadlines.
  @inline(never)
  func due(safe: UInt64, inDoubt: UInt64) {
    var line = LogLine(APNS_LOG_KIND_TIMEOUT, APNS_LOG_WARNING)
    line.count = Int(clamping: safe &+ inDoubt)
    guard begin(line) else { return }
    pointee.words.append("deadlines passed: ")
    pointee.words.append(safe)
    pointee.words.append(" notifications did not arrive, ")
    pointee.words.append(inDoubt)
    pointee.words.append(" end as unknown")
    put()
  }

  /// A send waits for room, or the caller has to make it by taking outcomes.
  @inline(never)
  func full(_ count: Int, needsCaller: Bool) {
    var line = LogLine(APNS_LOG_KIND_FULL, needsCaller ? APNS_LOG_NOTICE : APNS_LOG_INFO)
    line.count = count
    guard begin(line) else { return }
    pointee.words.append("the window is full: ")
    pointee.words.append(count)
    let rest: StaticString =
      needsCaller ? " outcomes wait to be taken" : " notifications wait for their outcome"
    pointee.words.append(rest)
    put()
  }

  @inline(never)
  func closed(_ session: borrowing some ProviderSession & ~Copyable) {
    var stats = apns_session_stats_t()
    session.count(into: &stats)
    let line = LogLine(APNS_LOG_KIND_CLOSED, APNS_LOG_INFO)
    guard begin(line) else { return }
    pointee.words.append("closed after ")
    pointee.words.append(stats.connects)
    pointee.words.append(" connections: ")
    pointee.words.append(stats.taken)
    pointee.words.append(" notifications, ")
    pointee.words.append(stats.accepted)
    pointee.words.append(" accepted, ")
    pointee.words.append(stats.rejected)
    pointee.words.append(" rejected, ")
    pointee.words.append(stats.unknown)
    pointee.words.append(" unknown, ")
    pointee.words.append(stats.resent)
    pointee.words.append(" sent again")
    put()
  }

  /// The session was freed before these had an outcome.
  @inline(never)
  func freed(_ count: UInt64) {
    var line = LogLine(APNS_LOG_KIND_CLOSED, APNS_LOG_ERROR)
    line.count = Int(clamping: count)
    guard begin(line) else { return }
    pointee.words.append("the session ended, and ")
    pointee.words.append(count)
    pointee.words.append(" notifications have no outcome")
    put()
  }
}
