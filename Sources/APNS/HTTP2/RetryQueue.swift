/// Retries by their time, the earliest first: a heap. Pauses may be of any length, because APNs can
/// request one. No clock.
struct RetryQueue {
  struct Wait {
    let due: Seconds
    let slot: UInt32
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

  /// The second at which the first of them is due; nil: none waits.
  @inline(__always)
  var next: Seconds? { count == 0 ? nil : waits[0].due }

  mutating func add(_ slot: Int, due: Seconds) {
    guard count < capacity else { return }
    let wait = Wait(due: due, slot: UInt32(truncatingIfNeeded: slot))
    var place = count
    count &+= 1
    while place > 0 {
      let parent = (place &- 1) / 2
      guard Self.isBefore(wait, waits[parent]) else { break }
      waits[place] = waits[parent]
      place = parent
    }
    waits[place] = wait
  }

  /// The slot of a due retry.
  @inline(never)
  mutating func take(at second: Seconds) -> Int? {
    guard count > 0, Self.hasCome(waits[0].due, at: second) else { return nil }
    let slot = Int(waits[0].slot)
    count &-= 1
    let last = waits[count]
    var place = 0
    while true {
      var child = 2 &* place &+ 1
      guard child < count else { break }
      if child &+ 1 < count, Self.isBefore(waits[child &+ 1], waits[child]) { child &+= 1 }
      guard Self.isBefore(waits[child], last) else { break }
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
      if isKept(Int(wait.slot)) { add(Int(wait.slot), due: wait.due) }
    }
  }

  mutating func forgetAll() { count = 0 }

  @inline(__always)
  static func hasCome(_ due: Seconds, at second: Seconds) -> Bool {
    Int32(bitPattern: second &- due) >= 0
  }

  private static func isBefore(_ one: Wait, _ other: Wait) -> Bool {
    Int32(bitPattern: one.due &- other.due) < 0
  }
}
