/* Outcomes: taken from the library by every call, and from the session by the program. */
#include <stdlib.h>

#include "session.h"

/* ---- Waiting -------------------------------------------------------------------------- */

int64_t session_deadline(const session_t *self, int32_t timeout_ms) {
  return clock_ms() + (timeout_ms < 0 ? self->patience_ms : timeout_ms);
}

bool session_timeout(PyObject *args, PyObject *keywords, const char *format, int32_t usual_ms,
                     int32_t *ms_out) {
  static char *names[] = {"timeout", NULL};
  PyObject *given = NULL;
  *ms_out = usual_ms;
  return PyArg_ParseTupleAndKeywords(args, keywords, format, names, &given) &&
         (!given || call_timeout_argument(given, ms_out));
}

PyThreadState *session_let_others_run(const session_t *self) {
  return self->never_waits ? NULL : PyEval_SaveThread();
}

void session_stop_others(PyThreadState *state) {
  if (state) PyEval_RestoreThread(state);
}

/* ---- With the lock --------------------------------------------------------------- */

/* Allocates memory for the response in the next event; false without memory. */
static bool reserve_response(response_t **response_out) {
  *response_out = malloc(sizeof **response_out);
  return *response_out != NULL;
}

/* With Outcomes.ALL, accepted outcomes are dropped when this many outcomes wait; the library's
   window holds about as many. */
enum { ACCEPTED_MAX = 16384 };

/* Makes room for one more outcome in each list. */
static bool reserve(session_t *self) {
  return outcomes_reserve(&self->outcomes) && outcomes_reserve(&self->unreported) &&
         outcomes_reserve(&self->owned);
}

/* Keeps what is still needed of an outcome; there is room. */
static void put_outcome(session_t *self, outcome_t outcome) {
  if (outcome.is_owned) {
    outcomes_put(&self->owned, outcome);
    return;
  }
  if (outcome.kind != APNS_EVENT_ACCEPTED || self->wanted != APNS_OUTCOMES_FAILURES) {
    const size_t most = self->events_max < ACCEPTED_MAX ? self->events_max : ACCEPTED_MAX;
    if (self->wanted == APNS_OUTCOMES_ALL && outcomes_count(&self->outcomes) >= most)
      self->forgotten += outcomes_forget(&self->outcomes, &self->unreported);
    outcomes_put(&self->outcomes, outcome);
    return;
  }
  free(outcome.response);
  outcome.response = NULL;
  if (outcome.pending) outcomes_put(&self->unreported, outcome);
}

apns_status_t session_await_event(session_t *self, int32_t ms, apns_error_t *error) {
  apns_event_t event = APNS_EVENT_INIT;
  response_t *response = NULL;
  error->status = APNS_ERR_MEMORY;
  if (!reserve(self) || !reserve_response(&response)) return APNS_ERR_MEMORY;
  apns_status_t status = apns_session_next_event(self->session, &event, ms, error);
  if (status == APNS_OK) {
    put_outcome(self, outcome_make(&event, response));
  } else {
    free(response);
  }
  return status;
}

/* The number of outcomes that cannot be dropped. */
static size_t staying(const session_t *self) {
  const size_t count = outcomes_count(&self->outcomes);
  return self->wanted == APNS_OUTCOMES_ALL ? count - self->outcomes.accepted : count;
}

static size_t collect(session_t *self, size_t most) {
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  if (apns_session_stats(self->session, &stats, NULL)) return 0;
  size_t collected = 0;
  while (collected < stats.events && staying(self) < most && reserve(self)) {
    apns_event_t event = APNS_EVENT_INIT;
    response_t *response;
    if (!reserve_response(&response)) break;
    if (apns_session_next_event(self->session, &event, 0, NULL)) {
      free(response);
      break;
    }
    put_outcome(self, outcome_make(&event, response));
    collected++;
  }
  return collected;
}

size_t session_collect(session_t *self) { return collect(self, self->events_max); }
size_t session_collect_all(session_t *self) { return collect(self, SIZE_MAX); }

void session_unlock(session_t *self, deferred_t *deferred) {
  deferred->unreported = self->unreported;
  self->unreported = (outcomes_t){0};
  deferred->lines = self->lines;
  self->lines = (log_lines_t){0};
  deferred->before = self->logged;
  apns_session_stats(self->session, &self->logged, NULL);
  self->logged.forgotten = self->forgotten;
  deferred->after = self->logged;
  object_lock_release(&self->lock);
}

