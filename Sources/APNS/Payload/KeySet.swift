import CSystem

/// Which names a payload has, so that none comes twice: a table of hashes, each with the
/// place of its name. The names themselves stand elsewhere.
struct KeySet: ~Copyable {
  private struct Entry {
    var hash: UInt32
    var offset: UInt32
    var length: UInt32
    /// Empty unless it is the table's.
    var round: UInt32
  }

  /// The first names, which take no memory and are looked through one after the other.
  private var few = InlineArray<8, Entry>(
    repeating: Entry(hash: 0, offset: 0, length: 0, round: 0))
  /// Whoever makes the names may want them to collide. There is none before there is a table.
  private var hasher: KeyedHash?
  /// All names, once they are more than that.
  private var table: UnsafeMutablePointer<Entry>?
  private var capacity = 0
  private var count = 0
  /// Counts how often all names were removed, which so need not be touched.
  private var round: UInt32 = 1

  mutating func removeAll() {
    let wereFew = count <= few.count
    count = 0
    if wereFew { return }
    round &+= 1
    guard round == 0, let table else { return }
    memset(table, 0, capacity &* MemoryLayout<Entry>.stride)
    round = 1
  }

  /// Notes the name at `offset` of `text`; false where there is one like it.
  @_optimize(speed)
  @inline(never)
  mutating func insert(
    _ text: UnsafeRawPointer, at offset: Int, length: Int
  ) throws(PayloadFault) -> Bool {
    var entry = Entry(
      hash: 0, offset: UInt32(truncatingIfNeeded: offset),
      length: UInt32(truncatingIfNeeded: length), round: round)
    if count <= few.count {
      // So few are compared with each other sooner than hashed.
      for index in 0..<count where Self.areEqual(few[index], entry, text) { return false }
      if count < few.count {
        few[count] = entry
        count &+= 1
        return true
      }
    }
    if count == few.count || count &* 2 >= capacity { try grow(text) }
    entry.hash = hash(entry, text)
    guard let slot = find(entry, text) else { return false }
    slot.pointee = entry
    count &+= 1
    return true
  }

  private func hash(_ entry: Entry, _ text: UnsafeRawPointer) -> UInt32 {
    guard let hasher else { return 0 }
    return UInt32(truncatingIfNeeded: hasher.hash(text + Int(entry.offset), Int(entry.length)))
  }

  @inline(__always)
  private static func areEqual(_ one: Entry, _ other: Entry, _ text: UnsafeRawPointer) -> Bool {
    one.hash == other.hash && one.length == other.length
      && memcmp(text + Int(one.offset), text + Int(other.offset), Int(one.length)) == 0
  }

  /// The empty place for the name; nil where the name is there.
  private func find(_ wanted: Entry, _ text: UnsafeRawPointer) -> UnsafeMutablePointer<Entry>? {
    guard let table else { return nil }
    var index = Int(wanted.hash) & (capacity &- 1)
    while table[index].round == round {
      if Self.areEqual(table[index], wanted, text) { return nil }
      index = (index &+ 1) & (capacity &- 1)
    }
    return table + index
  }

  /// Makes the table large enough for one more, and moves the few into it.
  @inline(never)
  private mutating func grow(_ text: UnsafeRawPointer) throws(PayloadFault) {
    if hasher == nil { hasher = KeyedHash() }
    if count &* 2 >= capacity {
      let wanted = max(32, capacity &* 2)
      guard let memory = calloc(wanted, MemoryLayout<Entry>.stride) else {
        throw PayloadFault(.memory)
      }
      let (old, oldCapacity) = (table, capacity)
      table = memory.bindMemory(to: Entry.self, capacity: wanted)
      capacity = wanted
      if let old {
        for index in 0..<oldCapacity where old[index].round == round { place(old[index]) }
        free(old)
      }
    }
    guard count == few.count else { return }
    for index in 0..<count {
      few[index].hash = hash(few[index], text)
      place(few[index])
    }
  }

  /// Puts a name in that is not there.
  private func place(_ entry: Entry) {
    guard let table else { return }
    var index = Int(entry.hash) & (capacity &- 1)
    while table[index].round == round { index = (index &+ 1) & (capacity &- 1) }
    table[index] = entry
  }

  deinit { free(table) }
}
