/*
 * Ends sessions that the program did not close: with the process, or with the last reference. Waits
 * for outcomes for up to the option `close_timeout`, then logs how many are missing.
 */
#include <poll.h>
#include <stdlib.h>

#include "session.h"

enum {
  PAUSE_MS = 10,    /* before a call that did not wait is made again, as without a provider token */
  GOODBYE_MS = 1000 /* for the peer's, where everything has its outcome */
};

static uint64_t without_outcome(const apns_session_stats_t *stats) {
  return stats->unknown + stats->unresolved;
}

/* ---- With the lock, and without the interpreter lock ---------------------------------- */

/* After a call that is not done: waits for what the next one needs, for a slice at most. */
static void go_on(session_t *self, int64_t began, int64_t deadline) {
  if (self->never_waits) {
    struct pollfd watched = {.fd = apns_session_fd(self->session), .events = POLLIN};
    poll(&watched, 1, slice_before(deadline));
    apns_session_process(self->session, NULL);
  } else if (clock_ms() - began < PAUSE_MS) {
    poll(NULL, 0, PAUSE_MS);
  }
}

static bool drain_slice(session_t *self, int64_t deadline) {
  int64_t began = clock_ms();
  apns_status_t status = apns_session_drain(self->session, slice_before(deadline), NULL, NULL);
  /* Another try mends nothing else. */
  if (!apns_status_is_retryable(status)) return true;
  go_on(self, began, deadline);
  return false;
}

static bool close_slice(session_t *self, int64_t deadline) {
  int64_t began = clock_ms();
  int64_t left = deadline > began ? deadline - began : 0;
  apns_status_t status = apns_session_close(self->session, (int32_t)left, NULL);
  if (!apns_status_is_retryable(status)) return true;
  go_on(self, began, deadline);
  return false;
}

/* ---- With the interpreter lock ---------------------------------------------------------- */

/* Makes one call, if the lock is free. True: it is done. Exceptions of the program's functions are
   reported as unraisable. */
static bool step(session_t *self, bool (*call)(session_t *, int64_t), int64_t deadline) {
  deferred_t deferred;
  bool is_done;
  if (!object_lock_acquire_in_time(&self->lock, SLICE_MS)) return false;
  Py_BEGIN_ALLOW_THREADS;
  is_done = call(self, deadline);
  session_collect(self);
  session_unlock(self, &deferred);
  Py_END_ALLOW_THREADS;
  /* Log the loss only once, and run no signal handlers: no caller could get their exceptions. */
  deferred.before = deferred.after;
  if (!session_run_deferred(self, &deferred)) PyErr_WriteUnraisable(NULL);
  return is_done;
}

static void say_loss(session_t *self, uint64_t count) {
  PyObject *said =
      PyObject_CallFunction(self->state->log_loss, "OOiK", self->log ? self->log : Py_None,
                            self->host, (int)self->port, (unsigned long long)count);
  Py_XDECREF(said);
  if (said) return;
  /* Such as where the interpreter has taken itself apart. */
  PyErr_Clear();
  PySys_WriteStderr("libapns: a session ended, and %llu notifications have no outcome\n",
                    (unsigned long long)count);
}

/* Closes it by the deadline, and logs how many more have no outcome than before. */
static void finish(session_t *self, uint64_t before, int64_t deadline) {
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  apns_session_stats(self->session, &stats, NULL);
  if (stats.unresolved == 0) deadline = clock_ms() + GOODBYE_MS;
  /* Another thread may be in a call that never ends, such as of a token_provider. */
  const int64_t patience = (deadline > clock_ms() ? deadline : clock_ms()) + GOODBYE_MS;
  while (!step(self, close_slice, deadline) && clock_ms() < patience) continue;
  self->closed = true;
  stats = (apns_session_stats_t)APNS_SESSION_STATS_INIT;
  apns_session_stats(self->session, &stats, NULL);
  if (without_outcome(&stats) > before) say_loss(self, without_outcome(&stats) - before);
}

/* Whether something was taken and has no outcome, and how many were unknown before. */
static bool needs_end(session_t *self, uint64_t *before_out) {
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  if (!self->session || self->closed || !object_lock_is_of_this_process(&self->lock)) return false;
  if (apns_session_stats(self->session, &stats, NULL) || stats.unresolved == 0) return false;
  *before_out = stats.unknown;
  return true;
}

void session_end(session_t *self) {
  uint64_t before;
  if (!needs_end(self, &before)) return;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  const int64_t deadline = clock_ms() + self->close_ms;
  while (clock_ms() < deadline && !step(self, drain_slice, deadline)) continue;
  finish(self, before, deadline);
  PyErr_Restore(type, value, trace);
}

PyObject *session_end_now(PyObject *object, PyObject *none) {
  (void)none;
  session_end((session_t *)object);
  Py_RETURN_NONE;
}

/* ---- At the end of the process ----------------------------------------------------------- */

typedef struct ending {
  session_t *session;
  uint64_t before;
  int64_t deadline;
  bool is_drained;
} ending_t;

/* The sessions that still have to end, with a reference to each; NULL without sessions. */
static ending_t *find(const module_state_t *state, size_t *count_out) {
  size_t count = 0;
  for (session_t *one = state->sessions; one; one = one->older) count++;
  ending_t *endings = count ? calloc(count, sizeof *endings) : NULL;
  *count_out = 0;
  for (session_t *one = state->sessions; endings && one; one = one->older) {
    ending_t *ending = &endings[*count_out];
    if (!needs_end(one, &ending->before)) continue;
    Py_INCREF(one);
    ending->session = one;
    ending->deadline = clock_ms() + one->close_ms;
    ++*count_out;
  }
  return endings;
}

/* Drains all sessions at the same time, so that an unreachable peer does not delay the others.
   False with the exception of a signal handler. */
static bool drain_all(ending_t *endings, size_t count) {
  for (bool is_waiting = true; is_waiting;) {
    is_waiting = false;
    for (size_t n = 0; n < count; n++) {
      ending_t *ending = &endings[n];
      if (ending->is_drained) continue;
      ending->is_drained =
          clock_ms() >= ending->deadline || step(ending->session, drain_slice, ending->deadline);
      is_waiting = is_waiting || !ending->is_drained;
      if (PyErr_CheckSignals()) return false;
    }
  }
  return true;
}

PyObject *sessions_end(PyObject *module, PyObject *none) {
  size_t count;
  (void)none;
  ending_t *endings = find(state_of_module(module), &count);
  const bool is_calm = drain_all(endings, count);
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  for (size_t n = 0; n < count; n++) {
    finish(endings[n].session, endings[n].before, is_calm ? endings[n].deadline : 0);
    Py_DECREF(endings[n].session);
  }
  free(endings);
  PyErr_Restore(type, value, trace);
  if (!is_calm) return NULL;
  Py_RETURN_NONE;
}
