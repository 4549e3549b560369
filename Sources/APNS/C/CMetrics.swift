import CAPNS

@_cdecl("apns_session_metrics") @implementation
public func apns_session_metrics(
  _ session: OpaquePointer?, _ metrics: UnsafeMutablePointer<apns_session_metrics_t>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in try pass(Measure(metrics: metrics), to: session) }
}

private struct Measure: SessionReading {
  let metrics: UnsafeMutablePointer<apns_session_metrics_t>?

  func perform(
    on session: UnsafeMutablePointer<some ProviderSession & ~Copyable>
  ) throws(Failure) {
    guard let metrics else { throw isNull("metrics_out") }
    try fill(metrics, from: session.pointee.measure())
  }
}

@_cdecl("apns_metrics_bound_us") @implementation
public func apns_metrics_bound_us(_ index: Int) -> UInt64 { ResponseTimes.bound(index) }
