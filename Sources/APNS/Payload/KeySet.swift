import CSystem

/// The names in a payload, so that none appears twice: a table of hashes, each with the
/// place of its name. The names themselves are stored elsewhere.
struct KeySet: ~Copyable {
  private struct Name {
    var offset: UInt32
    var length: UInt32
  }

  private struct Entry {
    var hash: UInt32
    var name: Name
    /// The entry is empty unless this is the table's round.
    var round: UInt32
  }

  /// The first names. They need no memory and are searched one after another.
  private var few = InlineArray<8, Name>(repeating: Name(offset: 0, length: 0))
  /// Keyed, because somebody may choose colliding names. Nil until there is a table.
  private var hasher: KeyedHash?
  /// All names, once there are more than `few` can hold.
  private var table: UnsafeMutablePointer<Entry>?
  private var capacity = 0
  private var count = 0
  /// Counts how often all names were removed. A new round empties the entries without
  /// touching them.
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

  /// Adds the name at `offset` of `text`; false if it is there already.
  @_optimize(speed)
  @inline(never)
  mutating func insert(
    _ text: UnsafeRawPointer, at offset: Int, length: Int
  ) throws(PayloadFault) -> Bool {
    let name = Name(
      offset: UInt32(truncatingIfNeeded: offset), length: UInt32(truncatingIfNeeded: length))
    if count <= few.count {
      // For few names comparing is faster than hashing.
      for index in 0..<count where Self.areEqual(few[index], name, text) { return false }
      if count < few.count {
        few[count] = name
        count &+= 1
        return true
      }
    }
    if count == few.count || count &* 2 >= capacity { try grow(text) }
    let entry = entry(name, text)
    guard let slot = find(entry, text) else { return false }
    slot.pointee = entry
    count &+= 1
    return true
  }

  /// The table entry for the name.
  private func entry(_ name: Name, _ text: UnsafeRawPointer) -> Entry {
    var entry = Entry(hash: 0, name: name, round: round)
    if let hasher {
      entry.hash = UInt32(
        truncatingIfNeeded: hasher.hash(text + Int(name.offset), Int(name.length)))
    }
    return entry
  }

  @inline(__always)
  private static func areEqual(_ one: Name, _ other: Name, _ text: UnsafeRawPointer) -> Bool {
    one.length == other.length
      && memcmp(text + Int(one.offset), text + Int(other.offset), Int(one.length)) == 0
  }

  /// The empty slot for the name; nil if the name is there already.
  private func find(_ wanted: Entry, _ text: UnsafeRawPointer) -> UnsafeMutablePointer<Entry>? {
    guard let table else { return nil }
    var index = Int(wanted.hash) & (capacity &- 1)
    while table[index].round == round {
      if table[index].hash == wanted.hash, Self.areEqual(table[index].name, wanted.name, text) {
        return nil
      }
      index = (index &+ 1) & (capacity &- 1)
    }
    return table + index
  }

  /// Makes the table large enough for one more name, and moves the few into it.
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
    for index in 0..<count { place(entry(few[index], text)) }
  }

  /// Inserts a name that is not in the table.
  private func place(_ entry: Entry) {
    guard let table else { return }
    var index = Int(entry.hash) & (capacity &- 1)
    while table[index].round == round { index = (index &+ 1) & (capacity &- 1) }
    table[index] = entry
  }

  deinit { free(table) }
}
