-- A line that not all layouts have names the first and the last of them; SQLiteLayoutTests has their order.
PRAGMA journal_mode = WAL;
BEGIN IMMEDIATE;
PRAGMA application_id = 1634758259;
PRAGMA user_version = 1;  --: 1-without-channel 1
PRAGMA user_version = 2;  --: 2 2
PRAGMA user_version = 3;  --: 3-loose 3
PRAGMA user_version = 4;  --: 4 4
PRAGMA user_version = 5;  --: 5 5
PRAGMA user_version = 6;  --: 6 6
PRAGMA user_version = 7;  --: 7 7
PRAGMA user_version = 8;  --: 8 8
PRAGMA user_version = 9;  --: 9 9
CREATE TABLE IF NOT EXISTS entries (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  app TEXT NOT NULL,
  id TEXT NOT NULL CHECK (length(id) BETWEEN 1 AND 64),
  token TEXT,
  tokens TEXT,
  channel TEXT,  --: 1 9
  payload TEXT NOT NULL,
  topic TEXT,
  push_type TEXT,
  priority INTEGER,
  expiry INTEGER,
  collapse_id TEXT,
  deadline INTEGER,
  lane TEXT NOT NULL DEFAULT 'normal',  --: 6 9
  campaign TEXT,  --: 7 9
  traceparent TEXT,  --: 9 9
  made INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER)),  --: 1-without-channel 8
  made INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 + 0.5 AS INTEGER)),  --: 9 9
  due INTEGER NOT NULL DEFAULT 0,
  worker INTEGER,
  deliveries INTEGER NOT NULL DEFAULT 0,
  answers INTEGER NOT NULL DEFAULT 0,  --: 1-without-channel 4
  deferrals INTEGER NOT NULL DEFAULT 0,  --: 5 9
  story TEXT,  --: 1-without-channel 4
  history TEXT,  --: 5 9
  UNIQUE (app, id),  --: 1-without-channel 7
  CHECK ((token IS NULL) <> (tokens IS NULL)),  --: 1-without-channel 1-without-channel
  CHECK ((token IS NULL) + (tokens IS NULL) + (channel IS NULL) = 2),  --: 1 9
  CHECK (typeof(app) = 'text' AND typeof(id) = 'text' AND typeof(payload) = 'text'),
  CHECK (typeof(coalesce(token, tokens)) = 'text' AND typeof(coalesce(topic, '')) = 'text'),  --: 1-without-channel 1-without-channel
  CHECK (typeof(coalesce(token, tokens, channel)) = 'text' AND typeof(coalesce(topic, '')) = 'text'),  --: 1 9
  CHECK (typeof(coalesce(push_type, '')) = 'text' AND typeof(coalesce(collapse_id, '')) = 'text'),
  CHECK (typeof(coalesce(priority, 0)) = 'integer' AND typeof(coalesce(expiry, 0)) = 'integer'),
  CHECK (typeof(coalesce(deadline, 0)) = 'integer' AND typeof(made) = 'integer'),  --: 1-without-channel 3-loose
  CHECK (typeof(due) = 'integer' AND typeof(coalesce(worker, 0)) = 'integer'),  --: 1-without-channel 3-loose
  CHECK (typeof(deliveries) = 'integer' AND typeof(answers) = 'integer')  --: 1-without-channel 3-loose
  CHECK (typeof(coalesce(deadline, 0)) = 'integer' AND typeof(made) = 'integer' AND made >= 0),  --: 3 9
  CHECK (typeof(due) = 'integer' AND due >= 0),  --: 3 9
  CHECK (typeof(coalesce(worker, 0)) = 'integer' AND (worker IS NULL OR deliveries > 0)),  --: 3 9
  CHECK (typeof(deliveries) = 'integer' AND deliveries BETWEEN 0 AND 1000000000),  --: 3 9
  CHECK (typeof(answers) = 'integer' AND answers BETWEEN 0 AND 1000000000)  --: 3 4
  CHECK (typeof(deferrals) = 'integer' AND deferrals BETWEEN 0 AND 1000000000)  --: 5 9
);
CREATE INDEX IF NOT EXISTS entries_new ON entries (app, number)  --: 1-without-channel 5
CREATE INDEX IF NOT EXISTS entries_new ON entries (app, lane, number)  --: 6 9
  WHERE worker IS NULL AND due = 0;
CREATE INDEX IF NOT EXISTS entries_later ON entries (app, due)  --: 1-without-channel 5
CREATE INDEX IF NOT EXISTS entries_later ON entries (app, lane, due)  --: 6 9
  WHERE worker IS NULL AND due > 0;
CREATE INDEX IF NOT EXISTS entries_campaign ON entries (app, campaign, due)  --: 7 9
  WHERE campaign IS NOT NULL;  --: 7 9
