import CAPNS

/// Log lines that only HTTP/2 sessions have.
extension UnsafeMutablePointer<SessionLog> {
  @inline(never)
  func timedOut(_ count: Int, _ timeout: Nanoseconds, on connection: SessionLink) {
    var line = LogLine(APNS_LOG_KIND_TIMEOUT, APNS_LOG_WARNING, on: connection.serial)
    line.cause = APNS_CAUSE_ANSWER_TIMEOUT
    line.count = count
    guard begin(line) else { return }
    pointee.words.append(count)
    pointee.words.append(" answers did not come within ")
    pointee.words.append(Int(timeout / 1_000_000))
    pointee.words.append(" ms: their streams are cancelled")
    put()
  }

  /// APNs requested a retry.
  @inline(never)
  func later(_ reason: Reason, status: UInt16, seconds: Int) {
    var line = LogLine(APNS_LOG_KIND_RETRY, APNS_LOG_NOTICE)
    line.count = 1
    line.milliseconds = seconds &* 1000
    guard begin(line) else { return }
    if status != 0 {
      pointee.words.append("the service answered ")
      pointee.words.append(UInt32(status))
      if let text = reason.text {
        pointee.words.append(" ")
        pointee.words.append(text: text)
      }
    } else {
      pointee.words.append("the service refused the stream")
    }
    pointee.words.append(": the notification is sent again in ")
    pointee.words.append(seconds)
    pointee.words.append(" s")
    put()
  }

  @inline(never)
  func tokenRefused(_ reason: Reason) {
    var line = LogLine(APNS_LOG_KIND_TOKEN, APNS_LOG_WARNING)
    line.cause = APNS_CAUSE_PROVIDER_TOKEN
    guard begin(line) else { return }
    pointee.words.append("APNs refused the provider token: ")
    if let text = reason.text { pointee.words.append(text: text) }
    put()
  }

  @inline(never)
  func lacksToken(_ failure: Failure) {
    guard begin(LogLine(APNS_LOG_KIND_TOKEN, APNS_LOG_ERROR)) else { return }
    pointee.words.append("there is no provider token")
    put(because: failure)
  }
}