static bool log_changes_since(session_t *self, const apns_session_stats_t *before,
                              const apns_session_stats_t *after) {
  const bool begins_to_forget = before->forgotten == 0 && after->forgotten > 0;
  if (before->connects == after->connects && before->resent == after->resent &&
      before->rejected == after->rejected && before->unknown == after->unknown &&
      !begins_to_forget) {
    return true;
  }
  /* Run signal handlers first: their exception must not look like the logger's. */
  if (PyErr_CheckSignals()) return false;
  PyObject *nothing = PyObject_CallFunction(
      self->state->log_changes, "OiKKKKi", self->host, (int)self->port,
      (unsigned long long)(after->connects - before->connects),
      (unsigned long long)(after->resent - before->resent),
      (unsigned long long)(after->rejected - before->rejected),
      (unsigned long long)(after->unknown - before->unknown), (int)begins_to_forget);
  Py_XDECREF(nothing);
  if (nothing) return true;
  /* The call has done its work, so it returns its result first. */
  if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
    PyErr_Clear();
    PyErr_SetInterrupt();
  } else {
    PyErr_WriteUnraisable((PyObject *)self);
  }
  return true;
}

bool session_run_deferred(session_t *self, deferred_t *deferred) {
  outcome_t outcome;
  /* The credentials' token_provider may have raised one, in this thread. */
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  while (outcomes_take(&deferred->unreported, &outcome)) {
    pending_drop(&self->pending, outcome.pending);
  }
  outcomes_free(&deferred->unreported);
  if (deferred->lines.first) {
    /* Do not show a session that is being destroyed. */
    log_lines_tell(Py_REFCNT(self) > 0 ? (PyObject *)self : NULL, self->state, self->log,
                   &deferred->lines);
  }
  const bool fine = log_changes_since(self, &deferred->before, &deferred->after);
  if (!type) return fine;
  PyErr_Clear();
  PyErr_Restore(type, value, trace);
  return false;
}

/* ---- Outcomes of a call ------------------------------------------------------------- */

static void deliver(session_t *self, outcomes_t *list) {
  outcome_t outcome;
  while (outcomes_count(list) > 0 && reserve(self)) {
    const uint32_t owner = pending_owner(&self->pending, list->items[list->start].pending);
    waiter_t *waiter = owner == 0 ? NULL : self->waiters;
    while (waiter && waiter->id != owner) waiter = waiter->next;
    if (waiter && !outcomes_reserve(&waiter->outcomes)) return;
    outcomes_take(list, &outcome);
    outcome.is_owned = false;
    if (waiter) {
      waiter->open--;
      outcomes_put(&waiter->outcomes, outcome);
    } else if (owner == OWNER_TOLD) {
      free(outcome.response);
      outcome.response = NULL;
      outcomes_put(&self->unreported, outcome);
    } else {
      put_outcome(self, outcome);
    }
  }
}

void session_deliver(session_t *self) {
  deliver(self, &self->returned);
  deliver(self, &self->owned);
}

/* ---- Taking them ------------------------------------------------------------------ */

/* The next outcome; false where none came in time, or with an exception. */
static bool next_outcome(session_t *self, int32_t timeout_ms, outcome_t *outcome) {
  apns_error_t error = APNS_ERROR_INIT;
  int64_t deadline = session_deadline(self, timeout_ms);
  for (;;) {
    deferred_t deferred;
    apns_status_t status;
    bool cut, found;
    if (!object_lock_acquire(&self->lock, "session")) return false;
    session_deliver(self);
    /* An outcome that is there needs no system call, and no other thread to run. */
    if (outcomes_take(&self->outcomes, outcome)) {
      object_lock_release(&self->lock);
      return true;
    }
    PyThreadState *others = session_let_others_run(self);
    int64_t began = clock_ms();
    int32_t slice = slice_before(deadline);
    status = session_await_event(self, slice, &error);
    if (status == APNS_OK) session_collect(self);
    found = outcomes_count(&self->outcomes) > 0;
    int64_t now = clock_ms();
    /* An acceptance that is not an event does not end the wait. */
    cut = status == APNS_OK || ((status == APNS_DONE || status == APNS_ERR_TIMEOUT) &&
                                now - began >= slice && now < deadline);
    session_unlock(self, &deferred);
    session_stop_others(others);
    if (!session_run_deferred(self, &deferred)) return false;
    if (found) continue;
    if (!cut || (self->never_waits && status != APNS_OK)) {
      /* Another thread's call may be connecting: then a short wait is over without a failure. */
      bool is_over = status == APNS_ERR_TIMEOUT && clock_ms() >= deadline && timeout_ms >= 0 &&
                     timeout_ms < self->connect_ms;
      if (status != APNS_DONE && !is_over) raise_error(self->state, &error);
      return false;
    }
    if (PyErr_CheckSignals()) return false;
  }
}

