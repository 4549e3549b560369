/*
 * The floor of a relay over SQLite: its statements alone, for entries that are all accepted. A
 * producer's inserts are not measured. apns-relay --print-schema | apns_sqlite_floor FILE
 * [ENTRIES [TOGETHER [DEVICES]]] prints the µs of CPU for each device; callgrind counts the
 * instructions of relay().
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { most = 4096, rows = 32, range = 64, token_length = 64 };
static sqlite3 *db;
/* In each entry. */
static int devices = 1;
static struct {
  sqlite3_int64 number;
  char id[40];
  /* One, or a JSON array. */
  char *tokens;
} held[most];

static void must(int code) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  fprintf(stderr, "%s\n", sqlite3_errmsg(db));
  exit(1);
}

static void run(const char *sql) { must(sqlite3_exec(db, sql, NULL, NULL, NULL)); }

static sqlite3_stmt *prepare(const char *sql) {
  sqlite3_stmt *statement;
  must(sqlite3_prepare_v2(db, sql, -1, &statement, NULL));
  return statement;
}

static void bind(sqlite3_stmt *statement, int place, const char *text) {
  must(sqlite3_bind_text(statement, place, text, -1, SQLITE_STATIC));
}

static void step(sqlite3_stmt *statement) {
  must(sqlite3_step(statement));
  must(sqlite3_reset(statement));
}

static void enqueue(int count) {
  sqlite3_stmt *add = prepare(
      "WITH RECURSIVE device (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM device WHERE n < ?1), "
      "list (tokens) AS (SELECT json_group_array(lower(hex(randomblob(32)))) FROM device) "
      "INSERT INTO entries (app, id, token, tokens, payload) SELECT 'shop', "
      "lower(printf('%s-%s-%s-%s-%s', "
      "hex(randomblob(4)), hex(randomblob(2)), hex(randomblob(2)), hex(randomblob(2)), "
      "hex(randomblob(6)))), "
      "iif(?1 = 1, tokens ->> 0, NULL), iif(?1 = 1, NULL, tokens), "
      "printf('{\"aps\":{\"alert\":\"%.150c\"}}', 'x') FROM list");
  must(sqlite3_bind_int(add, 1, devices));
  for (int i = 0; i < count; i++) {
    if (i % 1000 == 0) run(i == 0 ? "BEGIN" : "COMMIT; BEGIN");
    step(add);
  }
  run("COMMIT");
  sqlite3_finalize(add);
}

static int claim(sqlite3_stmt *find, sqlite3_stmt *add, int together) {
  int count = 0;
  run("BEGIN IMMEDIATE");
  for (; count < together && sqlite3_step(find) == SQLITE_ROW; count++) {
    // A relay reads all columns.
    for (int column = 4; column < 19; column++) (void)sqlite3_column_text(find, column);
    held[count].number = sqlite3_column_int64(find, 0);
    snprintf(held[count].id, sizeof held[count].id, "%s", sqlite3_column_text(find, 2));
    const size_t length = (size_t)devices * (token_length + 3) + 2;
    if (!held[count].tokens && !(held[count].tokens = malloc(length))) exit(1);
    snprintf(held[count].tokens, length, "%s", sqlite3_column_text(find, devices == 1 ? 3 : 4));
  }
  must(sqlite3_reset(find));
  if (count > 0) {
    must(sqlite3_bind_int64(add, 1, held[0].number));
    must(sqlite3_bind_int64(add, 2, held[count - 1].number));
    step(add);
  }
  run("COMMIT");
  return count;
}

static void record(sqlite3_stmt *add, sqlite3_stmt *end, sqlite3_stmt *trim, int count) {
  run("BEGIN IMMEDIATE");
  for (int i = 0, place = 0; i < count * devices; i++) {
    const char *token = held[i / devices].tokens + (devices == 1 ? 0 : 2);
    bind(add, ++place, held[i / devices].id);
    must(sqlite3_bind_int(add, ++place, i % devices));
    must(sqlite3_bind_text(add, ++place, token + i % devices * (token_length + 3), token_length,
                           SQLITE_STATIC));
    bind(add, ++place, held[i / devices].id);
    must(sqlite3_bind_int64(add, ++place, held[i / devices].number));
    if (place == 5 * rows) step(add), place = 0;
  }
  sqlite3_set_last_insert_rowid(db, -1);
  for (int i = 0; i < count; i += range) {
    must(sqlite3_bind_int64(end, 1, held[i].number));
    must(sqlite3_bind_int64(end, 2, held[i + range < count ? i + range - 1 : count - 1].number));
    step(end);
  }
  step(trim);
  run("COMMIT");
}

__attribute__((noinline)) static void relay(int together) {
  sqlite3_stmt *find = prepare(
      "SELECT number, app, id, token, tokens, payload, topic, push_type, priority, expiry, "
      "collapse_id, deadline, "
      "deliveries, deferrals, channel, lane, campaign, made, traceparent FROM entries WHERE app = "
      "'shop' AND "
      "lane = 'normal' AND worker IS NULL AND due = 0 AND number > coalesce((SELECT last FROM "
      "claims WHERE "
      "app = 'shop' AND lane = 'normal' ORDER BY first DESC LIMIT 1), 0) ORDER BY number");
  char many[8192] =
      "INSERT OR IGNORE INTO outcomes (app, id, position, token, outcome, reason, http_status, "
      "apns_id, deliveries, "
      "at, entry) VALUES ";
  for (int i = 0; i < rows; i++)
    strcat(many, i == 0 ? "('shop', ?, ?, ?, 'accepted', '', 200, ?, 1, 1800000000000, ?)"
                        : ", ('shop', ?, ?, ?, 'accepted', '', 200, ?, 1, 1800000000000, ?)");
  sqlite3_stmt *claimed = prepare("INSERT INTO claims VALUES ('shop', 'normal', ?, ?, 1)");
  sqlite3_stmt *add = prepare(many),
               *end = prepare("DELETE FROM entries WHERE number BETWEEN ? AND ?");
  sqlite3_stmt *trim = prepare("DELETE FROM claims");
  for (int count; (count = claim(find, claimed, together)) > 0;) record(add, end, trim, count);
}

static double seconds(struct timeval time) {
  return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

int main(int count, char **words) {
  const int together = count > 3 ? atoi(words[3]) : 512;
  const int entries = (count > 2 ? atoi(words[2]) : 40000) / together * together;
  if (count > 4) devices = atoi(words[4]);
  static char schema[1 << 16];
  if (count < 2 || devices < 1 || together * devices % rows != 0 || together > most ||
      fread(schema, 1, sizeof schema - 1, stdin) == 0)
    return fprintf(stderr,
                   "apns-relay --print-schema | %s FILE [ENTRIES [TOGETHER [DEVICES]]]\n"
                   "TOGETHER times DEVICES is a multiple of %d\n",
                   words[0], rows),
           2;
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  must(sqlite3_open_v2(words[1], &db,
                       SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL));
  run(schema);
  run("PRAGMA synchronous = NORMAL; PRAGMA cache_size = -8000; PRAGMA wal_autocheckpoint = 8000");
  enqueue(entries);
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  relay(together);
  getrusage(RUSAGE_SELF, &after);
  const double user = seconds(after.ru_utime) - seconds(before.ru_utime);
  const double kernel = seconds(after.ru_stime) - seconds(before.ru_stime);
  const double all = (double)entries * devices;
  printf(
      "%d entries of %d, %d together: %.2f µs of CPU for each device, %.2f of that in the kernel\n",
      entries, devices, together, 1e6 * (user + kernel) / all, 1e6 * kernel / all);
}
