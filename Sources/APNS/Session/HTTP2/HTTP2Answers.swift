import CAPNS
import CSystem

/// What an answer, or a missing one, means for the notification. These functions are `mutating`
/// because others would get a copy of the whole session.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// Decides about every stream that has ended; false when there is none.
  @discardableResult
  mutating func judgeAnswered() -> Bool {
    var isAny = false
    while let slot = outbox.pointee.takeAnswered() {
      judge(slot)
      isAny = true
    }
    return isAny
  }

  @inline(never)
  private mutating func judge(_ slot: Int) {
    let status = outbox.pointee.status(slot)
    if status < 200 { return unanswered(slot) }
    let metrics = outbox.pointee.metrics
    metrics.noteAnswer(after: outbox.pointee.flightTime(slot, until: heardAt))
    if status == 200 {
      // Only a 200 says that a connection achieved something: a service in trouble answers too.
      reconnects.achieved()
      hasLeftInVain = false
      return outbox.pointee.end(slot, as: .accepted)
    }
    if status < 300 {
      if outbox.pointee.whole != nil {
        reconnects.achieved()
        return outbox.pointee.end(slot, as: .accepted)
      }
      // APNs has no such answer. It is no refusal; and whoever took the notification would get it
      // twice if it were sent again.
      outbox.pointee.note(.none, slot)
      return outbox.pointee.end(slot, as: .unknown)
    }
    let answer = outbox.pointee.readAnswer(slot)
    metrics.noteAnswer(status: Int(status), reason: answer.reason.number)
    // Taken back below if it is not sent again.
    metrics.pointee.retries_asked &+= 1
    switch answer.reason.remedy(answered: Int(status)) {
    case .reject: break
    case .unregistered: if status == 410 { noteGone(slot, since: answer.goneSince) }
    case .wait:
      if tryLater(slot, answer.reason, isServerError: status >= 500) { return }
    case .reconnect:
      leaveConnection(slot)
      if tryLater(slot, answer.reason) { return }
    case .renewToken:
      log?.at(network.now).tokenRefused(answer.reason)
      if renewToken(slot) { return outbox.pointee.sendAgain(slot) }
    case .reconnectOnce:
      // If the next connection says the same before anything was accepted, the one after it would
      // too.
      if !hasLeftInVain { leaveConnection(slot) }
      hasLeftInVain = true
      if !answer.isRepeated, tryLater(slot, answer.reason) { return }
    }
    metrics.pointee.retries_asked &-= 1
    metrics.noteRejection(reason: answer.reason.number)
    outbox.pointee.end(slot, as: .rejected(status: answer.reason.reject))
  }

  /// Schedules another try after a pause, which gets longer each time, and is no shorter than the
  /// service asks; false when that would be too late. A service in trouble gets more time than one
  /// that turns a single device away or closes a connection.
  private mutating func tryLater(
    _ slot: Int, _ reason: Reason = .none, isServerError: Bool = false
  ) -> Bool {
    if outbox.pointee.isCancelled(slot) { return false }
    let tries = outbox.pointee.tries(slot)
    let pause = max(
      isServerError ? options.serverErrorSchedule[tries] : options.retrySchedule[tries],
      outbox.pointee.retryAfter(slot))
    let now = network.now
    let age = outbox.pointee.age(slot, at: Self.second(now))
    guard age &+ pause <= options.retrySeconds else { return false }
    if let expiry = outbox.pointee.request(slot).expiresAt,
      csystem_unix_seconds() &+ Int64(pause) > expiry
    {
      return false
    }
    log?.at(now).later(reason, status: outbox.pointee.status(slot), seconds: Int(pause))
    // The first whole second behind the pause.
    let due = Self.second(now &+ 999_999_999) &+ pause
    outbox.pointee.tryLater(slot, at: due)
    return true
  }

  /// Notes a device for the feedback. `time` is 0 when the service did not say.
  private mutating func noteGone(_ slot: Int, since time: UNIXMilliseconds) {
    guard outbox.pointee.request(slot).isForDevice else { return }
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

  /// Begins no more streams on the connection where this one was.
  private mutating func leaveConnection(_ slot: Int) {
    let number = outbox.pointee.connection(slot)
    // It may have been closed since, and its place may have a new one.
    guard number < channelCount, channels[number].phase == .open else { return }
    channels[number].http.pointee.leave()
  }

  /// The stream ended without an answer.
  private mutating func unanswered(_ slot: Int) {
    if outbox.pointee.isCancelled(slot) { return outbox.pointee.endCancelled(slot) }
    if endIfDue(slot) { return }
    if outbox.pointee.isRefused(slot) {
      // Each time it may have arrived all the same.
      let turnedAway = outbox.pointee.turnedAway(slot)
      if turnedAway &+ outbox.pointee.doubts(slot) >= FlightLimit.mostDoubts {
        reconnects.ended(nil, otherwise: "five connections took it and ended by GOAWAY")
        return outbox.pointee.end(slot, as: .unknown)
      }
      outbox.pointee.metrics.pointee.resends_unprocessed &+= 1
      // The service has not looked at it; if that goes on, it gets time.
      if outbox.pointee.refusals(slot) <= 3 {
        if turnedAway > 1, tryLater(slot) { return }
        sentAgain &+= 1
        return outbox.pointee.sendAgain(slot)
      }
      if tryLater(slot) { return }
      outbox.pointee.metrics.pointee.resends_unprocessed &-= 1
    } else if options.resendsInDoubt, outbox.pointee.doubts(slot) < FlightLimit.mostDoubts,
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
    guard number < channelCount, channels[number].phase == .open else { return }
    let why: StaticString
    if outbox.pointee.isRefused(slot) {
      why = "the service refused its stream each time"
    } else if outbox.pointee.entry(slot).pointee.isReset {
      why = "the service reset the stream or gave no whole answer"
    } else {
      why = "no answer to it came within answer_timeout_ms"
    }
    reconnects.ended(nil, otherwise: why)
  }
}