CREATE INDEX IF NOT EXISTS entries_held ON entries (worker) WHERE worker IS NOT NULL;
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
  entry INTEGER,  --: 8 8
  entry INTEGER, traceparent TEXT,  --: 9 9
  UNIQUE (entry, position)  --: 8 9
  UNIQUE (app, id, position)  --: 1-without-channel 7
);
CREATE TABLE IF NOT EXISTS ids (  --: 8 9
  app TEXT NOT NULL,  --: 8 9
  id TEXT NOT NULL,  --: 8 9
  entry INTEGER NOT NULL,  --: 8 9
  PRIMARY KEY (app, id)  --: 8 9
) WITHOUT ROWID;  --: 8 9
CREATE TRIGGER IF NOT EXISTS entries_once BEFORE INSERT ON entries
  WHEN EXISTS (SELECT 1 FROM outcomes WHERE app = NEW.app AND id = NEW.id)  --: 1-without-channel 7
  WHEN EXISTS (SELECT 1 FROM ids WHERE app = NEW.app AND id = NEW.id)  --: 8 9
  BEGIN SELECT RAISE(IGNORE); END;
CREATE TRIGGER IF NOT EXISTS ids_add AFTER INSERT ON entries  --: 8 9
  BEGIN INSERT INTO ids VALUES (NEW.app, NEW.id, NEW.number); END;  --: 8 9
CREATE TRIGGER IF NOT EXISTS ids_end AFTER DELETE ON entries  --: 8 9
  WHEN NOT EXISTS (SELECT 1 FROM outcomes WHERE entry = OLD.number AND id = OLD.id)  --: 8 9
  BEGIN  --: 8 9
    DELETE FROM ids WHERE app = OLD.app AND id = OLD.id AND entry = OLD.number;  --: 8 9
    INSERT OR IGNORE INTO ids SELECT app, id, entry FROM outcomes WHERE entry = OLD.number;  --: 8 9
  END;  --: 8 9
CREATE TRIGGER IF NOT EXISTS ids_trim AFTER DELETE ON outcomes  --: 8 9
  WHEN NOT EXISTS (SELECT 1 FROM outcomes WHERE entry = OLD.entry)  --: 8 9
    AND NOT EXISTS (SELECT 1 FROM entries WHERE number = OLD.entry)  --: 8 9
  BEGIN DELETE FROM ids WHERE app = OLD.app AND id = OLD.id AND entry = OLD.entry; END;  --: 8 9
CREATE TRIGGER IF NOT EXISTS entries_lane BEFORE INSERT ON entries  --: 6 9
  WHEN coalesce(NEW.lane, '') NOT IN ('urgent', 'normal', 'bulk')  --: 6 9
  BEGIN SELECT RAISE(ABORT, 'lane is urgent, normal or bulk'); END;  --: 6 6
    OR NEW.campaign IS NOT NULL AND (typeof(NEW.campaign) <> 'text'  --: 7 9
      OR length(NEW.campaign) NOT BETWEEN 1 AND 64)  --: 7 9
  BEGIN  --: 7 9
    SELECT CASE WHEN NEW.lane IN ('urgent', 'normal', 'bulk')  --: 7 9
      THEN RAISE(ABORT, 'campaign is text of 1 to 64 characters')  --: 7 9
      ELSE RAISE(ABORT, 'lane is urgent, normal or bulk') END;  --: 7 9
  END;  --: 7 9
CREATE TRIGGER IF NOT EXISTS entries_due BEFORE INSERT ON entries  --: 6 9
  WHEN NEW.due IS NOT 0 AND (  --: 6 9
    NEW.due IS NULL OR NEW.due < 0 OR NEW.due > 1000 * CAST(strftime('%s', 'now') AS INTEGER) + 31622400000  --: 6 9
    OR NEW.due >= 1000000000 AND NEW.due < 100000000000)  --: 6 9
  BEGIN SELECT RAISE(ABORT, 'due is in UNIX milliseconds, at most a year ahead'); END;  --: 6 9
CREATE TRIGGER IF NOT EXISTS entries_made AFTER INSERT ON entries  --: 9 9
  WHEN NEW.due > NEW.made AND NEW.due < 3000000000000000 AND NEW.deliveries = 0  --: 9 9
  BEGIN UPDATE entries SET made = NEW.due WHERE number = NEW.number; END;  --: 9 9
