/* Session.push() and Session.push_many(): notifications that come back with their outcomes. */
#include <poll.h>
#include <stdlib.h>

#include "session.h"

enum {
  PAUSE_MS = 10,  /* before a call that failed immediately is repeated */
  PUSH_BATCH = 64 /* read and sent together, so that a slow iterable delays few */
};

/* ---- Waiting ------------------------------------------------------------------------- */

static waiter_t *waiter_of(const session_t *self, uint32_t id) {
  waiter_t *waiter = self->waiters;
  while (waiter && waiter->id != id) waiter = waiter->next;
  return waiter;
}

static void begin(session_t *self, waiter_t *waiter) {
  do self->waiter_id++;
  while (self->waiter_id == 0 || self->waiter_id == OWNER_TOLD || waiter_of(self, self->waiter_id));
  *waiter = (waiter_t){.id = self->waiter_id, .next = self->waiters};
  self->waiters = waiter;
}

/* Makes outcomes that it did not return events of the session. */
static void end(session_t *self, waiter_t *waiter) {
  waiter_t **place = &self->waiters;
  outcome_t outcome;
  while (*place && *place != waiter) place = &(*place)->next;
  if (*place) *place = waiter->next;
  if (waiter->open > 0 || outcomes_count(&waiter->outcomes) > 0)
    pending_disown(&self->pending, waiter->id);
  while (outcomes_count(&waiter->outcomes) > 0 && outcomes_reserve(&self->returned)) {
    outcomes_take(&waiter->outcomes, &outcome);
    outcomes_put(&self->returned, outcome);
  }
  outcomes_free(&waiter->outcomes);
}

static bool has_outcome(const waiter_t *waiter) { return outcomes_count(&waiter->outcomes) > 0; }

/* Waits for outcomes, for one slice; false with the exception of a signal handler. `status_out` is
   the library's. */
static bool wait_slice(session_t *self, const waiter_t *waiter, int64_t deadline,
                       apns_status_t *status_out, apns_error_t *error) {
  deferred_t deferred;
  *status_out = APNS_OK;
  if (!object_lock_acquire(&self->lock, "session")) return false;
  session_deliver(self);
  const bool is_here = has_outcome(waiter);
  Py_BEGIN_ALLOW_THREADS;
  if (!is_here) {
    const int32_t slice = slice_before(deadline);
    /* The binary interface proves acceptance only during a drain. */
    *status_out = self->speaks_http2 ? session_await_event(self, slice, error)
                                     : apns_session_drain(self->session, slice, NULL, error);
    session_collect_all(self);
  }
  session_unlock(self, &deferred);
  Py_END_ALLOW_THREADS;
  return session_run_deferred(self, &deferred) && PyErr_CheckSignals() == 0;
}

static bool is_quiet(apns_status_t status) {
  return status == APNS_OK || status == APNS_DONE || status == APNS_ERR_TIMEOUT;
}

static void pause_shortly(void) {
  Py_BEGIN_ALLOW_THREADS;
  poll(NULL, 0, PAUSE_MS);
  Py_END_ALLOW_THREADS;
}

static bool refuse_nonblocking(const session_t *self) {
  if (!self->never_waits) return false;
  raise_status(self->state, APNS_ERR_ARGUMENT,
               "the session is nonblocking: send, and take the outcome as an event");
  return true;
}

/* ---- One ------------------------------------------------------------------------------- */

/* Takes it back, in so far as it is not written; false with an exception. */
static bool take_back(session_t *self, uint32_t identifier) {
  deferred_t deferred;
  if (!object_lock_acquire(&self->lock, "session")) return false;
  apns_session_cancel(self->session, identifier, NULL, NULL);
  session_collect_all(self);
  session_deliver(self);
  session_unlock(self, &deferred);
  return session_run_deferred(self, &deferred);
}

/* Sets the reason's text if APNs gave no reason. */
static void explain(outcome_t *outcome, const char *why) {
  const bool lacks = outcome->kind != APNS_EVENT_ACCEPTED && outcome->kind != APNS_EVENT_REJECTED;
  if (!lacks || outcome->response || !(outcome->response = calloc(1, sizeof *outcome->response)))
    return;
  char *text = outcome->response->reason_text;
  size_t length = strlen(why), room = sizeof outcome->response->reason_text - 1;
  if (length > room) {
    length = room;
    while (length > 0 && ((unsigned char)why[length] & 0xC0) == 0x80) length--;
  }
  memcpy(text, why, length);
}

