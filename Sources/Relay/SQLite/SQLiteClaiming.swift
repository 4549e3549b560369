import GRDB

/// Gives workers the entries that are due.
extension SQLiteQueue {
  private static let columns = """
    number, app, id, token, tokens, payload, topic, push_type, priority, expiry, collapse_id,
    deadline, deliveries, deferrals, channel, lane, campaign, made, traceparent
    """
  private static let later = """
    SELECT \(columns) FROM entries
    WHERE app = ? AND lane = ? AND worker IS NULL AND due > 0 AND due <= ? ORDER BY due, number
    """
  private static let new = """
    SELECT \(columns) FROM entries WHERE app = ?1 AND lane = ?2 AND worker IS NULL AND due = 0
      AND number > \(SQLiteClaims.last) ORDER BY number
    """

  /// Entries that were in crashes, the least suspicious first.
  private static let suspects = """
    SELECT \(columns), crashes FROM suspects CROSS JOIN entries ON number = entry
    WHERE app = ? AND worker IS NULL AND due <= ? AND crashes >= \(CrashGroup.apart)
    ORDER BY crashes, entry
    """

  package func hasEntries(app: String) throws -> Bool {
    try file.read { database in
      try HotStatement.finds(
        database,
        """
        SELECT 1 FROM entries
        WHERE app = ? AND lane IN (\(SQLiteSchema.lanes)) AND worker IS NULL AND due = 0
        """, app)
        || HotStatement.finds(
          database,
          """
          SELECT 1 FROM entries
          WHERE app = ? AND lane IN (\(SQLiteSchema.lanes)) AND worker IS NULL AND due > 0
          """, app)
    }
  }

  package func isAnythingThere(app: String, at now: Int64) throws -> Bool {
    try isAnythingThere(app: app, Lane.allCases, at: now)
  }

  package func nextDue(app: String, lanes: [Lane], at now: Int64) throws -> Int64? {
    if try isAnythingThere(app: app, lanes, at: now) { return now }
    return try file.read { database in
      try lanes.compactMap { lane in
        var later = try HotStatement(
          database,
          """
          SELECT min(due) FROM entries
          WHERE app = ? AND lane = ? AND worker IS NULL AND due > 0 AND due < ?
          """, app, lane.rawValue, PausedTime.due)
        return try later.step() ? later.optionalInt(0) : nil
      }.min()
    }
  }

  private func isAnythingThere(app: String, _ lanes: [Lane], at now: Int64) throws -> Bool {
    try file.read { database in
      try lanes.contains { lane in
        try HotStatement.finds(database, Self.later, app, lane.rawValue, now)
          || HotStatement.finds(database, Self.new, app, lane.rawValue)
      }
    }
  }

  package func bringBack(app: String, at now: Int64) throws -> Int {
    let parked = """
      app = ? AND lane IN (\(SQLiteSchema.lanes)) AND worker IS NULL AND due > 0 AND due > ?
        AND due < \(now + ParkedTime.longestMS) AND due % 1000 = 999 AND deferrals > 0
      """
    return try makeDue(where: parked, [app, now])
  }

  /// Makes entries due, and returns their number. Looks for them without a transaction that blocks
  /// others, because there are mostly none.
  func makeDue(where condition: String, _ arguments: StatementArguments) throws -> Int {
    let isAnyThere = try file.read { database in
      try Int.fetchOne(
        database, sql: "SELECT 1 FROM entries WHERE \(condition) LIMIT 1", arguments: arguments)
        == 1
    }
    guard isAnyThere else { return 0 }
    return try file.update("UPDATE entries SET due = 1 WHERE \(condition)", arguments)
  }

  static func hasSuspects(_ database: Database) throws -> Bool {
    try HotStatement.finds(database, "SELECT 1 FROM suspects LIMIT 1")
  }

