import CAPNS

/// What the caller is told: outcomes and counts.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// Whether an outcome can be taken; false when none came by the deadline. With `milliseconds` 0
  /// nothing is sent and no connection is made.
  mutating func awaitOutcome(milliseconds: Int32) throws(Failure) -> Bool {
    if hasOutcome { return true }
    if isClosed { return false }
    if milliseconds == 0 {
      for number in 0..<channelCount where channels[number].phase == .open {
        if network.hasNews(channels[number].number) { try receive(channels + number) }
        // What HTTP/2 itself has to send, such as acknowledgements.
        if channels[number].phase == .open { _ = try writeRecords(channels + number) }
      }
      return hasOutcome
    }
    let deadline = deadline(milliseconds: milliseconds)
    do throws(Failure) {
      try run(until: .outcome, by: deadline)
    } catch {
      // It is no failure that no outcome came in time, but it is one that nothing could be sent.
      let isStuck =
        outbox.pointee.inFlight == 0 && outbox.pointee.isDue(at: Self.second(network.now))
      if error.status != APNS_ERR_TIMEOUT || isStuck { throw error }
    }
    return hasOutcome
  }

  /// Fills in what the service said about the notification.
  mutating func tellAnswer(_ slot: Int, _ event: inout apns_event_t) {
    let entry = outbox.pointee.entries + slot
    if entry.pointee.outcome == .unknown { return tellLastAnswer(entry, &event) }
    event.http_status = entry.pointee.status
    if !UUIDText.isZero(entry.pointee.id) {
      withUnsafeMutableBytes(of: &event.apns_id) {
        guard let text = $0.baseAddress, $0.count > UUIDText.count else { return }
        UUIDText.write(
          entry.pointee.id, to: text.bindMemory(to: UInt8.self, capacity: UUIDText.count))
      }
    }
    guard entry.pointee.status != 200 else { return }
    let answer = answer(slot)
    event.reason = Int32(answer.reason.number)
    event.timestamp = answer.timestamp / 1000
    withUnsafeMutableBytes(of: &event.reason_text) { answer.text.copy(to: $0) }
  }

  /// For a notification whose outcome is unknown: why the service last put it off, if it did.
  private func tellLastAnswer(
    _ entry: UnsafeMutablePointer<OutboxEntry>, _ event: inout apns_event_t
  ) {
    event.http_status = entry.pointee.lastStatus
    event.reason = Int32(entry.pointee.lastReason.number)
    guard let text = entry.pointee.lastReason.text else { return }
    withUnsafeMutableBytes(of: &event.reason_text) {
      for index in 0..<min(text.count, $0.count &- 1) { $0[index] = text[index] }
    }
  }

  /// Fills in the counts for the caller.
  func count(into stats: inout apns_session_stats_t) {
    stats.connects = connects
    stats.bytes = bytes
    stats.records = records
    stats.taken = outbox.pointee.taken
    stats.accepted = outbox.pointee.accepted
    stats.rejected = outbox.pointee.rejected
    stats.unknown = outbox.pointee.unknown
    stats.resent = outbox.pointee.resent
    stats.unresolved = UInt64(outbox.pointee.unresolved.magnitude)
    stats.events = UInt64(outbox.pointee.waitingOutcomes.magnitude)
    stats.window = UInt64(outbox.pointee.live.magnitude)
    stats.in_flight = UInt64(outbox.pointee.inFlight.magnitude)
    stats.first_unresolved = outbox.pointee.firstUnresolved ?? 0
  }
}
