import CAPNS

/// The gentle end of a session over HTTP/2.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// Sends what the open connections take, and hears the answers to it; what has none by
  /// the deadline ends as unknown. False where the session may wait no longer in this call: the
  /// next one goes on.
  @discardableResult
  mutating func close(by deadline: Int64) -> Bool {
    guard !isClosed else { return true }
    isLeaving = true
    let limit = options.limit(deadline, from: network.now)
    for number in 0..<laneCount where lanes[number].use == .opening { close(lanes + number) }
    if hasConnection {
      do throws(Failure) {
        try pursue(.lastAnswers, by: limit)
      } catch {
        if error.status == APNS_ERR_TIMEOUT, limit < deadline { return false }
      }
    }
    for number in 0..<laneCount where lanes[number].use == .open {
      lanes[number].http.pointee.sayGoodbye()
      _ = try? writeRecords(lanes + number)
      if lanes[number].use == .open { network.sayGoodbye(lanes[number].number) }
      close(lanes + number)
    }
    outbox.pointee.abandon()
    isClosed = true
    return true
  }
}
