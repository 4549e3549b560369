/// Claimed entries with notifications to send, in their order.
struct UnsentEntries {
  private var entries: [HeldEntry] = []
  private var start = 0

  var first: HeldEntry? { start < entries.count ? entries[start] : nil }

  mutating func append(_ held: HeldEntry) { entries.append(held) }

  mutating func removeFirst() {
    start += 1
    if start == entries.count {
      entries.removeAll(keepingCapacity: true)
      start = 0
    } else if start > 4096 {
      entries.removeFirst(start)
      start = 0
    }
  }

  mutating func removeAll() -> ArraySlice<HeldEntry> {
    defer { self = UnsentEntries() }
    return entries[start...]
  }
}
