import CSystem

/// The payload that passed the check last: an equal one, as a campaign has, needs no other.
struct PassedPayload {
  private var bytes: UnsafeMutableRawPointer?
  private var count = -1
  private(set) var traits = PayloadTraits()
  /// Its push type, if that was checked together with the session's topic.
  var type: PushType?

  /// Longer payloads are not kept.
  private static let maximum = 5120

  @inline(__always)
  func equals(_ payload: UnsafeRawPointer?, count: Int) -> Bool {
    guard count == self.count, let bytes, let payload else { return false }
    return memcmp(bytes, payload, count) == 0
  }

  /// Without memory only the traits are kept.
  mutating func keep(_ payload: UnsafeRawBufferPointer, _ traits: PayloadTraits) {
    self.traits = traits
    type = nil
    count = -1
    if bytes == nil { bytes = malloc(Self.maximum) }
    guard payload.count <= Self.maximum, let bytes, let base = payload.baseAddress else { return }
    memcpy(bytes, base, payload.count)
    count = payload.count
  }

  func end() { free(bytes) }
}
