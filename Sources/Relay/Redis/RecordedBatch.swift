/// Updates as arguments of the script `record`.
struct RecordedBatch {
  /// The positions of an entry that have an outcome.
  struct Known {
    /// As Redis stores it, for the comparison.
    fileprivate let text: String
    fileprivate let resolved: PositionSet

    init(_ resolved: PositionSet) {
      self.resolved = resolved
      text = resolved.text
    }

    /// "." stands for all positions.
    init(text: String) {
      self.text = text
      resolved = PositionSet(text: text)
    }

    func has(_ position: Int) -> Bool { text == "." || resolved.contains(position) }

    func lacks(someOf other: Known) -> Bool {
      text != "." && !other.resolved.isSubset(of: resolved)
    }
  }

  /// Outcome records, JSON arrays.
  let records: [[UInt8]]
  /// The remaining arguments, in MessagePack.
  let bytes: [UInt8]
  /// The index in `updates` for each place by which the script counts them.
  let order: [Int]

  /// `ahead` is the difference of Redis's clock from ours.
  init(_ updates: [EntryUpdate], _ known: [Known], ahead: Int64, at now: Int64) {
    var outcomes = RecordedOutcomes(of: updates.reduce(0) { $0 + $1.outcomes.count })
    var parts = MessagePack.Writer()
    /// The finished IDs, in one list per record, their indices, and the indices of all other
    /// updates.
    var (ended, endedCounts) = ([MessagePack.Writer()], [0])
    var (ends, others) = ([Int](), [Int]())
    for index in updates.indices {
      var after = known[index].resolved
      let kept = outcomes.add(updates[index], &after)
      while ended.count <= outcomes.records.count {
        ended.append(MessagePack.Writer())
        endedCounts.append(0)
      }
      let isEmpty = updates[index].outcomes.isEmpty
      let isByOrder = updates[index].isByOrder
      if !isEmpty, !isByOrder, known[index].text.isEmpty, updates[index].disposition == .finished {
        ended[outcomes.records.count].add(updates[index].id)
        endedCounts[outcomes.records.count] += 1
        ends.append(index)
        continue
      }
      others.append(index)
      parts.addList(of: isByOrder ? 12 : kept == nil ? 9 : 11)
      Self.add(updates[index], ahead: ahead, at: now, to: &parts)
      parts.add(isEmpty ? 0 : outcomes.records.count + 1)
      parts.add(known[index].text)
      parts.add(after.text)
      if kept != nil || isByOrder {
        parts.add(kept?.positions.text ?? "")
        parts.add(kept?.record ?? 0)
      }
      if isByOrder { parts.add(1) }
    }
    outcomes.end()
    records = outcomes.records
    var all = MessagePack.Writer()
    all.addList(of: 5)
    all.addList(of: others.count)
    all.add(written: parts)
    all.addList(of: 2 * outcomes.gone.count)
    all.add(written: outcomes.gone.list)
    all.addList(of: 2 * outcomes.bad.count)
    all.add(written: outcomes.bad.list)
    all.addList(of: ended.count)
    for (list, count) in zip(ended, endedCounts) {
      all.addList(of: count)
      all.add(written: list)
    }
    let counts = updates.outcomesOfCampaigns()
    all.addList(of: 3 * counts.count)
    for count in counts {
      all.add(count.campaign)
      all.add(count.what.text)
      all.add(count.count)
    }
    bytes = all.bytes
    order = ends + others
  }

  private static func add(
    _ update: EntryUpdate, ahead: Int64, at now: Int64, to batch: inout MessagePack.Writer
  ) {
    batch.add(update.id)
    batch.add(update.deliveries)
    func time(_ due: Int64) -> Int64 {
      due >= PausedTime.due ? due : max(1, due + ahead / 1000 * 1000)
    }
    func add(_ disposition: String, due: Int64 = 0, isRequested: Bool = false, line: String? = nil)
    {
      batch.add(disposition)
      batch.add(due)
      batch.add(isRequested ? 1 : 0)
      batch.add(line.map { "\(TimeText.of(now)) \($0)" } ?? "")
    }
    switch update.disposition {
    case .held: add("held")
    case .finished: add("finished")
    case .deferred(let due, let isRequested, let line):
      add("deferred", due: time(due), isRequested: isRequested, line: line)
    case .released(let due): add("released", due: due.map(time) ?? 0)
    case .dead(let line): add("dead", line: line)
    }
  }
}
