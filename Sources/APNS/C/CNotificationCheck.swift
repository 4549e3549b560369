import CAPNS
import CSystem

/// The checks that a notification still needs before it is queued.
enum NeededChecks {
  /// It needs none.
  case none
  /// Its payload passed before, and the rest is in order.
  case ofPushType
  case all
}

@inline(__always)
func neededChecks(
  _ given: UnsafePointer<apns_notification_t>, _ checks: Checks, _ passed: PassedPayload
) -> NeededChecks {
  if checks.isNone { return .none }
  return checks.ofPayload && given.pointee.expiry <= 0 && !given.namesChannel
    && !(checks.isFramed && given.pointee.priority == 10)
    && passed.equals(given.pointee.payload, count: given.pointee.payload_length)
    ? .ofPushType : .all
}

/// Applies a session's `checks` to a notification before it is queued. `payload` is nil if a
/// builder made it, because a builder makes no invalid one.
@inline(never)
func check(
  _ given: UnsafePointer<apns_notification_t>, payload: UnsafeRawBufferPointer?,
  _ checks: Checks, _ passed: inout PassedPayload
) throws(Failure) {
  if checks.ofExpiry { try check(expiry: given.pointee.expiry) }
  guard let payload, checks.ofPayload else { return }
  if !passed.equals(payload.baseAddress, count: payload.count) {
    passed.keep(payload, try check(payload))
  }
  // Only this command has a priority (Binary Provider API, frame items); over HTTP/2 the priority
  // was checked with the push type.
  if passed.traits.onlyWakes, given.pointee.priority == 10, checks.isFramed {
    throw Failure(
      APNS_ERR_ARGUMENT,
      "priority is 10, but a payload with nothing but content-available needs 5",
      reject: APNS_REJECT_PROCESSING_ERROR)
  }
}

/// A broadcast cannot start a Live Activity; `starts` returns whether the payload would.
@inline(never)
func checkBroadcast(
  _ given: UnsafePointer<apns_notification_t>, _ checks: Checks, starts: () -> Bool
) throws(Failure) {
  guard checks.ofPayload, given.namesChannel, starts() else { return }
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
