/// Claimed entries with notifications to send, by lane and in their order.
struct UnsentEntries {
  private struct Line {
    var entries: [HeldEntry] = []
    var start = 0

    var first: HeldEntry? { start < entries.count ? entries[start] : nil }
  }

  private var lines = ByLane(Line())
  /// How many of `Lane.share` notifications were sent since each waiting lane had its turn.
  private var turn = 0

  var isEmpty: Bool { first == nil }

  /// Whether the first lane has notifications to send.
  var hasUrgent: Bool { lines[.urgent].first != nil }

  private var first: HeldEntry? {
    lines[.urgent].first ?? lines[.normal].first ?? lines[.bulk].first
  }

  /// The next entry, and how many notifications of it are sent before it is another lane's turn:
  /// the waiting lanes after the first have one turn each at the end of a round.
  var next: (held: HeldEntry, turns: Int)? {
    guard let first else { return nil }
    let normal = first.lane == .urgent ? lines[.normal].first : nil
    let bulk = first.lane == .bulk ? nil : lines[.bulk].first
    let others = (normal == nil ? 0 : 1) + (bulk == nil ? 0 : 1)
    if others == 0 { return (first, .max) }
    let own = Lane.share - others
    if turn < own { return (first, own - turn) }
    let isLast = turn == Lane.share - 1
    return ((isLast ? bulk ?? normal : normal) ?? first, 1)
  }

  mutating func sent(_ count: Int) { turn = (turn + count) % Lane.share }

  mutating func append(_ held: HeldEntry) { lines[held.lane].entries.append(held) }

  /// Removes the first entry of the lane.
  mutating func removeFirst(of lane: Lane) {
    lines[lane].start += 1
    if lines[lane].start == lines[lane].entries.count {
      lines[lane].entries.removeAll(keepingCapacity: true)
      lines[lane].start = 0
    } else if lines[lane].start > 4096 {
      lines[lane].entries.removeFirst(lines[lane].start)
      lines[lane].start = 0
    }
  }

  mutating func removeAll() -> [HeldEntry] {
    defer { self = UnsentEntries() }
    return Lane.allCases.flatMap { lines[$0].entries[lines[$0].start...] }
  }
}
