import CAPNS

/// Closes a session gracefully.
extension BinarySession where Net: ~Copyable {
  mutating func silence() { network.silence() }

  func describePeer(in message: inout Message) { network.append(to: &message) }

  /// Writes all queued notifications, then requests proof, and reads until the gateway closes
  /// the connections too.
  mutating func end(by deadline: Nanoseconds, waitingUntil limit: Nanoseconds) -> Bool {
    if !isShuttingDown {
      guard writeLast(by: limit, mayGoOn: limit < deadline) else { return false }
      isShuttingDown = true
    }
    while listen() {
      let now = network.now
      expireAndDeliver()
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
      close(connections + index)
      connections[index].window.abandon()
    }
    if options.neverWaits { network.arm(until: .max) }
    return true
  }

  /// Writes as much as possible and closes writing. False if that takes longer and another call may
  /// continue.
  private mutating func writeLast(by limit: Nanoseconds, mayGoOn: Bool) -> Bool {
    // Abandons connections that are not open yet; no other is needed any more.
    for index in 0..<options.connections {
      dropStandby(connections + index)
      if connections[index].phase == .opening { close(connections + index) }
    }
    if hasConnection {
      for index in 0..<options.connections where connections[index].phase == .open {
        connections[index].wantsProof = options.usesSentinel && !connections[index].window.isEmpty
      }
      // Unwritten notifications become unknown, like every unresolved one.
      do throws(Failure) {
        if try !run(until: .closing, by: limit), network.now < limit { return false }
      } catch {
        if error.status == APNS_ERR_TIMEOUT, mayGoOn { return false }
      }
    }
    for index in 0..<options.connections where connections[index].phase == .open {
      network.halfClose(connections[index].link.number)
    }
    for index in 0..<options.connections where connections[index].phase == .open {
      try? receive(connections + index)
    }
    return true
  }

  /// Reads the gateway's remaining data; false if every connection has ended.
  private mutating func listen() -> Bool {
    var isListening = false
    for index in 0..<options.connections where connections[index].phase == .open {
      try? receiveIfDue(connections + index)
      if connections[index].phase == .open {
        network.watch(connections[index].link.number, for: .reading)
        isListening = true
      }
    }
    return isListening
  }
}
