/// The tables of a queue in SQLite. Producers write `entries`, and read `outcomes`, `gone` and
/// `dead`. Documentation/RELAY-QUEUE.md explains each column.
package enum SQLiteSchema {
  package static let version = 10
  /// "apns" in ASCII, by which the program `file` and this relay recognize the file.
  package static let applicationID = 0x6170_6E73

  /// The `due` of a blocked entry.
  package static let blocked: Int64 = 1 << 62

  /// The last inserted row of a connection that ends entries whose outcomes it has just recorded, so
  /// that the triggers have nothing to do.
  static let quickEnd: Int64 = -1

  /// All lanes, as a list of SQL.
  static let lanes = Lane.allCases.map { "'\($0)'" }.joined(separator: ", ")

  package static let text = """
    PRAGMA journal_mode = WAL;
    BEGIN IMMEDIATE;
    \(tables)
    COMMIT;

    """

  /// The columns of an entry that a dead letter keeps too, without its app and ID.
  static let content = """
    token, tokens, channel, payload, topic, push_type, priority, expiry, collapse_id, deadline, lane,
      campaign, traceparent
    """

  private static let contentColumns = """
      token TEXT,
      tokens TEXT,
      channel TEXT,
      payload TEXT NOT NULL,
      topic TEXT,
      push_type TEXT,
      priority INTEGER,
      expiry INTEGER,
      collapse_id TEXT,
      deadline INTEGER,
      lane TEXT NOT NULL DEFAULT '\(Lane.normal)',
      campaign TEXT,
      traceparent TEXT
    """

  /// Creates what is missing.
  static let tables = """
    PRAGMA application_id = \(applicationID);
    PRAGMA user_version = \(version);

    -- Entries to push. A producer fills in the columns up to traceparent, and due.
    CREATE TABLE IF NOT EXISTS entries (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      app TEXT NOT NULL,
      id TEXT NOT NULL CHECK (length(id) BETWEEN 1 AND \(NewEntry.longestID)),
    \(contentColumns),
      made INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 + 0.5 AS INTEGER)),
      due INTEGER NOT NULL DEFAULT 0,
      worker INTEGER,
      deliveries INTEGER NOT NULL DEFAULT 0,
      deferrals INTEGER NOT NULL DEFAULT 0,
      history TEXT,
      CHECK ((token IS NULL) + (tokens IS NULL) + (channel IS NULL) = 2),
      CHECK (typeof(app) = 'text' AND typeof(id) = 'text' AND typeof(payload) = 'text'),
      CHECK (typeof(coalesce(token, tokens, channel)) = 'text' AND typeof(coalesce(topic, '')) = 'text'),
      CHECK (typeof(coalesce(push_type, '')) = 'text' AND typeof(coalesce(collapse_id, '')) = 'text'),
      CHECK (typeof(coalesce(priority, 0)) = 'integer' AND typeof(coalesce(expiry, 0)) = 'integer'),
      CHECK (typeof(coalesce(deadline, 0)) = 'integer' AND typeof(made) = 'integer' AND made >= 0),
      CHECK (typeof(due) = 'integer' AND due >= 0),
      CHECK (typeof(coalesce(worker, 0)) = 'integer' AND (worker IS NULL OR deliveries > 0)),
      CHECK (typeof(deliveries) = 'integer' AND deliveries BETWEEN 0 AND 1000000000),
      CHECK (typeof(deferrals) = 'integer' AND deferrals BETWEEN 0 AND 1000000000)
    );
    CREATE INDEX IF NOT EXISTS entries_new ON entries (app, lane)
      WHERE worker IS NULL AND due = 0;
    CREATE INDEX IF NOT EXISTS entries_later ON entries (app, lane, due)
      WHERE worker IS NULL AND due > 0;
    CREATE INDEX IF NOT EXISTS entries_campaign ON entries (app, campaign, due)
      WHERE campaign IS NOT NULL;
    CREATE INDEX IF NOT EXISTS entries_held ON entries (worker) WHERE worker IS NOT NULL;

    -- Private to the relays: new entries that a worker holds, which are those of this lane from first
    -- to last with due 0. A claim of them changes no row of `entries`. Other held entries have their
    -- `worker` in their row.
    CREATE TABLE IF NOT EXISTS claims (
      app TEXT NOT NULL,
      lane TEXT NOT NULL,
      first INTEGER NOT NULL,
      last INTEGER NOT NULL,
      worker INTEGER NOT NULL,
      PRIMARY KEY (app, lane, first)
    ) WITHOUT ROWID;
    CREATE VIEW IF NOT EXISTS held AS
      SELECT number, worker, deliveries FROM entries WHERE worker IS NOT NULL
      UNION ALL
      SELECT number, claims.worker, deliveries + 1 FROM claims CROSS JOIN entries
        ON \(SQLiteClaims.isIn);
    -- A program moves only entries that nobody holds, and none among those of a claim.
    CREATE TRIGGER IF NOT EXISTS claims_keep BEFORE UPDATE OF app, lane, due ON entries
      WHEN OLD.due = 0 AND OLD.worker IS NULL AND EXISTS (SELECT 1 FROM claims
        WHERE app = OLD.app AND lane = OLD.lane AND OLD.number BETWEEN first AND last)
      BEGIN SELECT RAISE(IGNORE); END;
    CREATE TRIGGER IF NOT EXISTS claims_pass AFTER UPDATE OF app, lane, due ON entries
      WHEN NEW.due = 0 AND NEW.worker IS NULL
      BEGIN
        UPDATE entries SET worker = 0, deliveries = deliveries + 1 WHERE number = NEW.number;
        UPDATE entries SET worker = NULL, deliveries = deliveries - 1, due = 1
          WHERE number = NEW.number;
      END;

    -- One row for each notification with an outcome. A reader remembers the last number it has
    -- read. The outcomes of an entry have its number.
    CREATE TABLE IF NOT EXISTS outcomes (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      app TEXT NOT NULL,
      id TEXT NOT NULL,
      position INTEGER NOT NULL,
      token TEXT NOT NULL,
      outcome TEXT NOT NULL,
      reason TEXT NOT NULL,
      http_status INTEGER NOT NULL,
      apns_id TEXT NOT NULL,
      deliveries INTEGER NOT NULL,
      at INTEGER NOT NULL,
      entry INTEGER, traceparent TEXT,
      UNIQUE (entry, position)
    );

    -- Private to the relays: the IDs of all entries and outcomes, with the entry's number. Random
    -- IDs are on separate pages. A row stays when the entry ends, so that no relay writes these
    -- pages, and tables and indexes by number are written in order.
    CREATE TABLE IF NOT EXISTS ids (
      app TEXT NOT NULL,
      id TEXT NOT NULL,
      entry INTEGER NOT NULL,
      PRIMARY KEY (app, id)
    ) WITHOUT ROWID;

    -- Adding an ID that is waiting, in flight or finished has no effect.
    CREATE TRIGGER IF NOT EXISTS entries_once BEFORE INSERT ON entries
      WHEN EXISTS (SELECT 1 FROM ids WHERE app = NEW.app AND id = NEW.id)
      BEGIN SELECT RAISE(IGNORE); END;
    CREATE TRIGGER IF NOT EXISTS ids_add AFTER INSERT ON entries
      BEGIN INSERT INTO ids VALUES (NEW.app, NEW.id, NEW.number); END;
    -- An ID without outcomes ends with its entry. The relay repairs invalid UTF-8 in the ID of an
    -- outcome.
    CREATE TRIGGER IF NOT EXISTS ids_end AFTER DELETE ON entries
      WHEN last_insert_rowid() <> \(quickEnd)
        AND NOT EXISTS (SELECT 1 FROM outcomes WHERE entry = OLD.number AND id = OLD.id)
      BEGIN
        DELETE FROM ids WHERE app = OLD.app AND id = OLD.id AND entry = OLD.number;
        INSERT OR IGNORE INTO ids SELECT app, id, entry FROM outcomes WHERE entry = OLD.number;
      END;
    -- Any other ends with its last outcome.
    CREATE TRIGGER IF NOT EXISTS ids_trim AFTER DELETE ON outcomes
      WHEN NOT EXISTS (SELECT 1 FROM outcomes WHERE entry = OLD.entry)
        AND NOT EXISTS (SELECT 1 FROM entries WHERE number = OLD.entry)
      BEGIN DELETE FROM ids WHERE app = OLD.app AND id = OLD.id AND entry = OLD.entry; END;

    -- INSERT OR IGNORE ignores a row that violates a check, and says nothing.
    CREATE TRIGGER IF NOT EXISTS entries_lane BEFORE INSERT ON entries
      WHEN coalesce(NEW.lane, '') NOT IN (\(lanes))
        OR NEW.campaign IS NOT NULL AND (typeof(NEW.campaign) <> 'text'
          OR length(NEW.campaign) NOT BETWEEN 1 AND \(NewEntry.longestID))
      BEGIN
        SELECT CASE WHEN NEW.lane IN (\(lanes))
          THEN RAISE(ABORT, 'campaign is text of 1 to \(NewEntry.longestID) characters')
          ELSE RAISE(ABORT, 'lane is urgent, normal or bulk') END;
      END;

    CREATE TRIGGER IF NOT EXISTS entries_due BEFORE INSERT ON entries
      WHEN NEW.due IS NOT 0 AND (
        NEW.due IS NULL OR NEW.due < 0 OR NEW.due > 1000 * CAST(strftime('%s', 'now') AS INTEGER) + \(NewEntry.longestWaitMS)
        OR NEW.due >= \(NewEntry.dueSeconds.lowerBound) AND NEW.due < \(NewEntry.dueSeconds.upperBound))
      BEGIN SELECT RAISE(ABORT, 'due is in UNIX milliseconds, at most a year ahead'); END;

    -- An entry that waits for its time counts from then on.
    CREATE TRIGGER IF NOT EXISTS entries_made AFTER INSERT ON entries
      WHEN NEW.due > NEW.made AND NEW.due < \(PausedTime.due) AND NEW.deliveries = 0
      BEGIN UPDATE entries SET made = NEW.due WHERE number = NEW.number; END;

    -- Gone devices, since when, in UNIX seconds, and when that was last recorded, in UNIX milliseconds.
    CREATE TABLE IF NOT EXISTS gone (
      app TEXT NOT NULL,
      token TEXT NOT NULL,
      since INTEGER NOT NULL,
      at INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (app, token)
    ) WITHOUT ROWID;

    -- For the binary listener: bad tokens, and devices to report as feedback.
    CREATE TABLE IF NOT EXISTS bad_tokens (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      app TEXT NOT NULL,
      token TEXT NOT NULL,
      at INTEGER NOT NULL,
      UNIQUE (app, token)
    );
    CREATE TABLE IF NOT EXISTS feedback (
      app TEXT NOT NULL,
      token TEXT NOT NULL,
      since INTEGER NOT NULL,
      PRIMARY KEY (app, token)
    ) WITHOUT ROWID;

    -- Entries that were delivered too often, unchanged.
    CREATE TABLE IF NOT EXISTS dead (
      number INTEGER PRIMARY KEY,
      app TEXT NOT NULL,
      id TEXT NOT NULL,
    \(contentColumns),
      made INTEGER NOT NULL,
      deliveries INTEGER NOT NULL,
      history TEXT,
      at INTEGER NOT NULL
    );

    CREATE INDEX IF NOT EXISTS dead_id ON dead (app, id);

    -- The number of outcomes of each campaign, and when the last one was recorded, in UNIX
    -- milliseconds.
    CREATE TABLE IF NOT EXISTS campaigns (
      app TEXT NOT NULL,
      campaign TEXT NOT NULL,
      outcome TEXT NOT NULL,
      devices INTEGER NOT NULL,
      changed INTEGER NOT NULL,
      PRIMARY KEY (app, campaign, outcome)
    ) WITHOUT ROWID;

    -- Readers of outcomes. No outcome is trimmed before all of them have read it.
    CREATE TABLE IF NOT EXISTS readers (
      name TEXT PRIMARY KEY,
      number INTEGER NOT NULL
    );

    -- Private to the relays: the workers, and the provider tokens that they share.
    CREATE TABLE IF NOT EXISTS workers (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      app TEXT NOT NULL,
      name TEXT NOT NULL,
      heard INTEGER NOT NULL
    );
    CREATE TABLE IF NOT EXISTS connections (
      worker INTEGER PRIMARY KEY,
      app TEXT NOT NULL,
      held INTEGER NOT NULL,
      wanted INTEGER NOT NULL,
      needed INTEGER NOT NULL
    );
    -- Private to the relays: the number of crashes in which an entry was held together with others.
    CREATE TABLE IF NOT EXISTS suspects (
      entry INTEGER PRIMARY KEY,
      crashes INTEGER NOT NULL
    );
    -- Private to the relays, for apps that keep the order: the entries that wait for each device or
    -- channel. The first of them may be sent.
    CREATE TABLE IF NOT EXISTS lines (
      app TEXT NOT NULL,
      target TEXT NOT NULL,
      entry INTEGER NOT NULL,
      PRIMARY KEY (app, target, entry)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS lines_entry ON lines (entry);
    -- When an entry ends in any way, the next entries in its lines are checked again.
    CREATE TRIGGER IF NOT EXISTS lines_end AFTER DELETE ON entries
      WHEN last_insert_rowid() <> \(quickEnd) AND EXISTS (SELECT 1 FROM lines WHERE entry = OLD.number)
      BEGIN
        UPDATE entries SET due = 1 WHERE due = \(blocked) AND number IN (
          SELECT (SELECT min(next.entry) FROM lines AS next
            WHERE next.app = own.app AND next.target = own.target AND next.entry > OLD.number)
          FROM lines AS own WHERE own.entry = OLD.number);
        DELETE FROM lines WHERE entry = OLD.number;
      END;
    CREATE TABLE IF NOT EXISTS app_state (
      app TEXT NOT NULL,
      name TEXT NOT NULL,
      text TEXT NOT NULL,
      PRIMARY KEY (app, name)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS provider_tokens (
      team TEXT NOT NULL,
      key TEXT NOT NULL,
      token TEXT NOT NULL,
      made INTEGER NOT NULL,
      PRIMARY KEY (team, key)
    );
    """
}
