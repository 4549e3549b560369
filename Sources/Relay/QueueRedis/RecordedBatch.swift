/// Verdicts as the script `record` takes them.
struct RecordedBatch {
  /// A record of outcomes has no more of them, so that a reader gets none that is too large.
  private static let longest = 1000

  /// Which positions of an entry have an outcome already.
  struct Known {
    /// As Redis has it, which is compared.
    fileprivate let text: String
    fileprivate let answered: PositionSet

    init(_ answered: PositionSet) {
      self.answered = answered
      text = answered.text
    }

    /// "." is all of them.
    init(text: String) {
      self.text = text
      answered = PositionSet(text: text)
    }

    func has(_ position: Int) -> Bool { text == "." || answered.contains(position) }

    func lacks(someOf other: Known) -> Bool {
      text != "." && !other.answered.isSubset(of: answered)
    }
  }

  /// JSON arrays of outcomes.
  let records: [[UInt8]]
  /// The rest, in MessagePack.
  let bytes: [UInt8]
  /// Which verdicts the script counts as its first, second and so on.
  let order: [Int]

  /// `ahead`: how far the clock of Redis is before ours.
  init(_ verdicts: [Verdict], _ known: [Known], ahead: Int64, at now: Int64) {
    var records: [[UInt8]] = []
    var list = OutcomeList()
    func endRecord() {
      list.end()
      records.append(list.bytes)
      list = OutcomeList()
    }
    var (parts, gone, refused) = (
      MessagePack.Writer(), MessagePack.Writer(), MessagePack.Writer()
    )
    var (goneCount, refusedCount) = (0, 0)
    /// A list for each record, and which verdicts they are, and which are the others.
    var (ended, endedCounts) = ([MessagePack.Writer()], [0])
    var (ends, others) = ([Int](), [Int]())
    for (index, (verdict, known)) in zip(verdicts, known).enumerated() {
      var after = known.answered
      /// Those that were accepted come first, so that they share an element of the record. To copy an
      /// outcome would count references of all its texts.
      func add(accepted isAccepted: Bool) -> Int {
        var count = 0
        for index in verdict.outcomes.indices
        where (verdict.outcomes[index].end == .accepted) == isAccepted {
          count += 1
          if list.count == Self.longest { endRecord() }
          list.add(verdict.outcomes[index], of: verdict)
          after.insert(verdict.outcomes[index].position)
          if let since = verdict.outcomes[index].goneSince {
            goneCount += 1
            gone.add(verdict.outcomes[index].token)
            gone.add(since)
          }
          if let since = verdict.outcomes[index].refusedSince {
            refusedCount += 1
            refused.add(verdict.outcomes[index].token)
            refused.add(since)
          }
        }
        return count
      }
      if add(accepted: true) < verdict.outcomes.count { _ = add(accepted: false) }
      while ended.count <= records.count {
        ended.append(MessagePack.Writer())
        endedCounts.append(0)
      }
      if known.text.isEmpty, verdict.next == .finished, !verdict.outcomes.isEmpty {
        ended[records.count].add(verdict.id)
        endedCounts[records.count] += 1
        ends.append(index)
        continue
      }
      others.append(index)
      Self.add(verdict, ahead: ahead, at: now, to: &parts)
      parts.add(verdict.outcomes.isEmpty ? 0 : records.count + 1)
      parts.add(known.text)
      parts.add(after.text)
    }
    if list.count > 0 { endRecord() }
    self.records = records
    var all = MessagePack.Writer()
    all.addList(of: 4)
    all.addList(of: others.count)
    all.add(written: parts)
    all.addList(of: 2 * goneCount)
    all.add(written: gone)
    all.addList(of: 2 * refusedCount)
    all.add(written: refused)
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
      add("later", due: max(1, due + ahead), isAnswered: isAnswered, story: story)
    case .untouched: add("untouched")
    case .dead(let story): add("dead", story: story)
    }
  }
}
