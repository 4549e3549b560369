/* Session.send() and Session.send_many(). */
#include "session.h"

/* Takes outcomes where the library has no room for more. */
apns_status_t batch_send(session_t *self, const batch_t *batch, uint32_t flags, size_t *taken_out,
                         apns_error_t *error) {
  apns_status_t status;
  size_t taken;
  do {
    status = apns_session_send_many(self->session, batch->pushes + *taken_out,
                                    batch->count - *taken_out, flags, &taken, error);
    *taken_out += taken;
  } while (status == APNS_ERR_FULL && session_collect(self) > 0);
  /* No other batch follows, so nothing is held back. */
  if (flags && (status == APNS_ERR_ARGUMENT || status == APNS_ERR_FULL)) {
    apns_session_flush(self->session, NULL);
  }
  session_collect(self);
  return status;
}

/* Keeps the token and user_data for the notification's event. */
static bool keep(session_t *self, apns_notification_t *push, PyObject *user_data, uint32_t owner) {
  if (push->token_length > APNS_TOKEN_MAX) return true; /* refused by the library */
  if (user_data == Py_None) user_data = NULL;
  uintptr_t number = pending_add(&self->pending, user_data, push->token, push->token_length);
  if (number == 0) PyErr_NoMemory();
  pending_own(&self->pending, number, owner);
  push->user_data = (void *)(owner ? number | PENDING_OWNED : number);
  return number != 0;
}

void push_drop(session_t *self, const apns_notification_t *push) {
  pending_drop(&self->pending, (uintptr_t)push->user_data & ~PENDING_OWNED);
}

bool push_read(session_t *self, push_buffers_t *buffers, apns_notification_t *push, PyObject *token,
               PyObject *payload, PyObject *user_data, const push_options_t *options,
               uint32_t owner) {
  if (!notification_read(self->state, buffers, push, token, payload, options)) return false;
  if (keep(self, push, user_data, owner)) return true;
  push_buffers_free(buffers);
  return false;
}

/* Sets the deadline of a call after its first slice. */
static void begin_waiting(const session_t *self, int64_t *deadline) {
  if (*deadline == 0) *deadline = clock_ms() - SLICE_MS + self->send_ms;
}

static bool write_rest(session_t *self, int64_t deadline);

bool push_send(session_t *self, const apns_notification_t *push, uint32_t flags, int64_t deadline,
               uint32_t *identifier, apns_status_t *status_out, apns_error_t *error) {
  for (;;) {
    deferred_t deferred;
    int64_t began, ended;
    *status_out = APNS_ERR_TIMEOUT;
    if (!object_lock_acquire(&self->lock, "session")) return false;
    PyThreadState *others = session_let_others_run(self);
    began = clock_ms();
    do {
      *status_out = apns_session_send(self->session, push, flags, identifier, error);
    } while (*status_out == APNS_ERR_FULL && session_collect(self) > 0);
    session_collect(self);
    session_unlock(self, &deferred);
    ended = clock_ms();
    session_stop_others(others);
    if (!session_run_deferred(self, &deferred)) return false;
    if (self->never_waits || ended - began < SLICE_MS) return true;
    begin_waiting(self, &deadline);
    if (PyErr_CheckSignals()) return false;
    if (*status_out == APNS_OK) return flags != 0 || write_rest(self, deadline);
    if (!was_cut(*status_out, deadline)) return true;
  }
}

/* Writes the queued notifications that are not yet written. The next call meets any failure again.
   False with the exception of a signal handler. */
static bool write_rest(session_t *self, int64_t deadline) {
  for (;;) {
    apns_error_t error = APNS_ERROR_INIT;
    deferred_t deferred;
    apns_status_t status;
    if (!object_lock_acquire(&self->lock, "session")) return false;
    Py_BEGIN_ALLOW_THREADS;
    status = apns_session_flush(self->session, &error);
    session_collect(self);
    session_unlock(self, &deferred);
    Py_END_ALLOW_THREADS;
    if (!session_run_deferred(self, &deferred)) return false;
    if (!was_cut(status, deadline) || error.cause == APNS_CAUSE_PROVIDER_TOKEN) return true;
    if (PyErr_CheckSignals()) return false;
  }
}

