import CAPNS
import CSystem

/// What a session's `checks` ask of a notification, before it is taken. Nil for `payload`: a
/// builder made it, which makes none that is wrong.
@inline(never)
func check(
  _ given: UnsafePointer<apns_notification_t>, payload: UnsafeRawBufferPointer?,
  _ options: SessionOptions
) throws(Failure) {
  if options.checks & APNS_CHECK_EXPIRY.rawValue != 0 { try check(expiry: given.pointee.expiry) }
  guard let payload, options.checks & APNS_CHECK_PAYLOAD.rawValue != 0 else { return }
  let isSilent = try check(payload)
  // Only here does the gateway learn of a priority (Binary Provider API, frame items); over
  // HTTP/2 it was looked at by the kind of push.
  if isSilent, given.pointee.priority == 10, !options.speaksHTTP2, options.command == .framed {
    throw Failure(
      APNS_ERR_ARGUMENT,
      "priority is 10, but a payload with nothing but content-available needs 5",
      reject: APNS_REJECT_PROCESSING_ERROR)
  }
}

/// No time is earlier than this (September 2001), and no duration longer.
private let earliestTime: Int64 = 1_000_000_000
/// No time in seconds is later (in the year 5138), and any in milliseconds is.
private let latestTime: Int64 = 100_000_000_000

/// Looks at a time until which to try; 0 and APNS_EXPIRY_ONCE are none.
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
