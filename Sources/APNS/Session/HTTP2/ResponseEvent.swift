import CAPNS

extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// Copies the response into the event.
  func reportResponse(_ response: ServiceResponse, in event: inout apns_event_t) {
    event.http_status = response.status
    event.reason = Int32(response.reason)
    event.timestamp = response.goneSince / 1000
    event.retry_after_s = response.retryAfter
    event.retry_asked = response.isAsked ? 1 : 0
    withUnsafeMutableBytes(of: &event.apns_id) { UUIDText.write(response.id, to: $0) }
    withUnsafeMutableBytes(of: &event.unique_id) { UUIDText.write(response.unique, to: $0) }
    // The event is zero, so the text ends with a NUL.
    withUnsafeMutableBytes(of: &event.reason_text) {
      let text = response.reasonText
      for index in 0..<min(text.count, $0.count &- 1) { $0[index] = text[index] }
    }
  }
}
