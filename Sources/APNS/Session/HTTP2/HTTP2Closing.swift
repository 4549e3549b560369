import CAPNS

/// Closes an HTTP/2 session gracefully.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  mutating func silence() { network.silence() }

  func describePeer(in message: inout Message) { network.append(to: &message) }

  /// Sends as much as the open connections take and reads the responses.
  mutating func end(by deadline: Nanoseconds, waitingUntil limit: Nanoseconds) -> Bool {
    isShuttingDown = true
    for number in 0..<connectionCount where connections[number].phase == .opening {
      close(connections + number)
    }
    // A draining connection may still bring responses.
    if getsOn {
      do throws(Failure) {
        if try !run(until: .closing, by: limit), network.now < limit { return false }
      } catch {
        if error.status == APNS_ERR_TIMEOUT, error.cause != APNS_CAUSE_PROVIDER_TOKEN,
          limit < deadline
        {
          return false
        }
      }
    }
    closeConnections()
    reconnects.ended(
      reconnects.reason.failure, otherwise: "the session was closed before an answer came")
    outbox.pointee.abandon()
    if options.neverWaits { network.arm(until: .max) }
    return true
  }

  /// Sends GOAWAY on every open connection and closes it.
  private mutating func closeConnections() {
    for number in 0..<connectionCount where connections[number].phase == .open {
      closeGracefully(connections + number)
    }
  }

  private mutating func closeGracefully(_ connection: UnsafeMutablePointer<HTTP2Connection>) {
    connection.pointee.codec.pointee.sendGoaway()
    _ = try? writeRecords(connection)
    if connection.pointee.phase == .open { network.halfClose(connection.pointee.number) }
    close(connection)
  }

  /// Abandons unresolved notifications, and the connections that may still bring responses to them.
  mutating func giveUp() {
    for number in 0..<connectionCount where connections[number].phase == .opening {
      close(connections + number)
    }
    closeConnections()
    outbox.pointee.abandon()
    while outbox.pointee.takeOutcome() != nil {}
  }

  /// Before a request that cannot be repeated: reconnects connections that were silent for
  /// `maximum`, because they may be cut, and reads the others' end if it has come.
  mutating func lookAtConnections(silentFor maximum: Nanoseconds) {
    let now = network.now
    for number in 0..<connectionCount where connections[number].phase == .open {
      if now &- connections[number].lastRead > maximum {
        closeGracefully(connections + number)
      } else {
        connections[number].isUnread = true
      }
    }
  }
}