/* The event of a notification whose time is over; a later response is counted, and not reported. */
static PyObject *tell(session_t *self, waiter_t *waiter, uintptr_t number, uint32_t identifier,
                      const char *why) {
  pending_t entry;
  outcome_t outcome = {.identifier = identifier, .kind = APNS_EVENT_UNKNOWN};
  if (outcomes_take(&waiter->outcomes, &outcome)) {
    explain(&outcome, why);
    return session_event_of(self, outcome);
  }
  if (!pending_tell(&self->pending, number, &entry)) entry = (pending_t){0};
  waiter->open = 0;
  explain(&outcome, why);
  return event_make(self->state, outcome, &entry);
}

/* Waits for the outcome of a queued notification. */
static PyObject *await_outcome(session_t *self, waiter_t *waiter, uintptr_t number,
                               uint32_t identifier, int64_t deadline) {
  for (;;) {
    apns_error_t error = APNS_ERROR_INIT;
    apns_status_t status;
    outcome_t outcome;
    if (!wait_slice(self, waiter, deadline, &status, &error)) return NULL;
    if (outcomes_take(&waiter->outcomes, &outcome)) return session_event_of(self, outcome);
    const bool is_hopeless = !is_quiet(status) && !apns_status_is_retryable(status);
    if (is_hopeless || clock_ms() >= deadline) {
      if (!take_back(self, identifier)) return NULL;
      return tell(self, waiter, number, identifier,
                  error.message[0] ? error.message : "its time is over");
    }
    if (!is_quiet(status)) pause_shortly();
  }
}

static PyObject *push_one(session_t *self, waiter_t *waiter, const apns_notification_t *push,
                          int64_t deadline) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status;
  uint32_t identifier = 0;
  waiter->open = 1;
  const bool is_calm = push_send(self, push, 0, deadline, &identifier, &status, &error);
  if (status) {
    waiter->open = 0;
    push_drop(self, push);
    if (is_calm) return raise_error(self->state, &error);
    annotate_exception("taken", 0);
    return NULL;
  }
  const uintptr_t number = (uintptr_t)push->user_data & ~PENDING_OWNED;
  PyObject *event = is_calm ? await_outcome(self, waiter, number, identifier, deadline) : NULL;
  if (!event) {
    annotate_exception("taken", 1);
    annotate_exception("identifier", identifier);
  }
  return event;
}

const char push_doc[] =
    "push($self, token, payload, *, timeout=None, user_data=None, expiry=None, priority=None, "
    "topic=None, "
    "push_type=None, collapse_id=None, apns_id=None, channel_id=None, deadline=None)\n--\n\n"
    "Sends one notification and returns its outcome: an Event, also if it is accepted.\n\n"
    "`timeout` is for all of it, in seconds: connecting, writing, waiting for the response; None:\n"
    "for connect_timeout, write_timeout and answer_timeout together. The other arguments are\n"
    "those of send().\n\n"
    "After an exception it was not queued. If the time passes later, or nothing can be sent\n"
    "without a change, it is taken back: EventKind.CANCELLED if nothing of it was written, so\n"
    "that it may be sent again, or UNKNOWN if it may have arrived.\n\n"
    "Threads may push at the same time, each gets its own outcome. Outcomes of other methods'\n"
    "notifications stay for next_event(). Ctrl-C ends the wait: if the notification was queued,\n"
    "KeyboardInterrupt has `taken` 1 and `identifier`, and its outcome is an event of the "
    "session.\n"
    "The binary interface has to prove what it accepted, which costs a connection for each call.\n"
    "With `nonblocking` it is an ArgumentError.";

PyObject *session_push(PyObject *object, PyObject *args, PyObject *keywords) {
  static char *names[] = {"token",      "payload",  "timeout",   "user_data",   "expiry",
                          "priority",   "topic",    "push_type", "collapse_id", "apns_id",
                          "channel_id", "deadline", NULL};
  PyObject *token, *payload, *timeout = NULL, *user_data = NULL;
  push_options_t options = {NULL};
  session_t *self = (session_t *)object;
  int32_t timeout_ms;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|$OOOOOOOOOO:push", names, &token, &payload,
                                   &timeout, &user_data, &options.expiry, &options.priority,
                                   &options.topic, &options.push_type, &options.collapse_id,
                                   &options.apns_id, &options.channel_id, &options.deadline) ||
      !call_timeout_argument(timeout, &timeout_ms) || refuse_nonblocking(self)) {
    return NULL;
  }
  const int64_t deadline = session_deadline(self, timeout_ms);
  waiter_t waiter;
  push_buffers_t buffers;
  apns_notification_t push;
  begin(self, &waiter);
  PyObject *event = NULL;
  if (push_read(self, &buffers, &push, token, payload, user_data, &options, waiter.id)) {
    event = push_one(self, &waiter, &push, deadline);
    push_buffers_free(&buffers);
  }
  end(self, &waiter);
  return event;
}

