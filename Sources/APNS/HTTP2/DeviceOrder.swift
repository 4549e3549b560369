import CSystem

/// Keeps each device's order: only the oldest unresolved notification to a device token may be
/// sent. The others wait in its queue, and those to other devices pass them.
///
/// Each device's queue is found by hashing its token. Its first entry links to the next and the
/// last one. Each step takes the same time for every queue length.
struct DeviceOrder {
  /// An entry's place in its device's queue. Entries are named by their slot plus one; 0: none.
  struct Turn {
    var digest: UInt32 = 0
    /// The next one to the same device.
    var behind: UInt32 = 0
    /// In the first of a queue: the last, and the first of another queue in the same bucket.
    var last: UInt32 = 0
    var neighbour: UInt32 = 0
    /// Earlier ones must be resolved before it; and it was skipped for that.
    var waits = false
    var isPassed = false
  }

  private let turns: UnsafeMutablePointer<Turn>
  private let buckets: UnsafeMutablePointer<UInt32>
  private let mask: UInt32
  /// Tokens may come from outside, so the hash has a secret.
  private let hasher = KeyedHash()

  /// The outbox lends the memory, which has that size for as many entries; a power of two.
  init(_ memory: UnsafeMutableRawPointer, capacity: Int) {
    turns = memory.bindMemory(to: Turn.self, capacity: capacity)
    buckets = (memory + capacity &* MemoryLayout<Turn>.stride)
      .bindMemory(to: UInt32.self, capacity: capacity)
    buckets.initialize(repeating: 0, count: capacity)
    mask = UInt32(truncatingIfNeeded: capacity &- 1)
  }

  static func size(capacity: Int) -> Int {
    capacity &* (MemoryLayout<Turn>.stride &+ MemoryLayout<UInt32>.stride)
  }

  /// Appends an entry to its queue; true if it is the first. `token` returns the token of any entry
  /// in a queue.
  mutating func add(_ slot: Int, token: (Int) -> UnsafeRawBufferPointer) -> Bool {
    let number = UInt32(truncatingIfNeeded: slot &+ 1)
    let own = token(slot)
    let digest = UInt32(truncatingIfNeeded: hasher.hash(own.baseAddress, own.count))
    turns[slot] = Turn(digest: digest, last: number)
    let bucket = buckets + Int(digest & mask)
    var other = bucket.pointee
    while other != 0 {
      let first = Int(other) &- 1
      if turns[first].digest == digest, Self.isSame(token(first), own) {
        turns[Int(turns[first].last) &- 1].behind = number
        turns[first].last = number
        turns[slot].waits = true
        return false
      }
      other = turns[first].neighbour
    }
    turns[slot].neighbour = bucket.pointee
    bucket.pointee = number
    return true
  }

  /// Whether earlier ones must be resolved before it. It is then marked as skipped.
  mutating func passes(_ slot: Int) -> Bool {
    guard turns[slot].waits else { return false }
    turns[slot].isPassed = true
    return true
  }

  /// Removes a resolved notification. Returns the next one to its device, if that was skipped and
  /// waits for nothing else.
  mutating func end(_ slot: Int) -> Int? {
    let turn = turns[slot]
    let number = UInt32(truncatingIfNeeded: slot &+ 1)
    let bucket = buckets + Int(turn.digest & mask)
    if turn.waits {
      removeFromLine(number, bucket.pointee)
      return nil
    }
    var before: UInt32 = 0
    var other = bucket.pointee
    while other != number {
      guard other != 0 else { return nil }
      before = other
      other = turns[Int(other) &- 1].neighbour
    }
    // The next one takes its place in the bucket.
    let successor = turn.behind == 0 ? turn.neighbour : turn.behind
    if before == 0 {
      bucket.pointee = successor
    } else {
      turns[Int(before) &- 1].neighbour = successor
    }
    guard turn.behind != 0 else { return nil }
    let next = Int(turn.behind) &- 1
    (turns[next].last, turns[next].neighbour) = (turn.last, turn.neighbour)
    turns[next].waits = false
    return turns[next].isPassed ? next : nil
  }

  /// Removes a cancelled, waiting notification from its queue, one of those that start with `first`.
  private mutating func removeFromLine(_ number: UInt32, _ first: UInt32) {
    let behind = turns[Int(number) &- 1].behind
    var first = first
    while first != 0 {
      var before = first
      while before != 0, turns[Int(before) &- 1].behind != number {
        before = turns[Int(before) &- 1].behind
      }
      if before != 0 {
        turns[Int(before) &- 1].behind = behind
        if behind == 0 { turns[Int(first) &- 1].last = before }
        return
      }
      first = turns[Int(first) &- 1].neighbour
    }
  }

  private static func isSame(
    _ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer
  ) -> Bool {
    guard one.count == other.count, let first = one.baseAddress, let second = other.baseAddress
    else { return one.count == other.count }
    return memcmp(first, second, one.count) == 0
  }
}
