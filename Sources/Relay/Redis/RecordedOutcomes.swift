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

  /// `count` is the number of outcomes in the batch.
  init(of count: Int) {
    rest = count
    list = OutcomeList(of: min(count, Self.longest))
  }

  /// Adds the outcomes of an update, and their positions to `after`.
  mutating func add(_ update: EntryUpdate, _ after: inout PositionSet) {
    // Accepted ones first, so that they share an element of the record.
    let count = add(update, accepted: true, &after)
    if count < update.outcomes.count { _ = add(update, accepted: false, &after) }
  }

  private mutating func add(
    _ update: EntryUpdate, accepted isAccepted: Bool, _ after: inout PositionSet
  ) -> Int {
    var count = 0
    update.forEachOutcome { outcome in
      guard (outcome.pointee.kind == .accepted) == isAccepted else { return }
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