PyObject *session_event_of(session_t *self, outcome_t outcome) {
  pending_t entry;
  /* Every notification has an entry; without one the event is empty. */
  if (!pending_take(&self->pending, outcome.pending, &entry)) entry = (pending_t){0};
  return event_make(self->state, outcome, &entry);
}

/* The next event; NULL without an exception if no event has arrived. */
static PyObject *next_event(session_t *self, int32_t timeout_ms) {
  outcome_t outcome;
  return next_outcome(self, timeout_ms, &outcome) ? session_event_of(self, outcome) : NULL;
}

PyObject *session_next_event(PyObject *object, PyObject *args, PyObject *keywords) {
  int32_t timeout_ms;
  if (!session_timeout(args, keywords, "|O:next_event", 0, &timeout_ms)) return NULL;
  PyObject *event = next_event((session_t *)object, timeout_ms);
  if (event || PyErr_Occurred()) return event;
  Py_RETURN_NONE;
}

typedef struct iterator {
  PyObject_HEAD PyObject *session;
  int32_t timeout_ms;
} iterator_t;

static PyObject *iterate(PyObject *session, int32_t timeout_ms) {
  iterator_t *iterator = object_alloc(((session_t *)session)->state->events);
  if (!iterator) return NULL;
  Py_INCREF(session);
  iterator->session = session;
  iterator->timeout_ms = timeout_ms;
  return (PyObject *)iterator;
}

PyObject *session_events(PyObject *object, PyObject *args, PyObject *keywords) {
  int32_t timeout_ms;
  if (!session_timeout(args, keywords, "|O:events", 0, &timeout_ms)) return NULL;
  return iterate(object, timeout_ms);
}

PyObject *session_iter(PyObject *object) { return iterate(object, 0); }

static int iterator_traverse(PyObject *object, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(((iterator_t *)object)->session);
  return 0;
}

static int iterator_clear(PyObject *object) {
  Py_CLEAR(((iterator_t *)object)->session);
  return 0;
}

static void iterator_dealloc(PyObject *object) {
  PyObject_GC_UnTrack(object);
  iterator_clear(object);
  object_free(object);
}

static PyObject *iterator_next(PyObject *object) {
  iterator_t *self = (iterator_t *)object;
  PyObject *session = self->session;
  if (!session) return NULL;
  Py_INCREF(session);
  PyObject *event = next_event((session_t *)session, self->timeout_ms);
  Py_DECREF(session);
  return event;
}

static PyType_Slot iterator_slots[] = {{Py_tp_dealloc, iterator_dealloc},
                                       {Py_tp_traverse, iterator_traverse},
                                       {Py_tp_clear, iterator_clear},
                                       {Py_tp_iter, PyObject_SelfIter},
                                       {Py_tp_iternext, iterator_next},
                                       {Py_tp_doc, (void *)"The outcomes of a session."},
                                       {0, NULL}};

static PyType_Spec iterator_spec = {"libapns.Events", sizeof(iterator_t), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, iterator_slots};

bool session_events_load(module_state_t *state) {
  state->log_changes = load_attribute("libapns._log", "changes");
  state->tell_line = load_attribute("libapns._log", "tell");
  state->log_loss = load_attribute("libapns._log", "loss");
  state->end_with_process = load_attribute("libapns._exit", "end_with_process");
  if (state->log_changes && state->tell_line && state->log_loss && state->end_with_process)
    state->events = load_type(state->module, &iterator_spec);
  return state->events != NULL;
}
