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
    let status = outbox.pointee.entries[slot].status
    if status < 200 { return unanswered(slot) }
    if status == 200 {
      // Only a 200 says that a connection achieved something: a service in trouble answers too.
      reconnects.achieved()
      return outbox.pointee.end(slot, as: .accepted)
    }
    let answer = self.answer(slot)
    let isSaidAgain = outbox.pointee.entries[slot].lastReason == answer.reason
    outbox.pointee.entries[slot].lastStatus = status
    outbox.pointee.entries[slot].lastReason = answer.reason
    let reject = answer.reason.reject
    switch answer.reason.remedy(answered: Int(status)) {
    case .reject: break
    case .unregistered: if status == 410 { noteGone(slot, since: answer.timestamp) }
    case .wait:
      if tryLater(slot) { return }
    case .reconnect:
      leaveConnection(slot)
      if tryLater(slot) { return }
    case .renewToken:
      if renewToken(slot) { return outbox.pointee.sendAgain(slot) }
    case .reconnectOnce:
      leaveConnection(slot)
      if !isSaidAgain, tryLater(slot) { return }
    }
    outbox.pointee.end(slot, as: .rejected(status: reject))
  }

  /// Schedules another try after a pause, which gets longer each time; false when that would be too
  /// late.
  private mutating func tryLater(_ slot: Int) -> Bool {
    let pause = outbox.pointee.pause(slot)
    let now = network.now
    let age = Self.second(now) &- outbox.pointee.entries[slot].takenAt
    guard age &+ pause <= options.retrySeconds else { return false }
    if let deadline = outbox.pointee.request(slot).deadline,
      csystem_unix_seconds() &+ Int64(pause) > deadline
    {
      return false
    }
    outbox.pointee.tryLater(slot)
    // The pause may be over already when the answer took long.
    wakeUp(at: outbox.pointee.entries[slot].sentAt &+ pause, now)
    return true
  }

  /// Notes a device for the feedback. `time` is in ms, and 0 when the service did not say.
  private mutating func noteGone(_ slot: Int, since time: Nanoseconds) {
    let seconds = time == 0 ? csystem_unix_seconds() : time / 1000
    gone.pointee.note(
      outbox.pointee.request(slot).token, timestamp: UInt32(clamping: seconds))
  }

  /// Whether there is a newer provider token than the one refused with this notification. Asked
  /// once for each.
  private mutating func renewToken(_ slot: Int) -> Bool {
    let entry = outbox.pointee.entries + slot
    guard !entry.pointee.hasNewToken else { return false }
    entry.pointee.hasNewToken = true
    let refused = entry.pointee.tokenGeneration
    return (try? tokens?.replace(&bearer, refused: refused)) == true
  }

  /// What the service said about a notification that it did not take.
  mutating func answer(_ slot: Int) -> AnswerBody {
    guard let text = outbox.pointee.entries[slot].body else {
      return AnswerBody(UnsafeRawBufferPointer(start: nil, count: 0))
    }
    return text.pointee.read { AnswerBody($0) }
  }

  /// Begins no more streams on the connection where this one was.
  private mutating func leaveConnection(_ slot: Int) {
    let number = Int(outbox.pointee.entries[slot].connection)
    // It may have been closed since, and its place may have a new one.
    guard number < channelCount, channels[number].phase == .open else { return }
    channels[number].http.pointee.leave()
  }

  /// The stream ended without an answer.
  private mutating func unanswered(_ slot: Int) {
    let entries = outbox.pointee.entries
    if entries[slot].isRefused {
      // The service has not looked at it; if that goes on, it gets time.
      if entries[slot].refusals <= 3 { return outbox.pointee.sendAgain(slot) }
      if tryLater(slot) { return }
    } else if options.resendsAmbiguous, entries[slot].doubts < FlightLimit.mostDoubts {
      return outbox.pointee.sendAgain(slot)
    }
    outbox.pointee.end(slot, as: .unknown)
  }
}
