/// The outcomes of a batch, as records, and the tokens among them that are gone or refused.
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

  /// A record has no more of them, so that a reader gets none that is too large.
  private static let longest = 1000

  /// JSON arrays. What was added last may not be among them before `end`.
  private(set) var records: [[UInt8]] = []
  private(set) var gone = Tokens()
  private(set) var refused = Tokens()
  private var list: OutcomeList
  /// How many are not in `records` yet.
  private var rest: Int

  /// As many as the batch has.
  init(of count: Int) {
    rest = count
    list = OutcomeList(of: min(count, Self.longest))
  }

  /// `after` gets their places.
  mutating func add(_ verdict: Verdict, _ after: inout PositionSet) {
    // Those that were accepted come first, so that they share an element of the record.
    let count = add(verdict, accepted: true, &after)
    if count < verdict.outcomes.count { _ = add(verdict, accepted: false, &after) }
  }

  private mutating func add(
    _ verdict: Verdict, accepted isAccepted: Bool, _ after: inout PositionSet
  ) -> Int {
    var count = 0
    verdict.forEachOutcome { outcome in
      guard (outcome.pointee.end == .accepted) == isAccepted else { return }
      count += 1
      if list.count == Self.longest { end() }
      list.add(outcome, of: verdict)
      after.insert(outcome.pointee.position)
      if let since = outcome.pointee.goneSince { gone.add(outcome.pointee.token, since) }
      if let since = outcome.pointee.refusedSince { refused.add(outcome.pointee.token, since) }
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
