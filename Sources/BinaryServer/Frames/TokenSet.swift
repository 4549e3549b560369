/// A set of device tokens. Looks up a frame's bytes without a copy.
package struct TokenSet: Sendable {
  private struct Entry {
    var hash: UInt64
    var offset: Int
    var count: Int
  }

  private var bytes: [UInt8] = []
  private var entries: [Entry] = []
  /// Indices of `entries`; -1 if free. The count is a power of two, and at least twice the number
  /// of entries.
  private var slots: [Int] = []

  package init() {}

  package init(_ tokens: some Sequence<[UInt8]>) {
    for token in tokens { insert(token) }
  }

  package var count: Int { entries.count }
  package var isEmpty: Bool { entries.isEmpty }

  package mutating func insert(_ token: [UInt8]) {
    token.withUnsafeBytes { token in
      if contains(token) { return }
      let hash = Self.hash(token)
      entries.append(Entry(hash: hash, offset: bytes.count, count: token.count))
      bytes.append(contentsOf: token)
      if entries.count * 2 > slots.count {
        slots = [Int](repeating: -1, count: max(16, slots.count * 2))
        for index in entries.indices { place(index) }
      } else {
        place(entries.count - 1)
      }
    }
  }

  package func contains(_ token: UnsafeRawBufferPointer) -> Bool {
    if entries.isEmpty { return false }
    let hash = Self.hash(token)
    let mask = slots.count - 1
    var slot = Int(truncatingIfNeeded: hash) & mask
    return bytes.withUnsafeBytes { bytes in
      while slots[slot] >= 0 {
        let entry = entries[slots[slot]]
        if entry.hash == hash, entry.count == token.count,
          bytes[entry.offset..<entry.offset + entry.count].elementsEqual(token)
        {
          return true
        }
        slot = (slot + 1) & mask
      }
      return false
    }
  }

  private mutating func place(_ index: Int) {
    let mask = slots.count - 1
    var slot = Int(truncatingIfNeeded: entries[index].hash) & mask
    while slots[slot] >= 0 { slot = (slot + 1) & mask }
    slots[slot] = index
  }

  /// FNV-1a over words of eight bytes, mixed at the end because the slot is its low bits.
  package static func hash(_ token: UnsafeRawBufferPointer) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    var offset = 0
    while token.count - offset >= 8 {
      hash =
        (hash ^ token.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) &* 0x100_0000_01b3
      offset += 8
    }
    while offset < token.count {
      hash = (hash ^ UInt64(token[offset])) &* 0x100_0000_01b3
      offset += 1
    }
    hash ^= hash >> 32
    hash = hash &* 0x9e37_79b9_7f4a_7c15
    return hash ^ hash >> 32
  }
}
