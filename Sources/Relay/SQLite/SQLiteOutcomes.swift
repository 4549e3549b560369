import GRDB

/// Adds outcomes to the table, each at most once. Used within a transaction.
extension SQLiteQueue {
  private static let add = """
    INSERT OR IGNORE INTO outcomes (app, id, position, token, outcome, reason, http_status,
      apns_id, deliveries, at
    """
  private static let row = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
  private static let one = "\(add), entry) VALUES \(row)"
  private static let many =
    one + String(repeating: ", " + row, count: HotStatement.rowsTogether - 1)
  private static let traced = """
    \(add), traceparent, entry) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """
  /// The entry may have another number than the update.
  private static let late = """
    \(add), traceparent, entry)
      SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, entry FROM ids WHERE app = ? AND id = ?
    """

  static func add(_ updates: ArraySlice<EntryUpdate>, at now: Int64, _ database: Database) throws {
    let ended = try ended(updates.map(\.number), database)
    var counts = CampaignCounts()
    // Places, because a copy would retain all strings.
    var rows: [(update: Int, outcome: Int)] = []
    for update in updates.indices {
      let isLate = ended.contains(updates[update].number)
      for outcome in updates[update].outcomes.indices {
        // One column more costs each row a quarter.
        if !isLate, updates[update].campaign == nil, updates[update].traceparent == nil {
          rows.append((update, outcome))
        } else if try add(updates[update], outcome, isLate: isLate, at: now, database),
          let campaign = updates[update].campaign
        {
          counts.add(updates[update].outcomes[outcome], of: campaign, app: updates[update].app)
        }
      }
    }
    for some in rows.parts(of: HotStatement.rowsTogether) {
      let areMany = some.count == HotStatement.rowsTogether
      var statement = try HotStatement(database, areMany ? many : one)
      if areMany { statement.keepTexts() }
      for (update, outcome) in some {
        bind(updates[update], outcome, at: now, to: &statement)
        statement.bind(updates[update].number)
        if !areMany { try statement.run() }
      }
      if areMany { try statement.run() }
    }
    try counts.store(in: database, at: now)
  }

  /// Adds one outcome. False if there was one.
  private static func add(
    _ update: EntryUpdate, _ outcome: Int, isLate: Bool, at now: Int64, _ database: Database
  ) throws -> Bool {
    if isLate {
      var know = try HotStatement(
        database, "INSERT OR IGNORE INTO ids (app, id, entry) VALUES (?, ?, ?)")
      try know.run(update.app, update.id, update.number)
    }
    let isTraced = update.traceparent != nil
    var statement = try HotStatement(database, isLate ? late : isTraced ? traced : one)
    bind(update, outcome, at: now, to: &statement)
    if isLate || isTraced { statement.bind(optional: update.traceparent) }
    if isLate {
      try statement.run(update.app, update.id)
    } else {
      try statement.run(update.number)
    }
    return database.changesCount > 0
  }

  private static func bind(
    _ update: EntryUpdate, _ outcome: Int, at now: Int64, to statement: inout HotStatement
  ) {
    statement.bind(update.app)
    statement.bind(update.id)
    update.outcomes.withUnsafeBufferPointer { outcomes in
      statement.bind(Int64(outcomes[outcome].position))
      outcomes[outcome].token.withBytes { statement.bind(text: $0) }
      statement.bind(outcomes[outcome].kind.rawValue)
      statement.bind(outcomes[outcome].reason)
      statement.bind(Int64(outcomes[outcome].httpStatus))
      outcomes[outcome].apnsID.withBytes { statement.bind(text: $0) }
    }
    statement.bind(Int64(update.deliveries))
    statement.bind(now)
  }

  /// The numbers of entries that are no longer in the queue: another worker has ended them. A dead
  /// letter that was given back has another number since.
  private static func ended(_ numbers: [Int64], _ database: Database) throws -> Set<Int64> {
    var ended: Set<Int64> = []
    for rows in RowGroup.all(numbers) {
      var count = try HotStatement(
        database, "SELECT count(*) FROM entries WHERE number", rows: rows)
      if try count.step(), count.int(0) == rows.numbers.count { continue }
      for number in rows.numbers
      where try !HotStatement.finds(database, "SELECT 1 FROM entries WHERE number = ?", number) {
        ended.insert(number)
      }
    }
    return ended
  }
}
