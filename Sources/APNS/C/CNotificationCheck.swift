import CAPNS
import CSystem

/// Applies a session's `checks` to a notification before it is queued. `payload` is nil if a
/// builder made it, because a builder makes no invalid one. Returns the payload's traits; nil if
/// they are not checked, or if only a builder knows them.
@inline(never)
func check(
  _ given: UnsafePointer<apns_notification_t>, payload: UnsafeRawBufferPointer?,
  _ options: SessionOptions
) throws(Failure) -> PayloadTraits? {
  if options.checks & APNS_CHECK_EXPIRY.rawValue != 0 { try check(expiry: given.pointee.expiry) }
  guard let payload, options.checks & APNS_CHECK_PAYLOAD.rawValue != 0 else { return nil }
  let traits = try check(payload)
  // Only this command has a priority (Binary Provider API, frame items); over HTTP/2 the priority
  // was checked with the push type.
  if traits.onlyWakes, given.pointee.priority == 10, !options.speaksHTTP2,
    options.command == .framed
  {
    throw Failure(
      APNS_ERR_ARGUMENT,
      "priority is 10, but a payload with nothing but content-available needs 5",
      reject: APNS_REJECT_PROCESSING_ERROR)
  }
  return traits
}

/// A broadcast cannot start a Live Activity; `starts` returns whether the payload would.
@inline(never)
func checkBroadcast(
  _ given: UnsafePointer<apns_notification_t>, _ options: SessionOptions, starts: () -> Bool
) throws(Failure) {
  guard options.checks & APNS_CHECK_PAYLOAD.rawValue != 0, given.namesChannel, starts() else {
    return
  }
  throw Failure(
    APNS_ERR_ARGUMENT, "event is \"start\", but a broadcast cannot start a Live Activity",
    reject: APNS_REJECT_PROCESSING_ERROR)
}

/// Checks the time until which to try; 0 and APNS_EXPIRY_ONCE are not times.
private func check(expiry: UNIXSeconds) throws(Failure) {
  guard expiry > 0 else { return }
  let now = csystem_unix_seconds()
  let unlikely = UnlikelyTime(expiry)
  if expiry >= now, unlikely == nil { return }
  throw Failure(APNS_ERR_ARGUMENT, reject: APNS_REJECT_PROCESSING_ERROR) {
    $0.append("expiry is ")
    $0.append(Int(expiry))
    if let unlikely {
      $0.append(", which looks like")
      $0.append(what: unlikely)
      let advice: StaticString =
        unlikely.isDuration
        ? ": give a UNIX time, time(NULL) + " : ": give the UNIX time in seconds, "
      $0.append(advice)
      $0.append(Int(unlikely.seconds))
    } else {
      $0.append(", ")
      $0.append(Int(now &- expiry))
      $0.append(" s ago, so APNs would not try at all; APNS_EXPIRY_ONCE (-1) tries once")
    }
  }
}