/* ---- Many ------------------------------------------------------------------------------ */

typedef struct pusher {
  PyObject_HEAD PyObject *session, *source;
  waiter_t waiter;
  batch_t *batch;
  size_t sent;      /* of the batch */
  size_t total;     /* queued in all */
  unsigned turns;   /* outcomes returned since something was sent */
  int64_t deadline; /* of a wait without progress */
  int32_t timeout_ms;
  bool is_used, is_ended;                  /* no more is read or sent */
  PyObject *failure, *trouble, *traceback; /* why, raised after the last outcome */
} pusher_t;

static session_t *session_of(const pusher_t *self) { return (session_t *)self->session; }
static size_t unsent(const pusher_t *self) { return self->batch->count - self->sent; }

/* Keeps the exception that is set. */
static void keep_failure(pusher_t *self) {
  self->is_ended = true;
  PyErr_Fetch(&self->failure, &self->trouble, &self->traceback);
}

static void read_more(pusher_t *self) {
  batch_clear(session_of(self), self->batch, self->sent);
  self->sent = 0;
  if (!batch_fill(session_of(self), self->batch, PUSH_BATCH, self->source, &self->is_ended))
    keep_failure(self);
}

/* Whether to repeat a failed call before the deadline; false: raise the error. */
static bool goes_on(const pusher_t *self, apns_status_t status, int64_t began) {
  if (!apns_status_is_retryable(status) || clock_ms() >= self->deadline) return false;
  if (status == APNS_ERR_TIMEOUT && clock_ms() - began >= SLICE_MS) return true;
  /* Raise immediately if no notification was queued yet: the peer may be unreachable. */
  if (self->total == 0 && status != APNS_ERR_AGAIN) return false;
  pause_shortly();
  return true;
}

/* Sends what there is room for; false with the exception of a signal handler. */
static bool send_more(pusher_t *self) {
  session_t *session = session_of(self);
  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status;
  deferred_t deferred;
  const size_t before = self->sent, count = unsent(self);
  if (!object_lock_acquire(&session->lock, "session")) return false;
  self->waiter.open += count;
  const int64_t began = clock_ms();
  Py_BEGIN_ALLOW_THREADS;
  status = batch_send(session, self->batch, 0, &self->sent, &error);
  session_collect_all(session);
  session_unlock(session, &deferred);
  Py_END_ALLOW_THREADS;
  self->waiter.open -= unsent(self);
  self->total += self->sent - before;
  if (!session_run_deferred(session, &deferred) || PyErr_CheckSignals()) return false;
  if (self->sent > before) self->deadline = session_deadline(session, self->timeout_ms);
  if (status == APNS_OK || goes_on(self, status, began)) return true;
  batch_clear(session, self->batch, self->sent);
  self->sent = 0;
  raise_error(session->state, &error);
  keep_failure(self);
  return true;
}

/* Waits for outcomes; false with an exception. */
static bool wait_more(pusher_t *self) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status;
  const int64_t began = clock_ms();
  if (!wait_slice(session_of(self), &self->waiter, self->deadline, &status, &error)) return false;
  if (has_outcome(&self->waiter)) return true;
  if (is_quiet(status) ? clock_ms() < self->deadline : goes_on(self, status, began)) return true;
  if (is_quiet(status)) {
    error.status = APNS_ERR_TIMEOUT;
    PyOS_snprintf(error.message, sizeof error.message, "%zu notifications still wait for an answer",
                  self->waiter.open);
  }
  raise_error(session_of(self)->state, &error);
  annotate_exception("unresolved", self->waiter.open);
  return false;
}

/* The end: nothing, or the exception that came before. */
static PyObject *finish(pusher_t *self) {
  PyErr_Restore(self->failure, self->trouble, self->traceback);
  self->failure = self->trouble = self->traceback = NULL;
  if (PyErr_Occurred()) annotate_exception("taken", self->total);
  return NULL;
}

static PyObject *next(pusher_t *self) {
  self->deadline = session_deadline(session_of(self), self->timeout_ms);
  for (;;) {
    outcome_t outcome;
    /* Room that outcomes have made is filled before the last of them is returned. */
    const bool may_return = self->turns < PUSH_BATCH || (self->is_ended && unsent(self) == 0);
    if (may_return && outcomes_take(&self->waiter.outcomes, &outcome)) {
      self->turns++;
      return session_event_of(session_of(self), outcome);
    }
    self->turns = 0;
    if (unsent(self) == 0 && !self->is_ended) read_more(self);
    if (unsent(self) > 0) {
      if (!send_more(self)) return NULL;
      if (!object_lock_acquire(&session_of(self)->lock, "session")) return NULL;
      session_deliver(session_of(self));
      object_lock_release(&session_of(self)->lock);
    } else if (!has_outcome(&self->waiter) && self->is_ended) {
      if (self->waiter.open == 0) return finish(self);
      if (!wait_more(self)) return NULL;
    }
  }
}

