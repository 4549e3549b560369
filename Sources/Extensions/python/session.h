/* A session as Python has it, for the files that implement it. */
#ifndef APNS_PYTHON_SESSION_H
#define APNS_PYTHON_SESSION_H

#include "core.h"

/* A call that waits for the outcomes of its notifications; with the interpreter lock. */
typedef struct waiter {
  uint32_t id;         /* the owner of its entries */
  size_t open;         /* how many were queued and have no outcome here yet */
  outcomes_t outcomes; /* not yet returned */
  struct waiter *next;
} waiter_t;

typedef struct session {
  PyObject_HEAD apns_session_t *session;
  module_state_t *state;
  PyObject *module; /* whose the state is */
  object_lock_t lock;
  PyObject *credentials, *weakrefs;
  PyObject *host;
  uint16_t port;
  apns_outcomes_t wanted;
  bool speaks_http2, never_waits, closed;
  int32_t connect_ms;  /* connect_timeout */
  int32_t send_ms;     /* connect_timeout and write_timeout together */
  int32_t patience_ms; /* what a timeout of None is: with answer_timeout */
  int32_t close_ms;    /* close_timeout */
  size_t events_max;
  pending_table_t pending;
  waiter_t *waiters;
  uint32_t waiter_id;  /* the last one's */
  outcomes_t returned; /* of waiters that ended: events of the session */
  /* With the lock. */
  outcomes_t outcomes;         /* for the program to take */
  outcomes_t unreported;       /* accepted, without an event: drop their pending entries */
  outcomes_t owned;            /* for waiters */
  uint64_t forgotten;          /* accepted outcomes that were dropped for newer ones */
  apns_session_stats_t logged; /* the counts that were last compared for the log */
  lookup_t *lookup;
  PyObject *log;                 /* NULL: not given */
  log_lines_t lines;             /* with the lock */
  struct session *older, *newer; /* with the interpreter lock: see module_state_t */
} session_t;

/* ---- session_end.c ---------------------------------------------------------------- */

/* Ends a session that was not closed, before it is destroyed. */
void session_end(session_t *self);
PyObject *session_end_now(PyObject *self, PyObject *none);
/* The same for all of the module, for the end of the process. */
PyObject *sessions_end(PyObject *module, PyObject *none);

/* ---- session_events.c ------------------------------------------------------------ */

/* The end of a wait; a negative timeout is None. */
int64_t session_deadline(const session_t *self, int32_t timeout_ms);
/* The only argument of a method; `usual_ms` if the caller omits it. */
bool session_timeout(PyObject *args, PyObject *keywords, const char *format, int32_t usual_ms,
                     int32_t *ms_out);
/* Lets other threads run while a call of the library may wait, and NULL where it never does: to
   get the interpreter lock back from a busy thread would take longer than the call. */
PyThreadState *session_let_others_run(const session_t *self);
void session_stop_others(PyThreadState *state);
/* What a call with the lock leaves to be done without it. */
typedef struct deferred {
  outcomes_t unreported;
  log_lines_t lines;
  apns_session_stats_t before, after;
} deferred_t;

/* Waits `ms` for an outcome of the library, and moves it to the session's own. With the lock; needs
   no interpreter lock. */
apns_status_t session_await_event(session_t *self, int32_t ms, apns_error_t *error);
/* Moves the library's outcomes to the session's own and returns their number. With the lock;
   needs no interpreter lock. */
size_t session_collect(session_t *self);
/* The same, however many wait for the program already. */
size_t session_collect_all(session_t *self);
/* Hands what has an owner to its waiter. With the lock and the interpreter lock. */
void session_deliver(session_t *self);
/* An event of the outcome. NULL with an exception. */
PyObject *session_event_of(session_t *self, outcome_t outcome);
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

/* ---- session_connection.c: connecting, writing, draining, closing ------------------ */

PyObject *session_use_credentials(PyObject *self, PyObject *credentials);
PyObject *session_connect(PyObject *self, PyObject *none);
PyObject *session_flush(PyObject *self, PyObject *none);
PyObject *session_drain(PyObject *self, PyObject *args, PyObject *keywords);
PyObject *session_cancel(PyObject *self, PyObject *args, PyObject *keywords);
PyObject *session_close(PyObject *self, PyObject *args, PyObject *keywords);
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

/* Reads a notification and keeps what its event needs; `owner` as in pending_t. The caller frees
   the buffers. */
bool push_read(session_t *self, push_buffers_t *buffers, apns_notification_t *push, PyObject *token,
               PyObject *payload, PyObject *user_data, const push_options_t *options,
               uint32_t owner);
/* Drops the pending entry of a notification that was not queued. */
void push_drop(session_t *self, const apns_notification_t *push);
/* Sends one by the deadline; 0: within the session's timeouts. False with the exception of a signal
   handler; `status_out` says whether it was taken. */
bool push_send(session_t *self, const apns_notification_t *push, uint32_t flags, int64_t deadline,
               uint32_t *identifier, apns_status_t *status_out, apns_error_t *error);

#define BATCH 512

/* Notifications that were read from an iterable. */
typedef struct batch {
  size_t count;
  uint32_t owner;
  apns_notification_t pushes[BATCH];
  PyObject *items[BATCH]; /* own the parts that the buffers do not own */
  push_buffers_t buffers[BATCH];
} batch_t;

/* Reads until the batch has `most`; false with an exception. `ended_out`: the iterator ended. */
bool batch_fill(session_t *self, batch_t *batch, size_t most, PyObject *iterator, bool *ended_out);
/* Empties it, of which the first `taken` were taken. */
void batch_clear(session_t *self, batch_t *batch, size_t taken);
/* Has the library take what follows the first `taken`, and adds their number to it. With the lock;
   needs no interpreter lock. */
apns_status_t batch_send(session_t *self, const batch_t *batch, uint32_t flags, size_t *taken,
                         apns_error_t *error);

/* ---- pushing.c ------------------------------------------------------------------------ */

extern const char push_doc[], push_many_doc[];
bool session_pushing_load(module_state_t *state);
PyObject *session_push(PyObject *self, PyObject *args, PyObject *keywords);
PyObject *session_push_many(PyObject *self, PyObject *args, PyObject *keywords);

#endif