CREATE TABLE IF NOT EXISTS gone (
  app TEXT NOT NULL,
  token TEXT NOT NULL,
  since INTEGER NOT NULL,
  at INTEGER NOT NULL DEFAULT 0,  --: 7 9
  PRIMARY KEY (app, token)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS bad (  --: 2 4
CREATE TABLE IF NOT EXISTS bad_tokens (  --: 5 9
  number INTEGER PRIMARY KEY AUTOINCREMENT,  --: 2 9
  app TEXT NOT NULL,  --: 2 9
  token TEXT NOT NULL,  --: 2 9
  at INTEGER NOT NULL,  --: 2 9
  UNIQUE (app, token)  --: 2 9
);  --: 2 9
CREATE TABLE IF NOT EXISTS feedback (  --: 2 9
  app TEXT NOT NULL,  --: 2 9
  token TEXT NOT NULL,  --: 2 9
  since INTEGER NOT NULL,  --: 2 9
  PRIMARY KEY (app, token)  --: 2 9
) WITHOUT ROWID;  --: 2 9
CREATE TABLE IF NOT EXISTS dead (
  number INTEGER PRIMARY KEY,
  app TEXT NOT NULL,
  id TEXT NOT NULL,
  token TEXT,
  tokens TEXT,
  channel TEXT,  --: 1 9
  payload TEXT NOT NULL,
  topic TEXT,
  push_type TEXT,
  priority INTEGER,
  expiry INTEGER,
  collapse_id TEXT,
  deadline INTEGER,
  lane TEXT NOT NULL DEFAULT 'normal',  --: 6 9
  campaign TEXT,  --: 7 9
  traceparent TEXT,  --: 9 9
  made INTEGER NOT NULL,
  deliveries INTEGER NOT NULL,
  story TEXT,  --: 1-without-channel 4
  history TEXT,  --: 5 9
  at INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS dead_id ON dead (app, id);  --: 7 9
CREATE TABLE IF NOT EXISTS campaigns (  --: 7 9
  app TEXT NOT NULL,  --: 7 9
  campaign TEXT NOT NULL,  --: 7 9
  outcome TEXT NOT NULL,  --: 7 9
  devices INTEGER NOT NULL,  --: 7 9
  changed INTEGER NOT NULL,  --: 7 9
  PRIMARY KEY (app, campaign, outcome)  --: 7 9
) WITHOUT ROWID;  --: 7 9
CREATE TABLE IF NOT EXISTS readers (
  name TEXT PRIMARY KEY,
  number INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS workers (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  app TEXT NOT NULL,
  name TEXT NOT NULL,
  heard INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS connections (  --: 3-loose 9
  worker INTEGER PRIMARY KEY,  --: 3-loose 9
  app TEXT NOT NULL,  --: 3-loose 9
  held INTEGER NOT NULL,  --: 3-loose 9
  wanted INTEGER NOT NULL,  --: 3-loose 9
  needed INTEGER NOT NULL  --: 3-loose 9
);  --: 3-loose 9
CREATE TABLE IF NOT EXISTS suspects (  --: 4 9
  entry INTEGER PRIMARY KEY,  --: 4 9
  crashes INTEGER NOT NULL  --: 4 9
);  --: 4 9
CREATE TABLE IF NOT EXISTS lines (  --: 3-loose 9
  app TEXT NOT NULL,  --: 3-loose 9
  target TEXT NOT NULL,  --: 3-loose 9
  entry INTEGER NOT NULL,  --: 3-loose 9
  PRIMARY KEY (app, target, entry)  --: 3-loose 9
) WITHOUT ROWID;  --: 3-loose 9
CREATE INDEX IF NOT EXISTS lines_entry ON lines (entry);  --: 3-loose 9
CREATE TRIGGER IF NOT EXISTS lines_end AFTER DELETE ON entries  --: 3-loose 9
  WHEN EXISTS (SELECT 1 FROM lines WHERE entry = OLD.number)  --: 3-loose 9
  BEGIN  --: 3-loose 9
    UPDATE entries SET due = 1 WHERE due = 4611686018427387904 AND number IN (  --: 3-loose 9
      SELECT (SELECT min(next.entry) FROM lines AS next  --: 3-loose 9
        WHERE next.app = own.app AND next.target = own.target AND next.entry > OLD.number)  --: 3-loose 9
      FROM lines AS own WHERE own.entry = OLD.number);  --: 3-loose 9
    DELETE FROM lines WHERE entry = OLD.number;  --: 3-loose 9
  END;  --: 3-loose 9
CREATE TABLE IF NOT EXISTS notes (  --: 2 4
CREATE TABLE IF NOT EXISTS app_state (  --: 5 9
  app TEXT NOT NULL,  --: 2 9
  name TEXT NOT NULL,  --: 2 9
  text TEXT NOT NULL,  --: 2 9
  PRIMARY KEY (app, name)  --: 2 9
) WITHOUT ROWID;  --: 2 9
CREATE TABLE IF NOT EXISTS provider_tokens (
  team TEXT NOT NULL,
  key TEXT NOT NULL,
  token TEXT NOT NULL,
  made INTEGER NOT NULL,
  PRIMARY KEY (team, key)
);
COMMIT;
