import CSystem

/// A header field that the table may have.
enum TableField: UInt8 {
  case authority, topic, pushType, priority, expiration, collapseID, id

  var name: UnsafeRawBufferPointer { Self.name(rawValue) }

  static func name(_ number: UInt8) -> UnsafeRawBufferPointer {
    WordList(
      """
      :authority
      apns-topic
      apns-push-type
      apns-priority
      apns-expiration
      apns-collapse-id
      apns-id

      """)[Int(number)]
  }

  /// Another value for each notification, or the same for many.
  var varies: Bool { rawValue >= TableField.expiration.rawValue }
}

/// What HPACK's dynamic table (RFC 7541, 2.3.2) has of one connection's requests: the newest
/// of what was put into it. The peer may keep more, but not less.
struct FieldTable {
  private struct Entry {
    var field: UInt8
    var count: UInt16
    var start: UInt16
  }

  private static var most: Int { 16 }
  /// What its entries may come to by HPACK's count (RFC 7541, 4.1).
  private static var largest: Int { 1024 }
  static var size: Int { most &* MemoryLayout<Entry>.stride &+ largest }

  private let entries: UnsafeMutablePointer<Entry>
  private let text: UnsafeMutableRawPointer
  /// Entries count from the first that was ever put in: `first..<end` are there.
  private var first = 0
  private var end = 0
  /// Where the next text goes, and what all entries come to.
  private var textEnd = 0
  private var weight = 0
  private var limit = Self.largest
  /// How much the peer keeps, which is owed the word of it where that has become less
  /// (RFC 7541, 4.2).
  private var kept = 4096
  private(set) var isReduced = false
  /// One more than the newest of each field, and a digest of what came last.
  private var newest = InlineArray<7, Int>(repeating: 0)
  private var digests = InlineArray<7, UInt32>(repeating: 0)

  /// `memory` is lent, and has that size.
  init(_ memory: UnsafeMutableRawPointer) {
    entries = memory.bindMemory(to: Entry.self, capacity: Self.most)
    text = memory + Self.most &* MemoryLayout<Entry>.stride
  }

  /// What the peer keeps may come to that much.
  mutating func limit(to size: Int) {
    guard size < kept else { return }
    kept = size
    isReduced = true
    limit = min(limit, size)
    while weight > limit { drop() }
  }

  /// What the peer is told that it has to keep.
  mutating func tellLimit() -> Int {
    isReduced = false
    return kept
  }

  /// How the peer counts them: from 62 on, the newest first (RFC 7541, 2.3.3).
  @inline(__always)
  private func index(_ number: Int) -> Int { 61 &+ end &- number }

  private mutating func holds(
    _ number: Int, _ field: TableField, _ value: UnsafeRawBufferPointer
  ) -> Bool {
    let entry = entries[number & (Self.most &- 1)]
    guard entry.field == field.rawValue, Int(entry.count) == value.count,
      let base = value.baseAddress
    else { return false }
    return memcmp(text + Int(entry.start), base, value.count) == 0
  }

  /// The index of that field with that value; nil where it is not there.
  mutating func find(_ field: TableField, _ value: UnsafeRawBufferPointer) -> Int? {
    let last = newest[Int(field.rawValue)] &- 1
    if last >= first, holds(last, field, value) { return index(last) }
    return search(field, value)
  }

  private mutating func search(_ field: TableField, _ value: UnsafeRawBufferPointer) -> Int? {
    for number in first..<end where holds(number, field, value) {
      newest[Int(field.rawValue)] = number &+ 1
      return index(number)
    }
    return nil
  }

  /// The index of an entry with that name; nil where there is none.
  mutating func findName(_ field: TableField) -> Int? {
    let last = newest[Int(field.rawValue)] &- 1
    return last >= first ? index(last) : nil
  }

  /// Whether it is worth an entry: a value that varies is, where the one before was the same.
  mutating func isWorth(_ field: TableField, _ value: UnsafeRawBufferPointer) -> Bool {
    guard field.varies, field != .id else { return true }
    var digest: UInt32 = 2_166_136_261
    for byte in value { digest = (digest ^ UInt32(byte)) &* 16_777_619 }
    let isAgain = digests[Int(field.rawValue)] == digest
    digests[Int(field.rawValue)] = digest
    return isAgain
  }

  /// Puts it in, as the peer does; false where there is no room for so much.
  mutating func insert(_ field: TableField, _ value: UnsafeRawBufferPointer) -> Bool {
    let size = 32 &+ field.name.count &+ value.count
    guard size <= limit, let base = value.baseAddress else { return false }
    while weight &+ size > limit || end &- first >= Self.most { drop() }
    if textEnd &+ value.count > Self.largest { moveUp() }
    memcpy(text + textEnd, base, value.count)
    entries[end & (Self.most &- 1)] = Entry(
      field: field.rawValue, count: UInt16(truncatingIfNeeded: value.count),
      start: UInt16(truncatingIfNeeded: textEnd))
    textEnd &+= value.count
    weight &+= size
    end &+= 1
    newest[Int(field.rawValue)] = end
    return true
  }

  /// Forgets the oldest.
  private mutating func drop() {
    let entry = entries[first & (Self.most &- 1)]
    weight &-= 32 &+ TableField.name(entry.field).count &+ Int(entry.count)
    first &+= 1
  }

  /// Texts lie in the order of their entries: what the oldest left is used again.
  private mutating func moveUp() {
    guard first < end else {
      textEnd = 0
      return
    }
    let start = entries[first & (Self.most &- 1)].start
    textEnd &-= Int(start)
    memmove(text, text + Int(start), textEnd)
    for number in first..<end { entries[number & (Self.most &- 1)].start &-= start }
  }
}
