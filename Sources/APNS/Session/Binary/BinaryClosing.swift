import CAPNS

/// The gentle end of a session.
extension BinarySession where Net: ~Copyable {
  mutating func leaveToParent() { network.silence() }

  func describePeer(in message: inout Message) { network.append(to: &message) }

  mutating func close(milliseconds: Int32) -> Bool {
    close(by: deadline(milliseconds: milliseconds))
  }

  /// Writes what waits, with proof behind it, and reads until the gateway ends the connections too.
  /// What has no end then becomes unknown. False when this call may wait no longer: the next call
  /// continues.
  @discardableResult
  mutating func close(by deadline: Nanoseconds) -> Bool {
    guard !isClosed else { return true }
    var deadline = deadline
    if options.neverWaits {
      // The first call's deadline counts.
      deadline = standing.closeBy ?? deadline
      standing.closeBy = deadline
      standing.goal = .leaving
    }
    let limit = options.limit(deadline, from: network.now)
    if !isLeaving {
      guard writeLast(by: limit, mayGoOn: limit < deadline) else { return false }
      isLeaving = true
    }
    while listen() {
      let now = network.now
      expire()
      if now >= deadline { break }
      if options.neverWaits {
        network.arm(until: min(deadline, nextDeadline))
        return false
      }
      if now >= limit { return false }
      network.wait(until: min(limit, nextDeadline))
    }
    reconnects.ended(
      reconnects.reason.failure, otherwise: "the session was closed before it was proven")
    for index in 0..<options.connections {
      close(channels + index)
      channels[index].window.abandon()
    }
    isClosed = true
    log?.at(network.now).closed(self)
    if options.neverWaits { network.arm(until: .max) }
    return true
  }

  /// Writes what can be written and says that it was the last. False when that takes longer and
  /// another call may continue.
  private mutating func writeLast(by limit: Nanoseconds, mayGoOn: Bool) -> Bool {
    // A connection that is not open yet is given up, and no other is needed any more.
    for index in 0..<options.connections {
      dropSpare(channels + index)
      if channels[index].phase == .opening { close(channels + index) }
    }
    if hasConnection {
      for index in 0..<options.connections where channels[index].phase == .open {
        channels[index].wantsProof = options.usesSentinel && !channels[index].window.isEmpty
      }
      // What cannot be written ends as unknown, like everything without an end.
      do throws(Failure) {
        if try !run(until: .leaving, by: limit), network.now < limit { return false }
      } catch {
        if error.status == APNS_ERR_TIMEOUT, mayGoOn { return false }
      }
    }
    for index in 0..<options.connections where channels[index].phase == .open {
      network.sayGoodbye(channels[index].connection.number)
    }
    for index in 0..<options.connections where channels[index].phase == .open {
      try? receive(channels + index)
    }
    return true
  }

  /// Reads what the gateway still says; false when every connection has ended.
  private mutating func listen() -> Bool {
    var isListening = false
    for index in 0..<options.connections where channels[index].phase == .open {
      try? receiveIfDue(channels + index)
      if channels[index].phase == .open {
        network.watch(channels[index].connection.number, for: .reading)
        isListening = true
      }
    }
    return isListening
  }
}
