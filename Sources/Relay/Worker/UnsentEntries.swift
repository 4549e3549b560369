/// Claimed entries with notifications to send, by lane and in their order. A class, because each call
/// on a structure in the worker would retain all of its arrays.
final class UnsentEntries {
  private struct Line {
    var entries: [HeldEntry] = []
    var start = 0

    var first: HeldEntry? { start < entries.count ? entries[start] : nil }

    mutating func removeFirst() {
      start += 1
      if start == entries.count {
        entries.removeAll(keepingCapacity: true)
        start = 0
      } else if 2 * start > entries.count {
        // In time, because an entry of many devices takes much memory.
        entries.removeFirst(start)
        start = 0
      }
    }
  }

  private struct OfLane {
    var line = Line()
    /// Entries that waited for their bucket, by bucket. They come before `line`.
    var heldUp: [(bucket: String, line: Line)] = []

    var isEmpty: Bool { line.first == nil && heldUp.isEmpty }

    func first(blocked: Set<String>) -> HeldEntry? {
      if heldUp.isEmpty { return line.first }
      return placeHeldUp(blocked).map { heldUp[$0].line.first } ?? line.first
    }

    mutating func removeFirst(blocked: Set<String>) {
      guard let place = placeHeldUp(blocked) else {
        line.removeFirst()
        return holdUp(blocked)
      }
      heldUp[place].line.removeFirst()
      if heldUp[place].line.first == nil { heldUp.remove(at: place) }
    }

    private func placeHeldUp(_ blocked: Set<String>) -> Int? {
      heldUp.isEmpty ? nil : heldUp.firstIndex { !blocked.contains($0.bucket) }
    }

    /// Afterwards the line begins with an entry that is not blocked.
    mutating func holdUp(_ blocked: Set<String>) {
      guard !blocked.isEmpty else { return }
      while let held = line.first, blocked.contains(held.bucket) {
        line.removeFirst()
        if let place = heldUp.firstIndex(where: { $0.bucket == held.bucket }) {
          heldUp[place].line.entries.append(held)
        } else {
          heldUp.append((held.bucket, Line(entries: [held])))
        }
      }
    }

    var all: [HeldEntry] {
      heldUp.flatMap { $0.line.entries[$0.line.start...] } + line.entries[line.start...]
    }
  }

  // No exclusivity checks, as in `HeldEntry`.
  @exclusivity(unchecked) private var lanes = ByLane(OfLane())
  /// The buckets whose entries must wait.
  @exclusivity(unchecked) private var blocked: Set<String> = []
  /// How many of `Lane.share` notifications were sent since each waiting lane had its turn.
  @exclusivity(unchecked) private var turn = 0
  /// The number of notifications.
  @exclusivity(unchecked) private(set) var count = 0
  /// The number of those with a bucket, by bucket; and of all, by lane.
  private var counts: [String: Int] = [:]
  private(set) var countsOfLanes = ByLane(0)

  func count(of bucket: String) -> Int { counts[bucket] ?? 0 }
  /// The number of notifications of entries with a bucket.
  var countInBuckets: Int { counts.isEmpty ? 0 : counts.values.reduce(0, +) }

  var isEmpty: Bool { Lane.allCases.allSatisfy { lanes[$0].isEmpty } }

  /// Whether the first lane has notifications to send.
  var hasUrgent: Bool { first(of: .urgent) != nil }

  private var first: HeldEntry? {
    first(of: .urgent) ?? first(of: .normal) ?? first(of: .bulk)
  }

  private func first(of lane: Lane) -> HeldEntry? { lanes[lane].first(blocked: blocked) }

  /// The next entry that is not blocked, and how many notifications of it are sent before it is
  /// another lane's turn: the waiting lanes after the first have one turn each at the end of a
  /// round.
  var next: (held: HeldEntry, turns: Int)? {
    guard let first else { return nil }
    let normal = first.lane == .urgent ? self.first(of: .normal) : nil
    let bulk = first.lane == .bulk ? nil : self.first(of: .bulk)
    let others = (normal == nil ? 0 : 1) + (bulk == nil ? 0 : 1)
    if others == 0 { return (first, .max) }
    let own = Lane.share - others
    if turn < own { return (first, own - turn) }
    let isLast = turn == Lane.share - 1
    return ((isLast ? bulk ?? normal : normal) ?? first, 1)
  }

  /// Counts notifications of an entry that were sent, and positions that it has passed.
  func sent(_ count: Int, passed: Int, of held: HeldEntry) {
    turn = (turn + count) % Lane.share
    add(-passed, of: held)
  }

  private func add(_ number: Int, of held: HeldEntry) {
    count += number
    guard !held.bucket.isEmpty else { return }
    countsOfLanes[held.lane] += number
    let all = count(of: held.bucket) + number
    counts[held.bucket] = all == 0 ? nil : all
  }

  func append(_ held: HeldEntry) {
    add(held.count - held.cursor, of: held)
    lanes[held.lane].line.entries.append(held)
    lanes[held.lane].holdUp(blocked)
  }

  /// Removes the first entry of the lane that is not blocked.
  func removeFirst(of lane: Lane) { lanes[lane].removeFirst(blocked: blocked) }

  /// The bucket's entries wait, and others of their lanes overtake them.
  func block(_ bucket: String) {
    blocked.insert(bucket)
    for lane in Lane.allCases { lanes[lane].holdUp(blocked) }
  }

  func unblock() {
    if !blocked.isEmpty { blocked.removeAll(keepingCapacity: true) }
  }

  /// Removes those for which `isMeant` is true, and keeps the order of the others.
  func remove(where isMeant: (HeldEntry) -> Bool) -> [HeldEntry] {
    Lane.allCases.flatMap { lane in
      let waiting = lanes[lane].all
      let removed = waiting.filter(isMeant)
      guard !removed.isEmpty else { return removed }
      lanes[lane] = OfLane()
      for held in removed { add(held.cursor - held.count, of: held) }
      for held in waiting where !isMeant(held) { lanes[lane].line.entries.append(held) }
      lanes[lane].holdUp(blocked)
      return removed
    }
  }

  func removeAll() -> [HeldEntry] { remove { _ in true } }
}