const char send_doc[] =
    "send($self, token, payload, *, user_data=None, expiry=None, priority=None, more=False, "
    "topic=None, "
    "push_type=None, collapse_id=None, apns_id=None, channel_id=None, deadline=None)\n--\n\n"
    "Sends one notification, and returns the identifier that its event will have.\n\n"
    "token\n"
    "    The device token: bytes, or hex in a str; None with a channel_id.\n"
    "payload\n"
    "    JSON as bytes or str, a dict to encode as JSON, or a Payload.\n"
    "user_data\n"
    "    Any object; it comes back with the event. The session keeps a reference until\n"
    "    then, or until the gateway has accepted the notification without an event.\n"
    "expiry\n"
    "    Until when APNs keeps trying: UNIX seconds, or a datetime with a time zone.\n"
    "    0: it tries once. None: not given.\n"
    "priority\n"
    "    10 immediately, 5 saves the device's power; None: not given. HTTP/2 also has 1.\n"
    "more\n"
    "    Another notification follows immediately, so this one may wait until a TLS record\n"
    "    is full, or for the next call that writes.\n"
    "topic, push_type, collapse_id, apns_id\n"
    "    HTTP/2: the app's topic, by default the session's or the certificate's; a PushType\n"
    "    or its text, by default what the payload looks like; at most 64 bytes, with which a\n"
    "    notification replaces an earlier one; a UUID, which APNs makes by default.\n"
    "channel_id\n"
    "    HTTP/2: the channel instead of a token, as Channels.create() returns it: the\n"
    "    notification is a broadcast to all devices that subscribe to the channel. It\n"
    "    updates or ends Live Activities, and its topic is the app's bundle ID.\n"
    "deadline\n"
    "    It has its outcome this many seconds after it was queued. None: the session's\n"
    "    deadline; -1: no limit.\n\n"
    "When it returns, the session has queued the notification, which will have exactly one\n"
    "outcome; after an exception it was not queued. ArgumentError: the gateway would reject\n"
    "the notification. The call connects if needed, and waits while the window is full,\n"
    "together for at most connect_timeout plus write_timeout; other threads run during the\n"
    "wait. Ctrl-C ends the wait: KeyboardInterrupt then has an attribute `taken`, 1 if the\n"
    "notification had been queued, else 0. FullError: take the events that wait. With\n"
    "`nonblocking` it never waits: AgainError means that the window is full.";

PyObject *session_send(PyObject *object, PyObject *args, PyObject *keywords) {
  static char *names[] = {"token",      "payload",  "user_data", "expiry",      "priority",
                          "more",       "topic",    "push_type", "collapse_id", "apns_id",
                          "channel_id", "deadline", NULL};
  PyObject *token, *payload, *user_data = NULL;
  push_options_t options = {NULL};
  int more = 0;
  session_t *self = (session_t *)object;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|$OOOpOOOOOO:send", names, &token, &payload,
                                   &user_data, &options.expiry, &options.priority, &more,
                                   &options.topic, &options.push_type, &options.collapse_id,
                                   &options.apns_id, &options.channel_id, &options.deadline)) {
    return NULL;
  }
  push_buffers_t buffers;
  apns_notification_t push;
  if (!push_read(self, &buffers, &push, token, payload, user_data, &options, 0)) return NULL;

  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status;
  uint32_t identifier = 0;
  bool is_calm = push_send(self, &push, more ? APNS_SEND_MORE : 0, 0, &identifier, &status, &error);
  if (status) push_drop(self, &push);
  push_buffers_free(&buffers);
  if (!is_calm) {
    annotate_exception("taken", status == APNS_OK);
    if (status == APNS_OK) annotate_exception("identifier", identifier);
    return NULL;
  }
  if (status) return raise_error(self->state, &error);
  return PyLong_FromUnsignedLong(identifier);
}

