import CAPNS

@_cdecl("apns_event_describe") @implementation
public func apns_event_describe(
  _ event: UnsafePointer<apns_event_t>?, _ text: UnsafeMutablePointer<CChar>?, _ capacity: Int
) -> Int {
  var line = Message()
  if let event, hasPossibleSize(event) { describe(event, in: &line) }
  if let text {
    let room = capacity < 0 ? Message.capacity : capacity
    line.copy(to: UnsafeMutableRawBufferPointer(start: text, count: room))
  }
  return line.count
}

private func describe(_ event: UnsafePointer<apns_event_t>, in line: inout Message) {
  switch apns_event_kind_t(rawValue: UInt32(bitPattern: event.pointee.kind)) {
  case APNS_EVENT_ACCEPTED: line.append("accepted")
  case APNS_EVENT_REJECTED:
    line.append("rejected: ")
    if event.pointee.http_status != 0 { return reportResponse(of: event, in: &line) }
    line.append(apns_reject_text(apns_reject_t(rawValue: UInt32(bitPattern: event.pointee.reject))))
    line.append(" (status ")
    line.append(Int(event.pointee.reject))
    line.append(")")
  case APNS_EVENT_UNKNOWN where event.pointee.http_status != 0:
    line.append("unknown: the last answer: ")
    reportResponse(of: event, in: &line)
  case APNS_EVENT_UNKNOWN:
    line.append("unknown: no answer came")
    reportEnd(of: event, in: &line)
  case APNS_EVENT_CANCELLED:
    line.append("cancelled: taken back, and it did not arrive")
    if event.pointee.http_status == 0 { reportEnd(of: event, in: &line) }
  case APNS_EVENT_EXPIRED:
    line.append("expired: its time ran out, and it did not arrive")
    reportEnd(of: event, in: &line)
  default: break
  }
}

/// "BadDeviceToken (HTTP 400)", or only the status without a reason.
private func reportResponse(of event: UnsafePointer<apns_event_t>, in line: inout Message) {
  if event.pointee.reason == 0 {
    line.append("HTTP ")
    return line.append(Int(event.pointee.http_status))
  }
  if !reportText(of: event, in: &line) {
    line.append(apns_reason_text(apns_reason_t(rawValue: UInt32(bitPattern: event.pointee.reason))))
  }
  line.append(" (HTTP ")
  line.append(Int(event.pointee.http_status))
  line.append(")")
}

private func reportEnd(of event: UnsafePointer<apns_event_t>, in line: inout Message) {
  if event.pointee.reason_text.0 == 0 { return }
  line.append(": ")
  _ = reportText(of: event, in: &line)
}

/// False if the text is empty.
private func reportText(of event: UnsafePointer<apns_event_t>, in line: inout Message) -> Bool {
  withUnsafeBytes(of: event.pointee.reason_text) { bytes in
    let length = bytes.firstIndex(of: 0) ?? bytes.count
    line.append(text: UnsafeRawBufferPointer(rebasing: bytes[..<length]))
    return length > 0
  }
}
