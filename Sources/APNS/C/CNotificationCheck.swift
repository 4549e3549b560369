import CAPNS
import CSystem

/// Applies a session's `checks` to a notification before it is taken. `payload` is nil if a builder
/// made it, because a builder makes no wrong one.
@inline(never)
func check(
  _ given: UnsafePointer<apns_notification_t>, payload: UnsafeRawBufferPointer?,
  _ options: SessionOptions
) throws(Failure) {
  if options.checks & APNS_CHECK_EXPIRY.rawValue != 0 { try check(expiry: given.pointee.expiry) }
  guard let payload, options.checks & APNS_CHECK_PAYLOAD.rawValue != 0 else { return }
  let isSilent = try check(payload)
  // Only this command has a priority (Binary Provider API, frame items); over HTTP/2 the priority
  // was checked with the push type.
  if isSilent, given.pointee.priority == 10, !options.speaksHTTP2, options.command == .framed {
    throw Failure(
      APNS_ERR_ARGUMENT,
      "priority is 10, but a payload with nothing but content-available needs 5",
      reject: APNS_REJECT_PROCESSING_ERROR)
  }
}

/// No time is earlier than this (September 2001), and no duration longer.
private let earliestTime: Int64 = 1_000_000_000
/// No time in seconds is later (the year 5138), and every time in milliseconds is.
private let latestTime: Int64 = 100_000_000_000

/// Checks the time until which to try; 0 and APNS_EXPIRY_ONCE are not times.
private func check(expiry: Int64) throws(Failure) {
  guard expiry > 0 else { return }
  let now = csystem_unix_seconds()
  if expiry >= now, expiry < latestTime { return }
  throw Failure(APNS_ERR_ARGUMENT, reject: APNS_REJECT_PROCESSING_ERROR) {
    $0.append("expiry is ")
    $0.append(Int(expiry))
    if expiry < earliestTime {
      $0.append(", which looks like a duration: it takes the UNIX time, time(NULL) + ")
      $0.append(Int(expiry))
    } else if expiry >= latestTime {
      $0.append(", which looks like milliseconds: it takes the UNIX time in seconds, ")
      $0.append(Int(expiry / 1000))
    } else {
      $0.append(", ")
      $0.append(Int(now &- expiry))
      $0.append(" s ago: nothing is tried any more; APNS_EXPIRY_ONCE (-1) tries once")
    }
  }
}
