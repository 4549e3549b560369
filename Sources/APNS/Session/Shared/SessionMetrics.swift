import CAPNS

/// Counts for a monitoring system, in the caller's own structure: a session keeps one, counts where
/// it is, and a call copies it. No call moves it, because Swift would do that field by field.
extension UnsafeMutablePointer<apns_session_metrics_t> {
  /// A whole response came `time` after its request.
  @inline(__always)
  func noteResponse(after time: Nanoseconds) {
    let microseconds = UInt64(max(time, 0)) / 1000
    pointee.response_us &+= microseconds
    count(ResponseTimes.place(of: microseconds), in: &pointee.times)
  }

  /// A response other than 200.
  func noteResponse(status: Int, reason: UInt8) {
    count(status / 100, in: &pointee.classes)
    count(Int(reason), in: &pointee.reasons)
  }

  func noteRejection(reason: UInt8) { count(Int(reason), in: &pointee.rejected_reasons) }

  /// Over the binary interface: numbers above those that Apple listed first are few and far apart.
  func noteRejection(status: UInt8) {
    let last = Int(APNS_METRICS_REJECTS) &- 1
    let isProtocolError = UInt32(status) == APNS_REJECT_PROTOCOL_ERROR.rawValue
    count(
      isProtocolError ? last &- 1 : Int(status) < last &- 1 ? Int(status) : last,
      in: &pointee.rejects)
  }

  /// A C array is a tuple here. Values beyond its end count in the last place.
  @inline(__always)
  private func count<Places>(_ place: Int, in array: inout Places) {
    withUnsafeMutableBytes(of: &array) {
      let last = $0.count / 8 &- 1
      guard last >= 0, let base = $0.baseAddress else { return }
      let offset = 8 &* max(0, min(place, last))
      base.storeBytes(
        of: base.load(fromByteOffset: offset, as: UInt64.self) &+ 1, toByteOffset: offset,
        as: UInt64.self)
    }
  }

  private func sum<Places>(_ array: inout Places) -> UInt64 {
    withUnsafeBytes(of: &array) {
      var sum: UInt64 = 0
      for place in 0..<$0.count / 8 {
        sum &+= $0.load(fromByteOffset: 8 &* place, as: UInt64.self)
      }
      return sum
    }
  }

  /// Brings up to date what is not counted one by one.
  func complete(_ handshakes: Handshakes, pause: Nanoseconds) {
    pointee.responses = sum(&pointee.times)
    pointee.tls12_full = UInt64(handshakes.full12)
    pointee.tls12_resumed = UInt64(handshakes.resumed12)
    pointee.tls13_full = UInt64(handshakes.full13)
    pointee.tls13_resumed = UInt64(handshakes.resumed13)
    withUnsafeMutableBytes(of: &pointee.connect_failures) {
      for place in 0..<min(handshakes.failed.count, $0.count / 8) {
        $0.storeBytes(
          of: UInt64(handshakes.failed[place]), toByteOffset: 8 &* place, as: UInt64.self)
      }
    }
    pointee.backoff_ms = UInt32(clamping: (max(pause, 0) &+ 999_999) / 1_000_000)
  }

  /// Every response that has no other class is a 200: those are not counted one by one.
  func completeClasses() {
    pointee.classes.2 = 0
    pointee.classes.2 = pointee.responses &- sum(&pointee.classes)
  }

  func forgetConnections() {
    (pointee.connecting, pointee.open, pointee.draining, pointee.standby) = (0, 0, 0, 0)
  }
}

/// How response times are grouped.
enum ResponseTimes {
  /// In microseconds, none for the last place.
  private static let bounds: InlineArray<15, UInt32> = [
    1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000,
    5_000_000, 10_000_000, 20_000_000, 50_000_000,
  ]

  static func bound(_ place: Int) -> UInt64 {
    place >= 0 && place < bounds.count ? UInt64(bounds[place]) : .max
  }

  /// How many bounds are shorter. Most responses are fast, so halving would take longer.
  @inline(__always)
  static func place(of microseconds: UInt64) -> Int {
    var place = 0
    while place < bounds.count, microseconds > UInt64(bounds[unchecked: place]) { place &+= 1 }
    return place
  }
}
