/* Counts, and devices that are gone. */
#include <stdlib.h>
#include <string.h>

#include "session.h"

static PyStructSequence_Field stats_fields[] = {
    {"taken", "Notifications that the send methods queued."},
    {"accepted", "Accepted by the gateway."},
    {"rejected", "Rejected by the gateway."},
    {"unknown", "The connection or the session ended before a response."},
    {"unresolved", "Notifications without an outcome yet."},
    {"resent", "How often notifications were resent, each time counted."},
    {"connects", "Connections made, including standby connections."},
    {"bytes", "Bytes written, before encryption."},
    {"records", "Writes, each a TLS record."},
    {"events", "Outcomes that wait to be taken."},
    {"in_flight", "Unresolved notifications that were written to an open connection."},
    {"window", "Bytes of the window that unresolved notifications use."},
    {"first_unresolved",
     "All notifications sent before the one with this identifier have an outcome; 0: all have."},
    {"cancelled", "Taken back by cancel(); they did not arrive."},
    {"forgotten", "Accepted outcomes that were not taken and were dropped for newer ones."},
    {"expired", "Past their deadline; they did not arrive."},
    {NULL, NULL}};

enum { STATS_COUNT = sizeof stats_fields / sizeof *stats_fields - 1 };

static PyStructSequence_Desc stats_shape = {
    "libapns.Stats",
    "Counts since the session was made. A notification is in exactly one of accepted,\n"
    "rejected, unknown, cancelled, expired, unresolved. A named tuple.",
    stats_fields, STATS_COUNT};

PyObject *session_stats(PyObject *object, PyObject *none) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  session_t *self = (session_t *)object;
  (void)none;
  if (!object_lock_acquire(&self->lock, "session")) return NULL;
  apns_status_t status = apns_session_stats(self->session, &stats, &error);
  uint64_t events = stats.events + outcomes_count(&self->outcomes);
  uint64_t forgotten = self->forgotten;
  object_lock_release(&self->lock);
  if (status) return raise_error(self->state, &error);
  const uint64_t counts[] = {stats.taken,
                             stats.accepted,
                             stats.rejected,
                             stats.unknown,
                             stats.unresolved,
                             stats.resent,
                             stats.connects,
                             stats.bytes,
                             stats.records,
                             events,
                             stats.in_flight,
                             stats.window,
                             stats.first_unresolved,
                             stats.cancelled,
                             forgotten,
                             stats.expired};
  PyObject *values[STATS_COUNT];
  for (int i = 0; i < STATS_COUNT; i++) values[i] = PyLong_FromUnsignedLongLong(counts[i]);
  return tuple_make(self->state->stats, values, STATS_COUNT);
}

/* ---- Metrics --------------------------------------------------------------------------- */

/* Adds a value and drops the reference to it; false: an exception is set. */
static bool add(PyObject *dict, const char *name, PyObject *value) {
  const bool added = value && PyDict_SetItemString(dict, name, value) == 0;
  Py_XDECREF(value);
  return added;
}

static bool add_count(PyObject *dict, PyObject *key, uint64_t count) {
  PyObject *value = key ? PyLong_FromUnsignedLongLong(count) : NULL;
  const bool added = value && PyDict_SetItem(dict, key, value) == 0;
  Py_XDECREF(key);
  Py_XDECREF(value);
  return added;
}

/* The key for a place of an array. */
typedef PyObject *(*place_key_t)(size_t place);

static PyObject *time_key(size_t place) {
  const uint64_t bound = apns_metrics_bound_us(place);
  return PyFloat_FromDouble(bound == UINT64_MAX ? Py_HUGE_VAL : (double)bound / 1e6);
}

static PyObject *class_key(size_t place) { return PyLong_FromSize_t(100 * place); }

static PyObject *reason_key(size_t place) {
  const bool is_last = place == APNS_METRICS_REASONS - 1;
  return PyUnicode_FromString(apns_reason_text(is_last ? APNS_REASON_OTHER : (apns_reason_t)place));
}

static PyObject *reject_key(size_t place) {
  if (place == APNS_METRICS_REJECTS - 1) return PyUnicode_FromString("other");
  const bool is_protocol_error = place == APNS_METRICS_REJECTS - 2;
  return PyUnicode_FromString(
      apns_reject_text(is_protocol_error ? APNS_REJECT_PROTOCOL_ERROR : (apns_reject_t)place));
}

static PyObject *failure_key(size_t place) {
  return PyUnicode_FromString(apns_status_name((apns_status_t)(-(int)place)));
}

/* A dictionary of an array's places: of those that have counted something, or of all. */
static PyObject *places(const uint64_t *array, size_t count, place_key_t key, bool all) {
  PyObject *dict = PyDict_New();
  for (size_t place = 0; dict && place < count; place++)
    if ((all || array[place] > 0) && !add_count(dict, key(place), array[place])) Py_CLEAR(dict);
  return dict;
}

