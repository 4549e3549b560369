import CSystem

/// The devices that APNs reported as gone (410), each once, in the order of the first reports. A
/// session and the feedbacks opened on it share one list; the last of them frees it.
struct GoneDevices {
  /// A device; its token follows it in memory.
  struct Device {
    var next: UnsafeMutablePointer<Device>?
    /// The next device in the same bucket.
    var neighbour: UnsafeMutablePointer<Device>?
    var timestamp: ShortUNIXSeconds
    var tokenCount: UInt32
  }

  /// Finds devices that are known already; made with the first device.
  private typealias Buckets = UnsafeMutablePointer<UnsafeMutablePointer<Device>?>
  private var buckets: Buckets?
  /// A peer chooses which tokens are gone, so the hash has a secret.
  private let hasher = KeyedHash()
  private var first: UnsafeMutablePointer<Device>?
  private var last: UnsafeMutablePointer<Device>?
  private var count = 0
  fileprivate var users: UInt32 = 1

  private static var bucketCount: Int { 4096 }
  /// More are not noted: APNs reports them again with the next push to them.
  private static var maximum: Int { 65_536 }

  fileprivate init() {}

  /// Notes a device by its token. If it is known, the later time counts.
  @inline(never)
  mutating func note(_ token: UnsafeRawBufferPointer, timestamp: ShortUNIXSeconds) {
    let count = token.count
    if buckets == nil {
      buckets = calloc(Self.bucketCount, MemoryLayout<Int>.size)?
        .bindMemory(to: UnsafeMutablePointer<Device>?.self, capacity: Self.bucketCount)
    }
    guard let buckets, self.count < Self.maximum,
      let memory = malloc(MemoryLayout<Device>.size &+ count)
    else { return }
    let device = memory.bindMemory(to: Device.self, capacity: 1)
    device.initialize(
      to: Device(timestamp: timestamp, tokenCount: UInt32(truncatingIfNeeded: count)))
    if let base = token.baseAddress { memcpy(memory + MemoryLayout<Device>.size, base, count) }
    let bucket = buckets + self.bucket(device)
    var known = bucket.pointee
    while let other = known {
      if Self.isSame(other, device) {
        other.pointee.timestamp = max(other.pointee.timestamp, timestamp)
        return free(memory)
      }
      known = other.pointee.neighbour
    }
    device.pointee.neighbour = bucket.pointee
    bucket.pointee = device
    if let last { last.pointee.next = device } else { first = device }
    last = device
    self.count &+= 1
  }

  /// Removes the first device, which the caller has to free.
  mutating func take() -> UnsafeMutablePointer<Device>? {
    guard let device = first, let buckets else { return nil }
    first = device.pointee.next
    if first == nil { last = nil }
    count &-= 1
    let bucket = buckets + self.bucket(device)
    if bucket.pointee == device {
      bucket.pointee = device.pointee.neighbour
      return device
    }
    var known = bucket.pointee
    while let other = known {
      if other.pointee.neighbour == device {
        other.pointee.neighbour = device.pointee.neighbour
        break
      }
      known = other.pointee.neighbour
    }
    return device
  }

  /// Removes the first device, its token valid meanwhile; false without one.
  mutating func take(_ read: (UnsafeRawBufferPointer, ShortUNIXSeconds) -> Void) -> Bool {
    guard let device = take() else { return false }
    read(Self.token(of: device), device.pointee.timestamp)
    free(device)
    return true
  }

  fileprivate mutating func forgetAll() {
    while let device = take() { free(device) }
    free(buckets)
  }

  private func bucket(_ device: UnsafeMutablePointer<Device>) -> Int {
    let token = Self.token(of: device)
    let hash = hasher.hash(token.baseAddress, token.count)
    return Int(truncatingIfNeeded: hash) & (Self.bucketCount &- 1)
  }

  private static func isSame(
    _ one: UnsafeMutablePointer<Device>, _ other: UnsafeMutablePointer<Device>
  ) -> Bool {
    one.pointee.tokenCount == other.pointee.tokenCount
      && memcmp(one + 1, other + 1, Int(one.pointee.tokenCount)) == 0
  }

  static func token(
    of device: UnsafeMutablePointer<Device>
  ) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: device + 1, count: Int(device.pointee.tokenCount))
  }
}

extension UnsafeMutablePointer<GoneDevices> {
  /// Nil if out of memory.
  static func make() -> UnsafeMutablePointer<GoneDevices>? {
    guard
      let devices = malloc(MemoryLayout<GoneDevices>.size)?
        .bindMemory(to: GoneDevices.self, capacity: 1)
    else { return nil }
    devices.initialize(to: GoneDevices())
    return devices
  }

  /// Adds a user.
  func share() { _ = csystem_atomic_add(&pointee.users, 1) }

  /// Removes a user.
  func release() {
    guard csystem_atomic_add(&pointee.users, .max) == 0 else { return }
    pointee.forgetAll()
    free(self)
  }
}
