/// Updates as arguments of the script `record`.
struct RecordedBatch {
  /// The positions of an entry that have an outcome.
  struct Known {
    /// As Redis stores it, for the comparison.
    fileprivate let text: String
    fileprivate let answered: PositionSet

    init(_ answered: PositionSet) {
      self.answered = answered
      text = answered.text
    }

    /// "." stands for all positions.
    init(text: String) {
      self.text = text
      answered = PositionSet(text: text)
    }

    func has(_ position: Int) -> Bool { text == "." || answered.contains(position) }

    func lacks(someOf other: Known) -> Bool {
      text != "." && !other.answered.isSubset(of: answered)
    }
  }

  /// Outcome records, JSON arrays.
  let records: [[UInt8]]
  /// The remaining arguments, in MessagePack.
  let bytes: [UInt8]
  /// The index in `verdicts` for each place by which the script counts them.
  let order: [Int]

  /// `ahead` is the difference of Redis's clock from ours.
  init(_ verdicts: [Verdict], _ known: [Known], ahead: Int64, at now: Int64) {
    var outcomes = RecordedOutcomes(of: verdicts.reduce(0) { $0 + $1.outcomes.count })
    var parts = MessagePack.Writer()
    /// The finished IDs, in one list per record, their indices, and the indices of all other
    /// updates.
    var (ended, endedCounts) = ([MessagePack.Writer()], [0])
    var (ends, others) = ([Int](), [Int]())
    for index in verdicts.indices {
      var after = known[index].answered
      outcomes.add(verdicts[index], &after)
      while ended.count <= outcomes.records.count {
        ended.append(MessagePack.Writer())
        endedCounts.append(0)
      }
      let isEmpty = verdicts[index].outcomes.isEmpty
      if !isEmpty, known[index].text.isEmpty, verdicts[index].next == .finished {
        ended[outcomes.records.count].add(verdicts[index].id)
        endedCounts[outcomes.records.count] += 1
        ends.append(index)
        continue
      }
      others.append(index)
      Self.add(verdicts[index], ahead: ahead, at: now, to: &parts)
      parts.add(isEmpty ? 0 : outcomes.records.count + 1)
      parts.add(known[index].text)
      parts.add(after.text)
    }
    outcomes.end()
    records = outcomes.records
    var all = MessagePack.Writer()
    all.addList(of: 4)
    all.addList(of: others.count)
    all.add(written: parts)
    all.addList(of: 2 * outcomes.gone.count)
    all.add(written: outcomes.gone.list)
    all.addList(of: 2 * outcomes.refused.count)
    all.add(written: outcomes.refused.list)
    all.addList(of: ended.count)
    for (list, count) in zip(ended, endedCounts) {
      all.addList(of: count)
      all.add(written: list)
    }
    bytes = all.bytes
    order = ends + others
  }

  private static func add(
    _ verdict: Verdict, ahead: Int64, at now: Int64, to batch: inout MessagePack.Writer
  ) {
    batch.addList(of: 9)
    batch.add(verdict.id)
    batch.add(verdict.deliveries)
    func add(_ what: String, due: Int64 = 0, isAnswered: Bool = false, story: String? = nil) {
      batch.add(what)
      batch.add(due)
      batch.add(isAnswered ? 1 : 0)
      batch.add(story.map { "\(TimeText.of(now)) \($0)" } ?? "")
    }
    switch verdict.next {
    case .held: add("held")
    case .finished: add("finished")
    case .later(let due, let isAnswered, let story):
      add("later", due: max(1, due + ahead / 1000 * 1000), isAnswered: isAnswered, story: story)
    case .untouched: add("untouched")
    case .dead(let story): add("dead", story: story)
    }
  }
}
