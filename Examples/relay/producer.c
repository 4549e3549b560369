/* producer QUEUE APP ID TOKEN PAYLOAD: enqueues a notification, once for each ID.
 *
 *     cc producer.c -o producer -lsqlite3
 */
#include <sqlite3.h>
#include <stdio.h>

int main(int count, char **words) {
  sqlite3 *database = NULL;
  sqlite3_stmt *add = NULL;
  int n, status;
  if (count != 6) return fprintf(stderr, "usage: producer QUEUE APP ID TOKEN PAYLOAD\n"), 2;
  status = sqlite3_open_v2(words[1], &database, SQLITE_OPEN_READWRITE, NULL);
  /* SQLite waits up to this many ms for other writers. */
  sqlite3_busy_timeout(database, 30000);
  if (status == SQLITE_OK)
    status = sqlite3_prepare_v2(
        database, "INSERT OR IGNORE INTO entries (app, id, token, payload) VALUES (?, ?, ?, ?)", -1,
        &add, NULL);
  for (n = 1; n <= 4 && status == SQLITE_OK; n++)
    status = sqlite3_bind_text(add, n, words[n + 1], -1, SQLITE_STATIC);
  /* A single statement is a transaction. A committed notification is not lost. */
  if (status == SQLITE_OK) status = sqlite3_step(add);
  if (status == SQLITE_DONE)
    puts(sqlite3_changes(database) > 0 ? "enqueued" : "known already");
  else
    fprintf(stderr, "%s: %s\n", words[1], sqlite3_errmsg(database));
  sqlite3_finalize(add);
  sqlite3_close(database);
  return status == SQLITE_DONE ? 0 : 1;
}
