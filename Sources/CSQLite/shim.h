#ifndef APNS_CSQLITE_SHIM_H
#define APNS_CSQLITE_SHIM_H

#include <sqlite3.h>

/* SQLite counts no memory from now on. Call it before SQLite is used.
 * Swift cannot call sqlite3_config(), which is variadic. */
static inline int apns_sqlite_count_no_memory(void) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

#endif
