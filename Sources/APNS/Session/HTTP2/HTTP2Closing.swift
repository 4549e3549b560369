import CAPNS

/// Closes an HTTP/2 session gracefully.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  mutating func leaveToParent() { network.silence() }

  func describePeer(in message: inout Message) { network.append(to: &message) }

  /// Sends as much as the open connections take and reads the responses. Notifications without one
  /// by the deadline become unknown. False if this call may wait no longer: the next one continues.
  @discardableResult
  mutating func close(by deadline: Nanoseconds) -> Bool {
    guard !isClosed else { return true }
    isLeaving = true
    var deadline = deadline
    if options.neverWaits {
      // The first call's deadline counts.
      deadline = standing.closeBy ?? deadline
      standing.closeBy = deadline
      standing.goal = .leaving
    }
    let limit = options.limit(deadline, from: network.now)
    for number in 0..<channelCount where channels[number].phase == .opening {
      close(channels + number)
    }
    // A draining connection may still bring responses.
    if getsOn {
      do throws(Failure) {
        if try !run(until: .leaving, by: limit), network.now < limit { return false }
      } catch {
        if error.status == APNS_ERR_TIMEOUT, error.cause != APNS_CAUSE_PROVIDER_TOKEN,
          limit < deadline
        {
          return false
        }
      }
    }
    leaveConnections()
    reconnects.ended(
      reconnects.reason.failure, otherwise: "the session was closed before an answer came")
    outbox.pointee.abandon()
    isClosed = true
    log?.at(network.now).closed(self)
    if options.neverWaits { network.arm(until: .max) }
    return true
  }

  /// Sends GOAWAY on every open connection and closes it.
  private mutating func leaveConnections() {
    for number in 0..<channelCount where channels[number].phase == .open {
      leave(channels + number)
    }
  }

  private mutating func leave(_ channel: UnsafeMutablePointer<HTTP2Channel>) {
    channel.pointee.http.pointee.sayGoodbye()
    _ = try? writeRecords(channel)
    if channel.pointee.phase == .open { network.sayGoodbye(channel.pointee.number) }
    close(channel)
  }

  /// Abandons unresolved notifications, and the connections that may still bring responses to them.
  mutating func giveUp() {
    for number in 0..<channelCount where channels[number].phase == .opening {
      close(channels + number)
    }
    leaveConnections()
    outbox.pointee.abandon()
    while outbox.pointee.takeOutcome() != nil {}
  }

  /// Before a request that cannot be repeated: reconnects connections that were silent for
  /// `longest`, because they may be cut, and reads the others' end if it has come.
  mutating func lookAtConnections(silentFor longest: Nanoseconds) {
    let now = network.now
    for number in 0..<channelCount where channels[number].phase == .open {
      if now &- channels[number].lastRead > longest {
        leave(channels + number)
      } else {
        channels[number].isUnread = true
      }
    }
  }
}
