import CAPNS

extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// Copies the response into the event.
  func reportResponse(_ answer: ServiceAnswer, in event: inout apns_event_t) {
    event.http_status = answer.status
    event.reason = Int32(answer.reason)
    event.timestamp = answer.goneSince / 1000
    event.retry_after_s = answer.retryAfter
    event.retry_asked = answer.isAsked ? 1 : 0
    withUnsafeMutableBytes(of: &event.apns_id) { UUIDText.write(answer.id, to: $0) }
    withUnsafeMutableBytes(of: &event.unique_id) { UUIDText.write(answer.unique, to: $0) }
    // The event is zero, so the text ends with a NUL.
    withUnsafeMutableBytes(of: &event.reason_text) {
      let text = answer.reasonText
      for index in 0..<min(text.count, $0.count &- 1) { $0[index] = text[index] }
    }
  }
}
