/// The outcomes of a batch as records, and the gone and bad tokens among them.
struct RecordedOutcomes {
  /// Tokens, each with its time.
  struct Tokens {
    private(set) var list = MessagePack.Writer()
    private(set) var count = 0

    fileprivate mutating func add(_ token: WrittenToken, _ since: Int64) {
      count += 1
      token.withBytes { list.add($0) }
      list.add(since)
    }
  }

  /// The most outcomes in a record, so that readers get none that is too large.
  private static let longest = 1000

  /// JSON arrays. The last outcomes may be missing before `end`.
  private(set) var records: [[UInt8]] = []
  private(set) var gone = Tokens()
  private(set) var bad = Tokens()
  private var list: OutcomeList
  /// The number of outcomes that are not in `records` yet.
  private var rest: Int
  /// The next entry begins a record.
  private var isClosed = false

  /// `count` is the number of outcomes in the batch.
  init(of count: Int) {
    rest = count
    list = OutcomeList(of: min(count, Self.longest))
  }

  /// The outcomes that a dead letter keeps when it is given back.
  struct Kept {
    var positions: PositionSet
    /// The record with the last of them, counted from 1; 0 if this batch has none.
    var record = 0
  }

  /// Adds the outcomes of an update, and their positions to `after`. The outcomes `dead` of an entry
  /// have a separate record, which is removed when the entry is given back.
  mutating func add(_ update: EntryUpdate, _ after: inout PositionSet) -> Kept? {
    if isClosed { end() }
    isClosed = false
    // Accepted ones first, so that they share an element of the record.
    var count = add(update, &after) { $0 == .accepted }
    guard case .dead = update.disposition else {
      if count < update.outcomes.count { _ = add(update, &after) { $0 != .accepted } }
      return nil
    }
    count += add(update, &after) { $0 != .accepted && $0 != .dead }
    let kept = Kept(positions: after, record: count > 0 ? records.count + 1 : 0)
    end()
    _ = add(update, &after) { $0 == .dead }
    isClosed = true
    return kept
  }

  private mutating func add(
    _ update: EntryUpdate, _ after: inout PositionSet, _ isWanted: (PushOutcome.Kind) -> Bool
  ) -> Int {
    var count = 0
    update.forEachOutcome { outcome in
      guard isWanted(outcome.pointee.kind) else { return }
      count += 1
      if list.count == Self.longest { end() }
      list.add(outcome, of: update)
      after.insert(outcome.pointee.position)
      if let since = outcome.pointee.goneSince { gone.add(outcome.pointee.token, since) }
      if let since = outcome.pointee.badSince { bad.add(outcome.pointee.token, since) }
    }
    return count
  }

  mutating func end() {
    guard list.count > 0 else { return }
    list.end()
    records.append(list.bytes)
    rest -= list.count
    list = OutcomeList(of: min(rest, Self.longest))
  }
}
