import CAPNS

/// The gentle end of a session.
extension BinarySession where Net: ~Copyable {
  /// Writes what waits, with proof behind it, and listens until the gateway ends the
  /// connections too; what has no end then becomes unknown. False where the session may wait no
  /// longer in this call: the next one goes on.
  @discardableResult
  mutating func close(by deadline: Int64) -> Bool {
    guard !isClosed else { return true }
    let limit = options.limit(deadline, from: network.now)
    if !isLeaving {
      guard writeLast(by: limit, mayGoOn: limit < deadline) else { return false }
      isLeaving = true
    }
    while listen() {
      let now = network.now
      if now >= deadline { break }
      if now >= limit { return false }
      network.wait(until: limit)
    }
    for index in 0..<options.connections {
      close(lanes + index)
      lanes[index].window.abandon()
    }
    isClosed = true
    return true
  }

  /// Writes what can be written, and says that it was the last; false where that takes longer
  /// and another call may go on with it.
  private mutating func writeLast(by limit: Int64, mayGoOn: Bool) -> Bool {
    // What has no connection now gets none any more.
    for index in 0..<options.connections where lanes[index].use == .opening {
      close(lanes + index)
    }
    if hasConnection {
      for index in 0..<options.connections where lanes[index].use == .open {
        lanes[index].wantsProof = options.usesSentinel && !lanes[index].window.isEmpty
      }
      // What cannot be written any more ends as unknown, like all that has no end.
      do throws(Failure) {
        try pursue(.lastWriting, by: limit)
      } catch {
        if error.status == APNS_ERR_TIMEOUT, mayGoOn { return false }
      }
    }
    for index in 0..<options.connections {
      dropSpare(lanes + index)
      if lanes[index].use == .open { network.sayGoodbye(lanes[index].line.number) }
    }
    for index in 0..<options.connections where lanes[index].use == .open {
      try? hear(lanes + index)
    }
    return true
  }

  /// Hears the last words; false when nobody has any more to say.
  private mutating func listen() -> Bool {
    var isListening = false
    for index in 0..<options.connections where lanes[index].use == .open {
      try? hearIfDue(lanes + index)
      if lanes[index].use == .open {
        network.watch(lanes[index].line.number, for: .reading)
        isListening = true
      }
    }
    return isListening
  }
}