/* ---- Many ------------------------------------------------------------------ */

/* Packs the usual item, a tuple of bytes and bytes, which owns its parts. */
static bool pack_plain(batch_t *batch, PyObject *token, PyObject *payload) {
  char *bytes;
  Py_ssize_t length;
  if (!PyBytes_CheckExact(token) || !PyBytes_CheckExact(payload)) return false;
  apns_notification_t *push = &batch->pushes[batch->count];
  push_buffers_t *buffers = &batch->buffers[batch->count];
  *push = (apns_notification_t)APNS_NOTIFICATION_INIT;
  push_buffers_init(buffers);
  PyBytes_AsStringAndSize(token, &bytes, &length);
  if (length > PENDING_TOKEN_INLINE) return false; /* looked at more closely */
  push->token = bytes;
  push->token_length = (size_t)length;
  PyBytes_AsStringAndSize(payload, &bytes, &length);
  push->payload = bytes;
  push->payload_length = (size_t)length;
  return true;
}

/* The fields of a Notification, in the order of add_item(). */
static const char *const fields[] = {"token",    "payload",    "user_data", "expiry",
                                     "priority", "topic",      "push_type", "collapse_id",
                                     "apns_id",  "channel_id", "deadline"};
enum { FIELDS = sizeof fields / sizeof *fields, PLAIN = 3 };

/* A Notification's fields as a tuple, which keeps them. Takes over the reference. */
static PyObject *flatten(PyObject *item) {
  PyObject *flat = PyTuple_New(FIELDS);
  for (Py_ssize_t i = 0; flat && i < FIELDS; i++) {
    PyObject *value = PyObject_GetAttrString(item, fields[i]);
    if (!value || PyTuple_SetItem(flat, i, value)) Py_CLEAR(flat);
  }
  Py_DECREF(item);
  return flat;
}

/* Adds an item, of which it takes over the reference. */
static bool add_item(session_t *self, batch_t *batch, PyObject *item) {
  const bool is_tuple = PyTuple_Check(item);
  if (!is_tuple) item = flatten(item);
  if (!item && !PyErr_ExceptionMatches(PyExc_AttributeError)) return false;
  Py_ssize_t size = item ? PyTuple_Size(item) : 0;
  if (size < 2 || (is_tuple && size > PLAIN)) {
    PyErr_SetString(PyExc_TypeError,
                    "a notification must be a Notification, or a tuple of token and payload, and "
                    "user_data where there is some");
    Py_XDECREF(item);
    return false;
  }
  PyObject *token = PyTuple_GetItem(item, 0), *payload = PyTuple_GetItem(item, 1);
  apns_notification_t *push = &batch->pushes[batch->count];
  push_buffers_t *buffers = &batch->buffers[batch->count];
  push_options_t options = {NULL};
  PyObject **places[] = {&options.expiry,     &options.priority,    &options.topic,
                         &options.push_type,  &options.collapse_id, &options.apns_id,
                         &options.channel_id, &options.deadline};
  for (Py_ssize_t i = 3; i < size; i++) *places[i - 3] = PyTuple_GetItem(item, i);
  if (!(size <= 3 && pack_plain(batch, token, payload)) &&
      !notification_read(self->state, buffers, push, token, payload, &options)) {
    Py_DECREF(item);
    return false;
  }
  if (!keep(self, push, size > 2 ? PyTuple_GetItem(item, 2) : NULL, batch->owner)) {
    push_buffers_free(buffers);
    Py_DECREF(item);
    return false;
  }
  batch->items[batch->count++] = item;
  return true;
}

