import GRDB

/// Adds entries to the table. Most of a row's cost is the statement around it, so entries with only
/// the common columns, such as those of the binary listener, share a statement.
extension SQLiteQueue {
  private static let plain = "app, id, token, payload, priority, expiry, made"
  private static let one = """
    INSERT OR IGNORE INTO entries (\(plain)) VALUES (?, ?, ?, ?, ?, ?, ?)
    """
  private static let many =
    one + String(repeating: ", (?, ?, ?, ?, ?, ?, ?)", count: HotStatement.rowsTogether - 1)
  private static let any = """
    INSERT OR IGNORE INTO entries (\(plain), tokens, channel, topic, push_type, collapse_id, deadline, lane,
      due, campaign, traceparent)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """

  package func enqueue(_ entries: [NewEntry], at now: Int64) throws -> Int {
    for entry in entries {
      if let fault = entry.fault ?? entry.dueFault(at: now) { throw fault }
    }
    try file.demandFile()
    try file.demandRoom(for: entries.reduce(0) { $0 + $1.weight })
    return try file.change(canWait: true) { database in
      var (count, next) = (0, 0)
      while next < entries.count {
        let run = Self.plainRun(entries, from: next)
        var statement = try HotStatement(
          database, run == HotStatement.rowsTogether ? Self.many : run > 0 ? Self.one : Self.any)
        // Fewer rows than a statement has places for are added one by one.
        let rows = run == HotStatement.rowsTogether ? run : 1
        for entry in entries[next..<(next + rows)] {
          Self.bind(entry, at: now, isPlain: run > 0, to: &statement)
        }
        try statement.run()
        // A row that the trigger or the index ignored is not counted.
        count += database.changesCount
        next += rows
      }
      return count
    }
  }

  /// The number of consecutive plain entries from `start`, up to the rows of one statement.
  private static func plainRun(_ entries: [NewEntry], from start: Int) -> Int {
    var end = start
    while end < min(entries.count, start + HotStatement.rowsTogether), entries[end].isPlain {
      end += 1
    }
    return end - start
  }

  private static func bind(
    _ entry: NewEntry, at now: Int64, isPlain: Bool, to statement: inout HotStatement
  ) {
    statement.bind(entry.app)
    statement.bind(entry.id)
    statement.bind(optional: entry.token)
    statement.bind(entry.payload)
    statement.bind(optional: entry.priority.map { Int64($0) })
    statement.bind(optional: entry.expiry)
    statement.bind(max(now, entry.due ?? 0))
    if isPlain { return }
    statement.bind(optional: entry.tokens)
    statement.bind(optional: entry.channel)
    statement.bind(optional: entry.topic)
    statement.bind(optional: entry.pushType)
    statement.bind(optional: entry.collapseID)
    statement.bind(optional: entry.deadline)
    statement.bind(entry.lane.rawValue)
    statement.bind(entry.due ?? 0)
    statement.bind(optional: entry.campaign)
    statement.bind(optional: entry.traceparent)
  }
}

extension NewEntry {
  /// The approximate bytes of its row and of the row's index entries.
  fileprivate var weight: Int {
    payload.utf8.count + 2 * id.utf8.count + (token ?? tokens ?? channel ?? "").utf8.count + 200
  }

  /// Whether it uses only the common columns.
  fileprivate var isPlain: Bool {
    tokens == nil && channel == nil && topic == nil && pushType == nil && collapseID == nil
      && deadline == nil && lane == .normal && due == nil && campaign == nil && traceparent == nil
  }
}
