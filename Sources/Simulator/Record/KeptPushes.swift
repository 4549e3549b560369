/// The newest notifications in the order of their numbers. Deleted ones leave gaps in the numbers.
/// A copy shares the pieces, so that a search does not hold the lock, and the next push copies only
/// the last piece.
package struct KeptPushes: Sendable {
  /// Whether a search finds it.
  package typealias Condition = @Sendable (KeptPush) -> Bool

  /// The oldest first; none is empty.
  private var pieces: [PushPiece] = []
  package private(set) var count = 0
  /// The number of the last notification ever added; 0 before the first.
  package private(set) var last = 0
  /// How many older ones gave way since the last reset.
  package private(set) var dropped = 0

  /// The lowest number; nil if empty.
  package var first: Int? { pieces.first?.first }

  mutating func add(_ push: inout RecentPush) {
    last += 1
    push.number = last
    if pieces.last?.count ?? PushPiece.size >= PushPiece.size { pieces.append(PushPiece()) }
    pieces[pieces.count - 1].append(push)
    count += 1
  }

  /// Drops the oldest pieces, and keeps at least `limit` notifications.
  mutating func shorten(to limit: Int) {
    while let oldest = pieces.first?.count, count - oldest >= limit {
      pieces.removeFirst()
      count -= oldest
      dropped += oldest
    }
  }

  /// False if it is not kept.
  mutating func remove(_ number: Int) -> Bool {
    guard let (piece, index) = place(of: number) else { return false }
    pieces[piece].remove(at: index)
    if pieces[piece].count == 0 { pieces.remove(at: piece) }
    count -= 1
    return true
  }

  mutating func removeAll() {
    pieces = []
    (count, dropped) = (0, 0)
  }

  /// nil if it is not kept.
  package subscript(number: Int) -> RecentPush? {
    place(of: number).map { pieces[$0.piece][$0.index] }
  }

  private func place(of number: Int) -> (piece: Int, index: Int)? {
    let piece = pieces.partitionIndex { $0.first > number } - 1
    guard piece >= 0, let index = pieces[piece].index(of: number) else { return nil }
    return (piece, index)
  }

  /// The newest matches between two numbers, the oldest first, and whether there are older ones.
  package func newest(
    _ limit: Int, after lower: Int = .min, before upper: Int = .max, where matches: Condition? = nil
  ) -> (pushes: [RecentPush], hasOlder: Bool) {
    var found: [RecentPush] = []
    for piece in pieces.reversed() where piece.first < upper {
      let hasOlder = piece.read { at -> Bool? in
        for index in (0..<piece.count).reversed() {
          let push = at(index)
          if push.number >= upper { continue }
          if push.number <= lower { return false }
          if let matches, !matches(push) { continue }
          if found.count == limit { return true }
          found.append(push.copy)
        }
        return nil
      }
      if let hasOlder { return (found.reversed(), hasOlder) }
    }
    return (found.reversed(), false)
  }

  /// The numbers of all matches after `number`, as runs without gaps.
  package func runs(after number: Int, where matches: Condition?) -> [ClosedRange<Int>] {
    var runs: [ClosedRange<Int>] = []
    func add(_ numbers: ClosedRange<Int>) {
      if let run = runs.last, run.upperBound == numbers.lowerBound - 1 {
        runs[runs.count - 1] = run.lowerBound...numbers.upperBound
      } else {
        runs.append(numbers)
      }
    }
    for piece in pieces where piece.last > number {
      // The page opens with all numbers: most pieces have no gap.
      if matches == nil, piece.last - piece.first < piece.count {
        add(max(piece.first, number + 1)...piece.last)
        continue
      }
      piece.read { at in
        for index in 0..<piece.count {
          let push = at(index)
          if push.number > number, matches?(push) ?? true { add(push.number...push.number) }
        }
      }
    }
    return runs
  }
}
