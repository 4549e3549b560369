/// Retries by their time, the earliest first: a heap. Pauses may be of any length, because APNs can
/// request one. No clock.
struct RetryQueue {
  /// A retry in eight bytes: its time in ms, which fit into 42 bits for a century, and its slot.
  private struct Wait {
    let bits: UInt64

    init(_ slot: Int, due: Nanoseconds) {
      // Rounded up, because nothing is sent before its time.
      bits = UInt64(truncatingIfNeeded: (due &+ 999_999) / 1_000_000) << 22 | UInt64(slot.magnitude)
    }

    var slot: Int { Int(truncatingIfNeeded: bits & (1 << 22 &- 1)) }
    var due: Nanoseconds { Int64(truncatingIfNeeded: bits >> 22) &* 1_000_000 }
  }

  /// The outbox lends the memory: room for each of its entries.
  private let waits: UnsafeMutablePointer<Wait>
  private let capacity: Int
  private var count = 0

  init(_ memory: UnsafeMutableRawPointer, capacity: Int) {
    waits = memory.bindMemory(to: Wait.self, capacity: capacity)
    self.capacity = capacity
  }

  static func size(capacity: Int) -> Int { capacity &* MemoryLayout<Wait>.stride }

  /// When the first of them is due; nil: none waits.
  @inline(__always)
  var next: Nanoseconds? { count == 0 ? nil : waits[0].due }

  mutating func add(_ slot: Int, due: Nanoseconds) { add(Wait(slot, due: due)) }

  private mutating func add(_ wait: Wait) {
    guard count < capacity else { return }
    var place = count
    count &+= 1
    while place > 0 {
      let parent = (place &- 1) / 2
      guard wait.bits < waits[parent].bits else { break }
      waits[place] = waits[parent]
      place = parent
    }
    waits[place] = wait
  }

  /// The slot of a due retry.
  @inline(never)
  mutating func take(at now: Nanoseconds) -> Int? {
    guard let next, next <= now else { return nil }
    let slot = waits[0].slot
    count &-= 1
    let last = waits[count]
    var place = 0
    while true {
      var child = 2 &* place &+ 1
      guard child < count else { break }
      if child &+ 1 < count, waits[child &+ 1].bits < waits[child].bits { child &+= 1 }
      guard waits[child].bits < last.bits else { break }
      waits[place] = waits[child]
      place = child
    }
    waits[place] = last
    return slot
  }

  /// Keeps only slots that pass.
  @inline(never)
  mutating func keep(where isKept: (Int) -> Bool) {
    let all = count
    count = 0
    // Each goes to a place that was read before.
    for place in 0..<all {
      let wait = waits[place]
      if isKept(wait.slot) { add(wait) }
    }
  }

  mutating func forgetAll() { count = 0 }
}