static const struct {
  const char *name;
  size_t offset;
} metrics_fields[] = {
#define FIELD(name) \
  { #name, offsetof(apns_session_metrics_t, name) }
    FIELD(responses),     FIELD(retries_asked), FIELD(resends_in_doubt), FIELD(resends_unprocessed),
    FIELD(tls12_full),    FIELD(tls12_resumed), FIELD(tls13_full),       FIELD(tls13_resumed),
    FIELD(bytes_written), FIELD(bytes_read),    FIELD(goaways),          FIELD(pings),
    FIELD(resets),        FIELD(timeouts),      FIELD(tokens),
#undef FIELD
};

static bool fill_metrics(PyObject *dict, const apns_session_metrics_t *metrics) {
  for (size_t n = 0; n < sizeof metrics_fields / sizeof *metrics_fields; n++) {
    uint64_t count;
    memcpy(&count, (const char *)metrics + metrics_fields[n].offset, sizeof count);
    if (!add(dict, metrics_fields[n].name, PyLong_FromUnsignedLongLong(count))) return false;
  }
  return add(dict, "response_seconds", PyFloat_FromDouble((double)metrics->response_us / 1e6)) &&
         add(dict, "times", places(metrics->times, APNS_METRICS_TIMES, time_key, true)) &&
         add(dict, "classes", places(metrics->classes, APNS_METRICS_CLASSES, class_key, false)) &&
         add(dict, "reasons", places(metrics->reasons, APNS_METRICS_REASONS, reason_key, false)) &&
         add(dict, "rejected_reasons",
             places(metrics->rejected_reasons, APNS_METRICS_REASONS, reason_key, false)) &&
         add(dict, "rejects", places(metrics->rejects, APNS_METRICS_REJECTS, reject_key, false)) &&
         add(dict, "connect_failures",
             places(metrics->connect_failures, APNS_METRICS_FAILURES, failure_key, false)) &&
         add(dict, "connecting", PyLong_FromUnsignedLong(metrics->connecting)) &&
         add(dict, "open", PyLong_FromUnsignedLong(metrics->open)) &&
         add(dict, "draining", PyLong_FromUnsignedLong(metrics->draining)) &&
         add(dict, "standby", PyLong_FromUnsignedLong(metrics->standby)) &&
         add(dict, "free_streams", PyLong_FromUnsignedLong(metrics->free_streams)) &&
         add(dict, "backoff", PyFloat_FromDouble(metrics->backoff_ms / 1e3));
}

PyObject *session_metrics(PyObject *object, PyObject *none) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_session_metrics_t metrics = APNS_SESSION_METRICS_INIT;
  session_t *self = (session_t *)object;
  (void)none;
  if (!object_lock_acquire(&self->lock, "session")) return NULL;
  apns_status_t status = apns_session_metrics(self->session, &metrics, &error);
  object_lock_release(&self->lock);
  if (status) return raise_error(self->state, &error);
  PyObject *dict = PyDict_New();
  if (dict && !fill_metrics(dict, &metrics)) Py_CLEAR(dict);
  return dict;
}

/* ---- Devices that are gone ---------------------------------------------------------- */

/* Takes the list into memory that the caller frees. With the lock, under which no object is made:
   the collector might run code that wants the lock. */
static apns_status_t take_gone(session_t *self, apns_gone_device_t **list, size_t *count,
                               apns_error_t *error) {
  const apns_gone_device_t none = APNS_GONE_DEVICE_INIT;
  size_t room = 0;
  for (;; ++*count) {
    if (*count == room) {
      apns_gone_device_t *larger = realloc(*list, (room = room ? 2 * room : 64) * sizeof **list);
      if (!larger) return APNS_OK; /* the rest stays where it is */
      *list = larger;
    }
    (*list)[*count] = none;
    apns_status_t status = apns_session_next_gone(self->session, &(*list)[*count], error);
    if (status) return status;
  }
}

PyObject *session_gone(PyObject *object, PyObject *none) {
  session_t *self = (session_t *)object;
  apns_error_t error = APNS_ERROR_INIT;
  apns_gone_device_t *gone = NULL;
  size_t count = 0;
  (void)none;
  if (!object_lock_acquire(&self->lock, "session")) return NULL;
  apns_status_t status = take_gone(self, &gone, &count, &error);
  object_lock_release(&self->lock);
  PyObject *list = NULL;
  if (status == APNS_DONE) {
    list = PyList_New((Py_ssize_t)count);
  } else if (status) {
    raise_error(self->state, &error);
  } else {
    PyErr_NoMemory();
  }
  for (size_t n = 0; list && n < count; n++) {
    PyObject *device =
        device_make(self->state, gone[n].timestamp, gone[n].token, gone[n].token_length);
    if (device) {
      PyList_SetItem(list, (Py_ssize_t)n, device);
    } else {
      Py_CLEAR(list);
    }
  }
  free(gone);
  return list;
}

bool session_reports_load(module_state_t *state) {
  state->stats = load_tuple_type(state->module, &stats_shape);
  return state->stats != NULL;
}
