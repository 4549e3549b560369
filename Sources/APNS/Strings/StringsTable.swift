import CSystem

/// The pairs of a strings file, sorted by their keys.
struct StringsTable: ~Copyable {
  /// Far more than any localization needs, and small enough for 32-bit offsets.
  static let largestFile = 16 << 20

  struct Entry {
    var keyStart: UInt32
    var keyLength: UInt32
    var valueStart: UInt32
    var valueLength: UInt32
    /// The place of the value's string in the file.
    var value: CharacterReader
  }

  /// The file, kept so that places in it can be reported later.
  private let source: UnsafeMutableRawPointer
  /// Keys and values in UTF-8, each followed by a NUL.
  private let texts: UnsafeMutableRawPointer
  private let capacity: Int
  private var used = 0
  private var entries: UnsafeMutablePointer<Entry>?
  private var room = 0
  private(set) var count = 0

  private init(_ source: UnsafeMutableRawPointer, _ texts: UnsafeMutableRawPointer, _ capacity: Int)
  {
    self.source = source
    self.texts = texts
    self.capacity = capacity
  }

  static func read(_ file: UnsafeRawBufferPointer) throws(StringsFault) -> StringsTable {
    guard file.count <= largestFile else {
      throw StringsFault(reason: .tooLarge, place: TextPlace())
    }
    // Two bytes of UTF-16 become at most three bytes. The NUL takes the room of the quotes, or of
    // the character after an unquoted string.
    let capacity = file.count &* 3 / 2 &+ 2
    guard let source = malloc(max(file.count, 1)) else {
      throw StringsFault(reason: .outOfMemory, place: TextPlace())
    }
    guard let texts = malloc(capacity) else {
      free(source)
      throw StringsFault(reason: .outOfMemory, place: TextPlace())
    }
    if let bytes = file.baseAddress { source.copyMemory(from: bytes, byteCount: file.count) }
    var table = StringsTable(source, texts, capacity)
    try StringsParser.parse(UnsafeRawBufferPointer(start: source, count: file.count), into: &table)
    table.sort()
    table.keepLast()
    return table
  }

  deinit {
    free(source)
    free(texts)
    free(entries)
  }

  // MARK: Lookup

  func key(_ entry: Entry) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: texts + Int(entry.keyStart), count: Int(entry.keyLength))
  }

  /// The value's text, followed by a NUL.
  func value(_ entry: Entry) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: texts + Int(entry.valueStart), count: Int(entry.valueLength))
  }

  /// All pairs, in the order of their keys.
  var all: UnsafeBufferPointer<Entry> { UnsafeBufferPointer(start: entries, count: count) }

  func find(_ key: UnsafeRawBufferPointer) -> Entry? {
    guard let entries else { return nil }
    var (low, high) = (0, count)
    while low < high {
      let middle = (low &+ high) / 2
      let order = Self.compare(self.key(entries[middle]), key)
      if order == 0 { return entries[middle] }
      if order < 0 { low = middle &+ 1 } else { high = middle }
    }
    return nil
  }

  /// The place in the file of the value's byte at `offset`.
  func place(of offset: Int, in entry: Entry) -> TextPlace {
    var left = offset
    do throws(StringsFault) {
      guard var string = try StringReader(entry.value) else { return entry.value.place }
      while let character = try string.next() {
        left &-= UTF8Text.length(character)
        if left < 0 { return string.place }
      }
      return string.place
    } catch {
      return entry.value.place
    }
  }

  // MARK: Filling

  /// Where the next text will begin.
  var end: UInt32 { UInt32(truncatingIfNeeded: used) }

  /// Decodes one string into the texts and returns its length.
  mutating func append(_ string: inout StringReader) throws(StringsFault) -> UInt32 {
    let start = used
    while let character = try string.next() {
      let length = UTF8Text.length(character)
      guard capacity &- used > length else { throw string.reader.fault(.outOfMemory) }
      _ = UTF8Text.encode(character, into: texts + used)
      used &+= length
    }
    let length = used &- start
    guard used < capacity else { throw string.reader.fault(.outOfMemory) }
    texts.storeBytes(of: 0, toByteOffset: used, as: UInt8.self)
    used &+= 1
    return UInt32(truncatingIfNeeded: length)
  }

  mutating func append(_ entry: Entry) throws(StringsFault) {
    if count == room {
      let more = max(room &* 2, 64)
      guard let memory = realloc(entries, more &* MemoryLayout<Entry>.stride) else {
        throw entry.value.fault(.outOfMemory)
      }
      entries = memory.bindMemory(to: Entry.self, capacity: more)
      room = more
    }
    guard let entries else { return }
    (entries + count).initialize(to: entry)
    count &+= 1
  }

  // MARK: Sorting

  @inline(never)
  private static func compare(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
    let shared = min(a.count, b.count)
    if shared > 0, let left = a.baseAddress, let right = b.baseAddress {
      let order = memcmp(left, right, shared)
      if order != 0 { return Int(order) }
    }
    return a.count &- b.count
  }

  /// Sorts by key; equal keys keep the file's order.
  private func isBefore(_ a: Entry, _ b: Entry) -> Bool {
    let order = Self.compare(key(a), key(b))
    return order == 0 ? a.keyStart < b.keyStart : order < 0
  }

  /// Heapsort: it needs no memory, and no file makes it slow.
  private func sort() {
    guard let entries, count > 1 else { return }
    var root = count / 2
    while root > 0 {
      root &-= 1
      sift(entries, root, count)
    }
    var end = count
    while end > 1 {
      end &-= 1
      let largest = entries[0]
      entries[0] = entries[end]
      entries[end] = largest
      sift(entries, 0, end)
    }
  }

  private func sift(_ entries: UnsafeMutablePointer<Entry>, _ start: Int, _ end: Int) {
    var root = start
    let moved = entries[root]
    while root &* 2 &+ 1 < end {
      var child = root &* 2 &+ 1
      if child &+ 1 < end, isBefore(entries[child], entries[child &+ 1]) { child &+= 1 }
      if !isBefore(moved, entries[child]) { break }
      entries[root] = entries[child]
      root = child
    }
    entries[root] = moved
  }

  /// Among equal keys the last one counts, as on the device.
  private mutating func keepLast() {
    guard let entries, count > 1 else { return }
    var kept = 0
    for index in 1..<count {
      if Self.compare(key(entries[kept]), key(entries[index])) != 0 { kept &+= 1 }
      entries[kept] = entries[index]
    }
    count = kept &+ 1
  }
}
