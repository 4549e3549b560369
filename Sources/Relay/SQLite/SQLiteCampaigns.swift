import GRDB

/// The outcomes of campaigns in a transaction.
struct CampaignCounts {
  private struct Name: Hashable {
    var app: String
    var campaign: String
    var what: CampaignCount
  }

  private var counts: [Name: Int64] = [:]

  mutating func add(_ outcome: PushOutcome, of campaign: String, app: String) {
    outcome.forEachCount { counts[Name(app: app, campaign: campaign, what: $0), default: 0] += 1 }
  }

  func store(in database: Database, at now: Int64) throws {
    for (name, count) in counts {
      var add = try HotStatement(
        database,
        """
        INSERT INTO campaigns (app, campaign, outcome, devices, changed) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (app, campaign, outcome)
          DO UPDATE SET devices = devices + excluded.devices, changed = excluded.changed
        """)
      try add.run(name.app, name.campaign, name.what.text, count, now)
    }
  }
}

extension SQLiteQueue {
  package func campaignOutcomes(app: String) throws -> [String: CampaignOutcomes] {
    try file.counting.read { database in
      var all: [String: CampaignOutcomes] = [:]
      for row in try Row.fetchAll(
        database, sql: "SELECT campaign, outcome, devices, changed FROM campaigns WHERE app = ?",
        arguments: [app])
      {
        guard let what = CampaignCount(text: row[1]) else { continue }
        var one = all[row[0]] ?? CampaignOutcomes()
        one.add(what, row[2])
        one.changed = max(one.changed, row[3])
        all[row[0]] = one
      }
      return all
    }
  }

  package func left(_ choice: EntryChoice, app: String) throws -> [String: EntriesLeft] {
    let chosen = Self.chosen(choice, app)
    return try file.counting.read { database in
      var all: [String: EntriesLeft] = [:]
      for row in try Row.fetchAll(
        database,
        sql: """
          SELECT coalesce(campaign, ''), number IN (SELECT number FROM held), count(*), sum(CASE
            WHEN tokens IS NULL OR NOT json_valid(tokens) THEN 1
            ELSE max(1, json_array_length(tokens) - (SELECT count(*) FROM outcomes
              WHERE entry = entries.number)) END), max(due)
          FROM entries WHERE app = ? AND \(chosen.condition) GROUP BY 1, 2
          """, arguments: StatementArguments([app] + chosen.values))
      {
        let count = EntriesLeft.Count(entries: row[2], devices: row[3])
        if row[1] {
          all[row[0], default: EntriesLeft()].held = count
        } else {
          all[row[0], default: EntriesLeft()].waiting = count
          if case .id = choice { all[row[0]]?.due = row[4] }
        }
      }
      return all
    }
  }

  /// A condition about rows of `entries`, and its values.
  private static func chosen(_ choice: EntryChoice, _ app: String) -> (
    condition: String, values: [String]
  ) {
    switch choice {
    case .campaign(let campaign): ("campaign = ?", [campaign])
    case .campaigns: ("campaign IS NOT NULL", [])
    case .id(let id):
      ("number = (SELECT entry FROM ids WHERE app = ? AND id = ?)", [app, id])
    case .all: ("TRUE", [])
    }
  }

  package func advance(
    app: String, cancelled: [EntryChoice], paused: Set<String>, at now: Int64
  ) throws -> Int {
    var waiting = cancelled.map { choice in
      let chosen = Self.chosen(choice, app)
      return (
        condition: """
        app = ? AND \(chosen.condition) AND due > 1 AND due < \(SQLiteSchema.blocked)
          AND worker IS NULL
        """, values: [app] + chosen.values
      )
    }
    let marks = paused.map { _ in "?" }.joined(separator: ", ")
    waiting.append(
      (
        condition: """
        app = ? AND lane IN (\(SQLiteSchema.lanes)) AND worker IS NULL AND due > 0
          AND due = \(PausedTime.due) AND coalesce(campaign, '') NOT IN (\(marks))
        """, values: [app] + paused
      ))
    return try waiting.reduce(0) { count, some in
      try count + makeDue(where: some.condition, StatementArguments(some.values))
    }
  }

  package func advance(
    limited campaign: String, app: String, lanes: [Lane], upTo count: Int
  ) throws -> Int {
    try lanes.reduce(0) { total, lane in
      try total + advance(app, lane, waitingUntil: PacedTime.of(campaign), upTo: count - total)
    }
  }

  package func advance(app: String, exceptLimited limited: Set<String>) throws -> Int {
    let limited = Set(limited.map(PacedTime.of))
    var total = 0
    for lane in Lane.allCases {
      var from = PacedTime.times.lowerBound
      // Each step finds a campaign, however many entries it has.
      while let due = try next(app, lane, waitingFrom: from) {
        from = due + 1
        if limited.contains(due) { continue }
        total += try advance(app, lane, waitingUntil: due, upTo: .max)
      }
    }
    return total
  }

  private static let paced = "app = ? AND lane = ? AND worker IS NULL AND due > 0"

  private func next(_ app: String, _ lane: Lane, waitingFrom time: Int64) throws -> Int64? {
    try file.read { database in
      try Int64.fetchOne(
        database,
        sql:
          "SELECT due FROM entries WHERE \(Self.paced) AND due >= ? AND due < ? ORDER BY due LIMIT 1",
        arguments: [app, lane.rawValue, time, PacedTime.times.upperBound])
    }
  }

  private func advance(
    _ app: String, _ lane: Lane, waitingUntil due: Int64, upTo count: Int
  ) throws -> Int {
    guard count > 0, try next(app, lane, waitingFrom: due) == due else { return 0 }
    return try file.update(
      """
      UPDATE entries SET due = 1 WHERE number IN (
        SELECT number FROM entries WHERE \(Self.paced) AND due = ? ORDER BY number LIMIT ?)
      """, [app, lane.rawValue, due, count])
  }

  func trimCampaigns(before: Int64) throws {
    let old = """
      (SELECT app, campaign FROM campaigns GROUP BY app, campaign HAVING max(changed) < ?)
      """
    let isAnyThere = try file.read { database in
      try Int.fetchOne(database, sql: "SELECT 1 FROM \(old) LIMIT 1", arguments: [before]) == 1
    }
    guard isAnyThere else { return }
    _ = try file.update("DELETE FROM campaigns WHERE (app, campaign) IN \(old)", [before])
  }
}