/* Sends the batch after the first `*taken`. False with the exception of a signal handler. */
static bool send_slices(session_t *self, const batch_t *batch, bool more, size_t *taken,
                        apns_status_t *status_out, apns_error_t *error) {
  int64_t deadline = 0;
  for (;;) {
    deferred_t deferred;
    int64_t began, ended;
    size_t before = *taken;
    *status_out = APNS_ERR_TIMEOUT;
    if (!object_lock_acquire(&self->lock, "session")) return false;
    Py_BEGIN_ALLOW_THREADS;
    began = clock_ms();
    *status_out = batch_send(self, batch, more ? APNS_SEND_MORE : 0, taken, error);
    session_unlock(self, &deferred);
    ended = clock_ms();
    Py_END_ALLOW_THREADS;
    if (!session_run_deferred(self, &deferred)) return false;
    if (self->never_waits || ended - began < SLICE_MS) return true;
    /* Each notification has the whole time, as in the library. */
    if (*taken > before) deadline = 0;
    begin_waiting(self, &deadline);
    if (PyErr_CheckSignals()) return false;
    if (*status_out == APNS_OK) return more || write_rest(self, deadline);
    if (!was_cut(*status_out, deadline)) return true;
  }
}

void batch_clear(session_t *self, batch_t *batch, size_t taken) {
  size_t count = batch->count;
  batch->count = 0;
  for (size_t i = 0; i < count; i++) {
    if (i >= taken) push_drop(self, &batch->pushes[i]);
    push_buffers_free(&batch->buffers[i]);
    Py_DECREF(batch->items[i]);
  }
}

/* Sends what is in the batch, and empties it. */
static bool send_batch(session_t *self, batch_t *batch, bool more, size_t *total) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status = APNS_OK;
  size_t taken = 0;
  bool is_calm;
  if (batch->count == 0 && *total > 0) {
    /* The next call writes what this one cannot. */
    is_calm = write_rest(self, clock_ms() + self->send_ms);
  } else {
    is_calm = send_slices(self, batch, more, &taken, &status, &error);
  }
  *total += taken;
  batch_clear(self, batch, taken);
  if (!is_calm) return false;
  if (status) raise_error(self->state, &error);
  return status == APNS_OK;
}

bool batch_fill(session_t *self, batch_t *batch, size_t most, PyObject *iterator, bool *ended_out) {
  while (batch->count < most) {
    PyObject *item = PyIter_Next(iterator);
    if (!item) {
      *ended_out = true;
      return !PyErr_Occurred();
    }
    if (!add_item(self, batch, item)) return false;
  }
  return true;
}

const char send_many_doc[] =
    "send_many($self, notifications, /)\n--\n\n"
    "Sends notifications in order, with the least work for each, and returns their number.\n\n"
    "Each is a Notification, or a tuple of token and payload, and optionally user_data.\n"
    "They may come from any iterable, which is read some hundred at a time.\n\n"
    "Any exception, whether the library's, the iterable's or Ctrl-C, has an attribute\n"
    "`taken`: how many were queued. Each of those has exactly one outcome. The exception\n"
    "is about the next one; that one and all after it were not queued.";

PyObject *session_send_many(PyObject *object, PyObject *args, PyObject *keywords) {
  static char *names[] = {"", NULL};
  PyObject *notifications;
  session_t *self = (session_t *)object;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O:send_many", names, &notifications)) {
    return NULL;
  }
  PyObject *iterator = PyObject_GetIter(notifications);
  if (!iterator) return NULL;
  batch_t *batch = PyMem_Malloc(sizeof *batch);
  if (!batch) {
    Py_DECREF(iterator);
    return PyErr_NoMemory();
  }
  batch->count = 0;
  batch->owner = 0;
  size_t total = 0;
  bool fine = true, ended = false;
  while (fine && !ended) {
    fine = batch_fill(self, batch, BATCH, iterator, &ended);
    if (!fine) {
      /* Send the items before this one; their error, if any, replaces this exception. */
      PyObject *type, *value, *trace;
      PyErr_Fetch(&type, &value, &trace);
      if (send_batch(self, batch, false, &total)) {
        PyErr_Restore(type, value, trace);
      } else {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
      }
    } else {
      fine = send_batch(self, batch, !ended, &total) && PyErr_CheckSignals() == 0;
    }
  }
  PyMem_Free(batch);
  Py_DECREF(iterator);
  if (fine) return PyLong_FromSize_t(total);
  annotate_exception("taken", total);
  return NULL;
}
