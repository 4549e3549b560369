import CSystem

/// Which names a payload has, so that none comes twice: a table of hashes, each with the
/// place of its name. The names themselves stand elsewhere.
struct KeySet: ~Copyable {
  /// 0 as length: empty. Names stand between quotation marks, so none is shorter than two.
  private struct Entry {
    var hash: UInt32
    var offset: UInt32
    var length: UInt32
  }

  private var table: UnsafeMutablePointer<Entry>?
  private var capacity = 0
  private var count = 0

  mutating func removeAll() {
    guard count > 0, let table else { return }
    memset(table, 0, capacity &* MemoryLayout<Entry>.stride)
    count = 0
  }

  /// Notes the name at `offset` of `text`; false where there is one like it.
  @inline(never)
  mutating func insert(
    _ text: UnsafeRawPointer, at offset: Int, length: Int
  ) throws(PayloadFault) -> Bool {
    if count &* 2 >= capacity { try grow() }
    let hash = Self.hash(text + offset, length)
    guard let slot = find(hash, text, offset, length) else { return false }
    slot.pointee = Entry(
      hash: hash, offset: UInt32(truncatingIfNeeded: offset),
      length: UInt32(truncatingIfNeeded: length))
    count &+= 1
    return true
  }

  /// The empty place for the name; nil where the name is there.
  private func find(
    _ hash: UInt32, _ text: UnsafeRawPointer, _ offset: Int, _ length: Int
  ) -> UnsafeMutablePointer<Entry>? {
    guard let table else { return nil }
    var index = Int(hash) & (capacity &- 1)
    while true {
      let entry = table + index
      if entry.pointee.length == 0 { return entry }
      if entry.pointee.hash == hash, entry.pointee.length == length,
        memcmp(text + Int(entry.pointee.offset), text + offset, length) == 0
      {
        return nil
      }
      index = (index &+ 1) & (capacity &- 1)
    }
  }

  @inline(never)
  private mutating func grow() throws(PayloadFault) {
    let wanted = max(16, capacity &* 2)
    guard let memory = calloc(wanted, MemoryLayout<Entry>.stride) else {
      throw PayloadFault(.memory)
    }
    let grown = memory.bindMemory(to: Entry.self, capacity: wanted)
    if let table {
      for index in 0..<capacity where table[index].length != 0 {
        var place = Int(table[index].hash) & (wanted &- 1)
        while grown[place].length != 0 { place = (place &+ 1) & (wanted &- 1) }
        grown[place] = table[index]
      }
      free(table)
    }
    table = grown
    capacity = wanted
  }

  private static func hash(_ name: UnsafeRawPointer, _ length: Int) -> UInt32 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for index in 0..<length {
      hash ^= UInt64(name.load(fromByteOffset: index, as: UInt8.self))
      hash &*= 0x0000_0100_0000_01B3
    }
    return UInt32(truncatingIfNeeded: hash ^ hash >> 32)
  }

  deinit { free(table) }
}