  package func claim(
    _ workerID: WorkerID, lanes: [Lane], room: Int, inOrder: Bool, isFree: Bool, at now: Int64
  ) throws -> [Entry] {
    // Outside a transaction, because this check runs all the time.
    guard room > 0,
      try isAnythingThere(app: workerID.app, lanes, at: now)
        || isFree && lanes.count < Lane.allCases.count && file.read({ try Self.hasSuspects($0) })
    else { return [] }
    try file.demandFile()
    let budget = try file.roomToRecord()
    return try file.change { database in
      // A worker with an expired lease gets no entries until it joins again.
      guard try Self.knows(workerID, database) else { return [] }
      var collected = ClaimedRows(left: room, budget: budget)
      var fresh: [(lane: Lane, places: Range<Int>)] = []
      let lines = inOrder ? SQLiteLines(database: database, app: workerID.app) : nil
      let hasSuspects = try Self.hasSuspects(database)
      if hasSuspects {
        var suspects = try HotStatement(database, Self.suspects, workerID.app, now)
        // No other entry is handed out before a free worker has taken the suspects.
        if !isFree, try suspects.step() { return [] }
        try collected.take(&suspects, lines, areSuspects: true)
      }
      if collected.entries.isEmpty {
        for lane in lanes where collected.left > 0 {
          var later = try HotStatement(database, Self.later, workerID.app, lane.rawValue, now)
          try collected.take(&later, lines)
          let count = collected.entries.count
          var new = try HotStatement(database, Self.new, workerID.app, lane.rawValue)
          try collected.take(&new, lines)
          if count < collected.entries.count {
            fresh.append((lane, count..<collected.entries.count))
          }
        }
      }
      if collected.lacksRoom, collected.entries.isEmpty, try !isAnythingHeld(database) {
        throw file.tooLittleRoom
      }
      try lines?.block(collected.blocked)
      try HotStatement.run(
        database, "UPDATE entries SET worker = ?, deliveries = deliveries + 1 WHERE number",
        workerID.number, numbers: collected.numbers(except: fresh.map(\.places)))
      for (lane, places) in fresh {
        try SQLiteClaims(database: database).add(
          collected.entries[places.first!].number...collected.entries[places.last!].number, lane,
          workerID)
      }
      // In place, because a copy would retain all strings.
      for index in collected.entries.indices {
        let number = collected.entries[index].number
        collected.entries[index].deliveries += 1
        if hasSuspects {
          var crashes = try HotStatement(
            database, "SELECT crashes FROM suspects WHERE entry = ?", number)
          if try crashes.step() { collected.entries[index].crashes = Int(crashes.int(0)) }
        }
        guard collected.entries[index].content.tokens != nil else { continue }
        var positions = try HotStatement(
          database, "SELECT position FROM outcomes WHERE entry = ?", number)
        while try positions.step() {
          collected.entries[index].resolved.insert(Int(positions.int(0)))
        }
      }
      return collected.entries
    }
  }

  private func isAnythingHeld(_ database: Database) throws -> Bool {
    try Bool.fetchOne(
      database, sql: "SELECT EXISTS (SELECT 1 FROM held)") == true
  }
}

/// The rows read for a claim.
private struct ClaimedRows {
  /// The limit for rows read, because blocked entries use no room.
  private static let most = 4000

  var left: Int
  /// The bytes available for recording their outcomes.
  var budget: Int64
  var lacksRoom = false
  var entries: [Entry] = []
  /// The numbers of blocked entries.
  var blocked: [Int64] = []

  func numbers(except places: [Range<Int>]) -> [Int64] {
    entries.indices.filter { place in !places.contains { $0.contains(place) } }
      .map { entries[$0].number }
  }

  mutating func take(
    _ rows: inout HotStatement, _ lines: SQLiteLines?, areSuspects: Bool = false
  ) throws {
    var count = 0
    while left > 0, !lacksRoom, count < Self.most, try rows.step() {
      count += 1
      if areSuspects, entries.count >= CrashGroup.most(after: Int(rows.int(19))) { break }
      // A producer can bind invalid UTF-8 as text, and some languages do.
      var fault: String?
      let number = rows.int(0)
      // A repaired ID may equal another entry's, so the entry's number is added.
      let id =
        rows.text(2, "the id", &fault) ?? "\(rows.text(2) ?? "") (entry \(number))"
      let token = rows.text(3, "token", &fault)
      let tokens = rows.text(4, "tokens", &fault)
      // A token of 32 bytes in hex, with quotes and a comma: exact enough to decide how much to
      // read.
      let weight = tokens.map { max(1, min(NewEntry.mostTokens, $0.utf8.count / 67)) } ?? 1
      if weight > left, !entries.isEmpty { break }
      let channel = rows.text(14, "channel", &fault)
      let lane = rows.lane(15)
      if let lines {
        let targets = EntryTargets.lines(
          token: token, tokens: tokens, channel: channel, lane: lane)
        guard try lines.isFirst(number, in: targets) else {
          blocked.append(number)
          continue
        }
      }
      let cost = SQLiteFile.cost(entries: 1, notifications: Int64(weight))
      guard cost <= budget else {
        lacksRoom = true
        break
      }
      budget -= cost
      left -= weight
      var content = NewEntry(
        app: rows.text(1) ?? "", id: id, token: token, tokens: tokens, channel: channel,
        payload: rows.text(5, "payload", &fault) ?? "")
      content.topic = rows.text(6, "topic", &fault)
      content.pushType = rows.text(7, "push_type", &fault)
      content.priority = rows.optionalInt(8).map { Int($0) }
      content.expiry = rows.optionalInt(9)
      content.collapseID = rows.text(10, "collapse_id", &fault)
      content.deadline = rows.optionalInt(11)
      content.lane = lane
      content.campaign = rows.text(16, "campaign", &fault)
      content.traceparent = rows.text(18).flatMap(TraceParent.valid)
      entries.append(
        Entry(
          number: number, content: content, deliveries: Int(rows.int(12)),
          deferrals: Int(rows.int(13)), made: rows.int(17), resolved: [], fault: fault))
    }
  }
}