static PyObject *pusher_next(PyObject *object) {
  pusher_t *self = (pusher_t *)object;
  if (!self->session) return NULL;
  if (self->is_used) {
    PyErr_SetString(PyExc_ValueError, "the iterator is in use");
    return NULL;
  }
  self->is_used = true;
  PyObject *event = next(self);
  self->is_used = false;
  return event;
}

static int pusher_traverse(PyObject *object, visitproc visit, void *arg) {
  pusher_t *self = (pusher_t *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->session);
  Py_VISIT(self->source);
  Py_VISIT(self->failure);
  Py_VISIT(self->trouble);
  Py_VISIT(self->traceback);
  for (size_t i = 0; self->batch && i < self->batch->count; i++) Py_VISIT(self->batch->items[i]);
  return 0;
}

static int pusher_clear(PyObject *object) {
  pusher_t *self = (pusher_t *)object;
  if (self->session) {
    end(session_of(self), &self->waiter);
    if (self->batch) batch_clear(session_of(self), self->batch, self->sent);
  }
  Py_CLEAR(self->session);
  Py_CLEAR(self->source);
  Py_CLEAR(self->failure);
  Py_CLEAR(self->trouble);
  Py_CLEAR(self->traceback);
  return 0;
}

static void pusher_dealloc(PyObject *object) {
  PyObject_GC_UnTrack(object);
  pusher_clear(object);
  PyMem_Free(((pusher_t *)object)->batch);
  object_free(object);
}

static PyType_Slot slots[] = {{Py_tp_dealloc, pusher_dealloc},
                              {Py_tp_traverse, pusher_traverse},
                              {Py_tp_clear, pusher_clear},
                              {Py_tp_iter, PyObject_SelfIter},
                              {Py_tp_iternext, pusher_next},
                              {Py_tp_doc, (void *)"The outcomes of what push_many() was given."},
                              {0, NULL}};

static PyType_Spec spec = {"libapns.Outcomes", sizeof(pusher_t), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

bool session_pushing_load(module_state_t *state) {
  state->outcomes = load_type(state->module, &spec);
  return state->outcomes != NULL;
}

const char push_many_doc[] =
    "push_many($self, notifications, /, *, timeout=None)\n--\n\n"
    "Sends notifications and iterates over their outcomes: an Event for each, in the order of the\n"
    "responses; `user_data` or `token` identifies the notification.\n\n"
    "The notifications are those of send_many(), from any iterable. It is read, and they are\n"
    "sent, while the program takes outcomes, as far as the session has room: memory does not\n"
    "grow with their number. Nothing is sent before the first next().\n\n"
    "An exception about a notification, of the iterable or of the session ends the sending. It is\n"
    "raised after the outcomes of all queued notifications, whose number is its `taken`. If for\n"
    "`timeout` seconds nothing comes and nothing can be sent (None: as of push()), it is a\n"
    "DeadlineError or the error that prevents the connection, with `unresolved`; next() may be\n"
    "called again. The outcomes of an iterator that is dropped early are events of the session.\n"
    "Ctrl-C ends the wait and loses nothing.";

PyObject *session_push_many(PyObject *object, PyObject *args, PyObject *keywords) {
  static char *names[] = {"", "timeout", NULL};
  session_t *session = (session_t *)object;
  PyObject *notifications, *timeout = NULL;
  int32_t timeout_ms;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$O:push_many", names, &notifications,
                                   &timeout) ||
      !call_timeout_argument(timeout, &timeout_ms) || refuse_nonblocking(session)) {
    return NULL;
  }
  PyObject *source = PyObject_GetIter(notifications);
  if (!source) return NULL;
  pusher_t *self = object_alloc(session->state->outcomes);
  if (!self) {
    Py_DECREF(source);
    return NULL;
  }
  self->source = source;
  self->timeout_ms = timeout_ms;
  self->batch = PyMem_Malloc(sizeof *self->batch);
  if (!self->batch) {
    Py_DECREF(self);
    return PyErr_NoMemory();
  }
  begin(session, &self->waiter);
  self->batch->count = 0;
  self->batch->owner = self->waiter.id;
  Py_INCREF(object);
  self->session = object;
  return (PyObject *)self;
}
