import CAPNS

/// Copies the response into the event.
func tellAnswer(_ answer: ServiceAnswer, in event: inout apns_event_t) {
  event.http_status = answer.status
  event.reason = Int32(answer.reason)
  event.timestamp = answer.goneSince / 1000
  event.retry_after_s = answer.retryAfter
  event.retry_asked = answer.isAsked ? 1 : 0
  if answer.id.0 | answer.id.1 != 0 {
    withUnsafeMutableBytes(of: &event.apns_id) { write(answer.id, to: $0) }
  }
  if answer.unique.0 | answer.unique.1 != 0 {
    withUnsafeMutableBytes(of: &event.unique_id) { write(answer.unique, to: $0) }
  }
  // The event is zero, so the text ends with a NUL.
  withUnsafeMutableBytes(of: &event.reason_text) {
    let text = answer.reasonText
    for index in 0..<min(text.count, $0.count &- 1) { $0[index] = text[index] }
  }
}

@inline(never)
func write(_ id: (UInt64, UInt64), to target: UnsafeMutableRawBufferPointer) {
  guard let text = target.baseAddress, target.count > UUIDText.count else { return }
  UUIDText.write(
    unsafeBitCast(id, to: InlineArray<16, UInt8>.self),
    to: text.bindMemory(to: UInt8.self, capacity: UUIDText.count))
}
