/* A session as Python has it, for the files that implement it. */
#ifndef APNS_PYTHON_SESSION_H
#define APNS_PYTHON_SESSION_H

#include "core.h"

typedef struct session {
  PyObject_HEAD apns_session_t *session;
  module_state_t *state;
  PyObject *module; /* whose the state is */
  object_lock_t lock;
  PyObject *credentials, *weakrefs;
  PyObject *host;
  uint16_t port;
  bool reports_accepted, speaks_http2, never_waits, closed;
  int32_t connect_ms;  /* connect_timeout */
  int32_t patience_ms; /* what a timeout of None is */
  int32_t close_ms;    /* close_timeout */
  size_t events_max;
  pending_table_t pending;
  /* With the lock. */
  outcomes_t outcomes;         /* for the program to take */
  outcomes_t unreported;       /* accepted, and no event: their pending entries are to be dropped */
  apns_session_stats_t logged; /* the counts that were last compared for the log */
  lookup_t *lookup;
  PyObject *log;                 /* NULL: nobody listens */
  log_lines_t lines;             /* with the lock */
  struct session *older, *newer; /* with the interpreter lock: see module_state_t */
} session_t;

/* ---- session_end.c ---------------------------------------------------------------- */

/* Gives a session that nobody closed its end, before it is destroyed. */
void session_end(session_t *self);
/* The same for all of the module, for the end of the process. */
PyObject *sessions_end(PyObject *module, PyObject *none);

/* ---- session_events.c ------------------------------------------------------------ */

/* What a call with the lock leaves to be done without it. */
typedef struct deferred {
  outcomes_t unreported;
  log_lines_t lines;
  apns_session_stats_t before, after;
} deferred_t;

/* Moves the library's outcomes to the session's own and returns their number. With the lock;
   needs no interpreter lock. */
size_t session_collect(session_t *self);
/* Releases the lock; needs no interpreter lock. */
void session_unlock(session_t *self, deferred_t *deferred);
/* Drops pending entries and logs. With the interpreter lock. False with the exception of a
   token_provider, or of a signal handler, which Python runs here first. */
bool session_run_deferred(session_t *self, deferred_t *deferred);

bool session_events_load(module_state_t *state);
PyObject *session_next_event(PyObject *self, PyObject *args, PyObject *keywords);
PyObject *session_events(PyObject *self, PyObject *args, PyObject *keywords);
PyObject *session_iter(PyObject *self);

/* ---- session_loop.c: in the program's event loop ---------------------------------------- */

PyObject *session_fileno(PyObject *self, PyObject *none);
PyObject *session_process(PyObject *self, PyObject *none);
PyObject *session_wake(PyObject *self, PyObject *none);
PyObject *session_get_timeout(PyObject *self, void *closure);
/* Lets other threads run while a call of the library may wait, and NULL where it never does: to
   get the interpreter lock back from a busy thread would take longer than the call. */
PyThreadState *session_let_others_run(const session_t *self);
void session_stop_others(PyThreadState *state);

/* ---- session_connection.c: connecting, writing, draining, closing ------------------ */

/* The end of a wait; a negative timeout is None. */
int64_t session_deadline(const session_t *self, int32_t timeout_ms);
/* The only argument of a method, which is `given` where the program gives none. */
bool session_timeout(PyObject *args, PyObject *keywords, const char *format, PyObject *given,
                     int32_t *ms_out);
PyObject *session_use_credentials(PyObject *self, PyObject *credentials);
PyObject *session_connect(PyObject *self, PyObject *none);
PyObject *session_flush(PyObject *self, PyObject *none);
PyObject *session_drain(PyObject *self, PyObject *args, PyObject *keywords);
PyObject *session_cancel(PyObject *self, PyObject *args, PyObject *keywords);
PyObject *session_close(PyObject *self, PyObject *args, PyObject *keywords);
PyObject *session_enter(PyObject *self, PyObject *none);
PyObject *session_exit(PyObject *self, PyObject *args);

/* ---- session_reports.c: counts, and devices that are gone --------------------------- */

bool session_reports_load(module_state_t *state);
PyObject *session_stats(PyObject *self, PyObject *none);
PyObject *session_metrics(PyObject *self, PyObject *none);
PyObject *session_gone(PyObject *self, PyObject *none);

/* ---- sending.c ----------------------------------------------------------------------- */

extern const char send_doc[], send_many_doc[];
PyObject *session_send(PyObject *self, PyObject *args, PyObject *keywords);
PyObject *session_send_many(PyObject *self, PyObject *args, PyObject *keywords);

#endif
