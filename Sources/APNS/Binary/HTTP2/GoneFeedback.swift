import CSystem

/// A session's gone devices, as the feedback service would list them.
struct GoneFeedback: ~Copyable {
  private let devices: UnsafeMutablePointer<GoneDevices>
  private let origin = ProcessOrigin()
  /// The last device returned; the caller may still read its token.
  private var told: UnsafeMutablePointer<GoneDevices.Device>?

  init(_ devices: UnsafeMutablePointer<GoneDevices>) {
    devices.share()
    self.devices = devices
  }

  deinit {
    free(told)
    devices.release()
  }

  var isForeign: Bool { !origin.isHere }

  /// The next device, its token valid until the next call; nil after the last.
  mutating func next() -> FeedbackTuple? {
    free(told)
    told = devices.pointee.take()
    guard let told else { return nil }
    return FeedbackTuple(
      timestamp: told.pointee.timestamp, token: GoneDevices.token(of: told))
  }
}
