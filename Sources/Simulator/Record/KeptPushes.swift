/// The newest notifications in the order of their numbers. Deleted ones leave gaps in the numbers.
/// A copy shares the pieces, so that a search does not hold the lock, and the next push copies only
/// the last piece.
package struct KeptPushes: Sendable {
  private static let pieceSize = 1024

  /// The oldest first; none is empty.
  private var pieces: [[RecentPush]] = []
  package private(set) var count = 0
  /// The number of the last notification ever added; 0 before the first.
  package private(set) var last = 0
  /// How many older ones gave way since the last reset.
  package private(set) var dropped = 0

  /// The lowest number; nil if empty.
  package var first: Int? { pieces.first?.first?.number }

  mutating func add(_ push: inout RecentPush) {
    last += 1
    push.number = last
    if pieces.last?.count ?? Self.pieceSize >= Self.pieceSize { pieces.append([]) }
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
    if pieces[piece].isEmpty { pieces.remove(at: piece) }
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
    let piece = pieces.partitionIndex { $0[0].number > number } - 1
    guard piece >= 0 else { return nil }
    let index = pieces[piece].partitionIndex { $0.number > number } - 1
    return pieces[piece][index].number == number ? (piece, index) : nil
  }

  /// The newest matches between two numbers, the oldest first, and whether there are older ones.
  package func newest(
    _ limit: Int, after lower: Int = .min, before upper: Int = .max,
    where matches: (RecentPush) -> Bool = { _ in true }
  ) -> (pushes: [RecentPush], hasOlder: Bool) {
    var found: [RecentPush] = []
    for piece in pieces.reversed() where piece[0].number < upper {
      for push in piece.reversed() where push.number < upper {
        if push.number <= lower { return (found.reversed(), false) }
        if !matches(push) { continue }
        if found.count == limit { return (found.reversed(), true) }
        found.append(push)
      }
    }
    return (found.reversed(), false)
  }

  /// The numbers of all matches after `number`, as runs without gaps.
  package func runs(
    after number: Int, where matches: (RecentPush) -> Bool
  ) -> [ClosedRange<Int>] {
    var runs: [ClosedRange<Int>] = []
    for piece in pieces where piece[piece.count - 1].number > number {
      for push in piece where push.number > number && matches(push) {
        if let run = runs.last, run.upperBound == push.number - 1 {
          runs[runs.count - 1] = run.lowerBound...push.number
        } else {
          runs.append(push.number...push.number)
        }
      }
    }
    return runs
  }
}
