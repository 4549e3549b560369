import CAPNS
import CSystem

/// The effect of a response, or of a missing one, on the notification. These functions are
/// `mutating` because others would get a copy of the whole session.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// Decides about every stream that has ended; false if none has.
  @discardableResult
  mutating func takeResponses() -> Bool {
    var isAny = false
    while let slot = outbox.pointee.takeResponded() {
      resolve(slot)
      isAny = true
    }
    return isAny
  }

  @inline(never)
  private mutating func resolve(_ slot: Int) {
    let status = outbox.pointee.status(slot)
    if status < 200 { return unanswered(slot) }
    outbox.pointee.metrics.noteResponse(after: outbox.pointee.flightTime(slot, until: heardAt))
    guard status == 200 else { return resolve(slot, by: status) }
    // Only a 200 makes a connection productive: a failing server answers too.
    reconnects.achieved()
    hasLeftInVain = false
    outbox.pointee.end(slot, as: .accepted)
  }

  /// The status of the response is not 200.
  @inline(never)
  private mutating func resolve(_ slot: Int, by status: UInt16) {
    if status < 300 {
      if outbox.pointee.whole != nil {
        reconnects.achieved()
        return outbox.pointee.end(slot, as: .accepted)
      }
      // APNs never sends this response. It does not mean that the notification was rejected, and if
      // APNs accepted it, resending would make a duplicate.
      outbox.pointee.note(.none, slot)
      return outbox.pointee.end(slot, as: .unknown)
    }
    let response = outbox.pointee.readResponse(slot)
    let metrics = outbox.pointee.metrics
    metrics.noteResponse(status: Int(status), reason: response.reason.number)
    // Taken back below if it is not resent.
    metrics.pointee.retries_asked &+= 1
    switch response.reason.remedy(httpStatus: Int(status)) {
    case .reject: break
    case .unregistered: if status == 410 { noteGone(slot, since: response.goneSince) }
    case .wait:
      if tryLater(slot, response.reason, isServerError: status >= 500) { return }
    case .reconnect:
      drainConnection(slot)
      if tryLater(slot, response.reason) { return }
    case .renewToken:
      log?.at(network.now).tokenRefused(response.reason)
      if renewToken(slot) { return outbox.pointee.sendAgain(slot) }
    case .reconnectOnce:
      // If the next connection reports the same before anything was accepted, the one after it
      // would too.
      if !hasLeftInVain { drainConnection(slot) }
      hasLeftInVain = true
      if !response.isRepeated, tryLater(slot, response.reason) { return }
    }
    metrics.pointee.retries_asked &-= 1
    metrics.noteRejection(reason: response.reason.number)
    outbox.pointee.end(slot, as: .rejected(status: response.reason.reject))
  }

  /// Schedules a retry after a pause, which gets longer each time and is at least as long as APNs
  /// requests; false if that would be too late. After a server error the pause is longer than after
  /// a rejection of one device or a closed connection.
  private mutating func tryLater(
    _ slot: Int, _ reason: Reason = .none, isServerError: Bool = false
  ) -> Bool {
    if outbox.pointee.isCancelled(slot) { return false }
    let tries = outbox.pointee.tries(slot)
    let pause = max(
      isServerError ? options.serverErrorSchedule[tries] : options.retrySchedule[tries],
      outbox.pointee.retryAfter(slot))
    let now = network.now
    let age = outbox.pointee.age(slot, at: now)
    guard age &+ Milliseconds(pause) &* 1000 <= options.retryTimeout else { return false }
    if let expiry = outbox.pointee.request(slot).expiresAt,
      csystem_unix_seconds() &+ Int64(pause) > expiry
    {
      return false
    }
    log?.at(now).later(reason, status: outbox.pointee.status(slot), seconds: Int(pause))
    outbox.pointee.tryLater(slot, at: now &+ Nanoseconds(pause) &* 1_000_000_000)
    return true
  }

  /// Notes a device for the feedback. `time` is 0 if it is not in the response.
  private mutating func noteGone(_ slot: Int, since time: UNIXMilliseconds) {
    guard outbox.pointee.request(slot).purpose == .device else { return }
    let seconds = time == 0 ? csystem_unix_seconds() : time / 1000
    gone.pointee.note(
      outbox.pointee.request(slot).token, timestamp: UInt32(clamping: seconds))
  }

  /// Whether there is a newer provider token than the one refused with this notification. Asked
  /// once for each.
  private mutating func renewToken(_ slot: Int) -> Bool {
    guard !outbox.pointee.isCancelled(slot), !outbox.pointee.isDue(slot, at: network.lately),
      let refused = outbox.pointee.takeRefusedToken(slot)
    else { return false }
    // The session's credentials are others by now.
    if refused == Outbox.replacedToken { return true }
    return (try? tokens?.replace(&bearer, refused: refused)) == true
  }

  /// Starts no more streams on the connection of this one.
  private mutating func drainConnection(_ slot: Int) {
    let number = outbox.pointee.connection(slot)
    // It may have been closed since, and its place may have a new one.
    guard number < connectionCount, connections[number].phase == .open else { return }
    connections[number].codec.pointee.drain()
  }

  /// The stream ended without a response.
  private mutating func unanswered(_ slot: Int) {
    if outbox.pointee.isCancelled(slot) { return outbox.pointee.endCancelled(slot) }
    if endIfDue(slot) { return }
    if outbox.pointee.isRefused(slot) {
      // Each time it may have arrived all the same.
      let turnedAway = outbox.pointee.turnedAway(slot)
      if turnedAway &+ outbox.pointee.doubts(slot) >= FlightLimit.maxInDoubt {
        reconnects.ended(nil, otherwise: "five connections took it and ended by GOAWAY")
        return outbox.pointee.end(slot, as: .unknown)
      }
      outbox.pointee.metrics.pointee.resends_unprocessed &+= 1
      // APNs has not processed it; if this happens repeatedly, wait.
      if outbox.pointee.refusals(slot) <= 3 {
        if turnedAway > 1, tryLater(slot) { return }
        sentAgain &+= 1
        return outbox.pointee.sendAgain(slot)
      }
      if tryLater(slot) { return }
      outbox.pointee.metrics.pointee.resends_unprocessed &-= 1
    } else if options.resendsInDoubt, outbox.pointee.doubts(slot) < FlightLimit.maxInDoubt,
      outbox.pointee.mayRepeat
    {
      sentAgain &+= 1
      outbox.pointee.metrics.pointee.resends_in_doubt &+= 1
      return outbox.pointee.sendAgain(slot)
    }
    noteEnd(slot)
    outbox.pointee.end(slot, as: .unknown)
  }

  /// Where the connection has not ended, its stream has.
  private mutating func noteEnd(_ slot: Int) {
    let number = outbox.pointee.connection(slot)
    guard number < connectionCount, connections[number].phase == .open else { return }
    let why: StaticString
    if outbox.pointee.isRefused(slot) {
      why = "the service refused its stream each time"
    } else if outbox.pointee.isReset(slot) {
      why = "the service reset the stream or gave no whole answer"
    } else {
      why = "no answer to it came within answer_timeout_ms"
    }
    reconnects.ended(nil, otherwise: why)
  }
}
