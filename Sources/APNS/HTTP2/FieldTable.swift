import CSystem

/// A header field that the table may hold.
enum TableField: UInt8 {
  case authority, topic, pushType, priority, expiration, collapseID, channelID, id, requestID

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
      apns-channel-id
      apns-id
      apns-request-id

      """)[Int(number)]
  }

  /// The value differs for each notification, or is the same for many.
  var varies: Bool { rawValue >= TableField.expiration.rawValue }

  /// No two requests have the same value.
  var isUnique: Bool { rawValue >= TableField.id.rawValue }
}

/// HPACK's dynamic table (RFC 7541, 2.3.2) for one connection's requests, with the newest fields.
/// The peer may keep more, but not less.
struct FieldTable {
  private struct Entry {
    var field: UInt8
    var count: UInt16
    var start: UInt16
  }

  private static var maximum: Int { 16 }
  /// The maximum size of its entries, as HPACK counts (RFC 7541, 4.1).
  private static var largest: Int { 1024 }
  static var size: Int { maximum &* MemoryLayout<Entry>.stride &+ largest }

  private let entries: UnsafeMutablePointer<Entry>
  private let text: UnsafeMutableRawPointer
  /// Entries are numbered from the first one ever added: `first..<end` exist.
  private var first = 0
  private var end = 0
  /// Where the next text goes, and the size of all entries.
  private var textEnd = 0
  private var weight = 0
  private var limit = Self.largest
  /// Size that the peer keeps. A reduction must be signaled to the peer (RFC 7541, 4.2).
  private var kept = 4096
  private(set) var isReduced = false
  /// For each field, one more than its newest entry, and a digest of the last value.
  private var newest = InlineArray<9, Int>(repeating: 0)
  private var digests = InlineArray<9, UInt32>(repeating: 0)

  /// `memory` is lent, and has that size.
  init(_ memory: UnsafeMutableRawPointer) {
    entries = memory.bindMemory(to: Entry.self, capacity: Self.maximum)
    text = memory + Self.maximum &* MemoryLayout<Entry>.stride
  }

  /// The peer allows a table of that size.
  mutating func limit(to size: Int) {
    guard size < kept else { return }
    kept = size
    isReduced = true
    limit = min(limit, size)
    while weight > limit { drop() }
  }

  /// The table size to send to the peer.
  mutating func reportLimit() -> Int {
    isReduced = false
    return kept
  }

  /// How many entries there have ever been: indexes stay the same as long as it does.
  var count: Int { end }

  /// One more than the number of that field's newest entry; 0 without one.
  func newest(_ field: TableField) -> Int { newest[Int(field.rawValue)] }

  /// The index as the peer counts it: from 62 on, the newest first (RFC 7541, 2.3.3).
  @inline(__always)
  private func index(_ number: Int) -> Int { 61 &+ end &- number }

  @inline(__always)
  mutating func holds(
    _ number: Int, _ field: TableField, _ value: UnsafeRawBufferPointer
  ) -> Bool {
    let entry = entries[number & (Self.maximum &- 1)]
    guard entry.field == field.rawValue, Int(entry.count) == value.count,
      let base = value.baseAddress
    else { return false }
    return memcmp(text + Int(entry.start), base, value.count) == 0
  }

  /// The index of that field with that value; nil if not found.
  mutating func find(_ field: TableField, _ value: UnsafeRawBufferPointer) -> Int? {
    let last = newest[Int(field.rawValue)] &- 1
    if last >= first, holds(last, field, value) { return index(last) }
    return search(field, value)
  }

  @inline(never)
  private mutating func search(_ field: TableField, _ value: UnsafeRawBufferPointer) -> Int? {
    for number in first..<end where holds(number, field, value) {
      newest[Int(field.rawValue)] = number &+ 1
      return index(number)
    }
    return nil
  }

  /// The index of an entry with that name; nil if not found.
  mutating func findName(_ field: TableField) -> Int? {
    let last = newest[Int(field.rawValue)] &- 1
    return last >= first ? index(last) : nil
  }

  /// Whether it is worth an entry. A value that varies is, when the one before was the same.
  mutating func isWorth(_ field: TableField, _ value: UnsafeRawBufferPointer) -> Bool {
    guard field.varies, !field.isUnique else { return true }
    var digest: UInt32 = 2_166_136_261
    for byte in value { digest = (digest ^ UInt32(byte)) &* 16_777_619 }
    let isAgain = digests[Int(field.rawValue)] == digest
    digests[Int(field.rawValue)] = digest
    return isAgain
  }

  /// Adds it, as the peer does; false if it does not fit.
  mutating func insert(_ field: TableField, _ value: UnsafeRawBufferPointer) -> Bool {
    let size = 32 &+ field.name.count &+ value.count
    guard size <= limit, let base = value.baseAddress else { return false }
    while weight &+ size > limit || end &- first >= Self.maximum { drop() }
    if textEnd &+ value.count > Self.largest { moveUp() }
    memcpy(text + textEnd, base, value.count)
    entries[end & (Self.maximum &- 1)] = Entry(
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
    let entry = entries[first & (Self.maximum &- 1)]
    weight &-= 32 &+ TableField.name(entry.field).count &+ Int(entry.count)
    first &+= 1
  }

  /// Texts lie in the order of their entries; the room of the oldest is used again.
  private mutating func moveUp() {
    guard first < end else {
      textEnd = 0
      return
    }
    let start = entries[first & (Self.maximum &- 1)].start
    textEnd &-= Int(start)
    memmove(text, text + Int(start), textEnd)
    for number in first..<end { entries[number & (Self.maximum &- 1)].start &-= start }
  }
}
