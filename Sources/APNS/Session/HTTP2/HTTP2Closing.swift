import CAPNS

/// The gentle end of a session over HTTP/2.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// Sends what the open connections take and reads the answers. What has no answer by the deadline
  /// ends as unknown. False when this call may wait no longer: the next call continues.
  @discardableResult
  mutating func close(by deadline: Nanoseconds) -> Bool {
    guard !isClosed else { return true }
    isLeaving = true
    let limit = options.limit(deadline, from: network.now)
    for number in 0..<channelCount where channels[number].phase == .opening {
      close(channels + number)
    }
    if hasConnection {
      do throws(Failure) {
        try run(until: .lastAnswers, by: limit)
      } catch {
        if error.status == APNS_ERR_TIMEOUT, limit < deadline { return false }
      }
    }
    for number in 0..<channelCount where channels[number].phase == .open {
      channels[number].http.pointee.sayGoodbye()
      _ = try? writeRecords(channels + number)
      if channels[number].phase == .open { network.sayGoodbye(channels[number].number) }
      close(channels + number)
    }
    outbox.pointee.abandon()
    isClosed = true
    return true
  }
}
