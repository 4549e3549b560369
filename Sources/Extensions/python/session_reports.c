/* Counts, and devices that are gone. */
#include <stdlib.h>

#include "session.h"

static PyStructSequence_Field stats_fields[] = {
    {"taken", "By the send methods."},
    {"accepted", "By the gateway."},
    {"rejected", "By the gateway."},
    {"unknown", "The connection, or the session, ended before the gateway's word."},
    {"unresolved", "No end yet."},
    {"resent", "Sendings again, one for each notification and time."},
    {"connects", "Connections made, standby ones included."},
    {"bytes", "Written, before encryption."},
    {"records", "Writes, a TLS record each."},
    {"events", "Outcomes that wait to be taken."},
    {"in_flight", "Of the unresolved ones: written on a connection that is open."},
    {"window", "Bytes of the window in use by unresolved ones."},
    {"first_unresolved",
     "Each notification sent before the one with this identifier has its end; 0 where all have."},
    {NULL, NULL}};

static PyStructSequence_Desc stats_shape = {
    "apns.Stats",
    "Counts since the session was made. A notification is in exactly one of accepted,\n"
    "rejected, unknown, unresolved. A tuple with names.",
    stats_fields, 13};

PyObject *session_stats(PyObject *object, PyObject *none) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  session_t *self = (session_t *)object;
  (void)none;
  if (!object_lock_acquire(&self->lock, "session")) return NULL;
  apns_status_t status = apns_session_stats(self->session, &stats, &error);
  uint64_t events = stats.events + outcomes_count(&self->outcomes);
  object_lock_release(&self->lock);
  if (status) return raise_error(self->state, &error);
  const uint64_t counts[] = {stats.taken,           stats.accepted, stats.rejected,  stats.unknown,
                             stats.unresolved,      stats.resent,   stats.connects,  stats.bytes,
                             stats.records,         events,         stats.in_flight, stats.window,
                             stats.first_unresolved};
  PyObject *result = PyStructSequence_New(self->state->stats);
  for (int i = 0; result && i < 13; i++) {
    PyObject *count = PyLong_FromUnsignedLongLong(counts[i]);
    if (!count) Py_CLEAR(result);
    if (result) PyStructSequence_SetItem(result, i, count);
  }
  return result;
}

/* ---- Devices that are gone ---------------------------------------------------------- */

typedef struct gone {
  uint32_t timestamp;
  uint32_t length;
  uint8_t token[APNS_TOKEN_MAX];
} gone_t;

/* Takes the list into memory that the caller frees. With the lock, under which no object is made:
   the collector might run code that wants the lock. */
static apns_status_t take_gone(session_t *self, gone_t **list, size_t *count, apns_error_t *error) {
  apns_feedback_options_t options = APNS_FEEDBACK_OPTIONS_INIT;
  apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
  apns_feedback_t *feedback = NULL;
  size_t room = 0;
  options.session = self->session;
  apns_status_t status = apns_feedback_open(&options, NULL, &feedback, error);
  while (status == APNS_OK) {
    if (*count == room) {
      gone_t *larger = realloc(*list, (room = room ? 2 * room : 64) * sizeof **list);
      if (!larger) break; /* the rest stays where it is */
      *list = larger;
    }
    status = apns_feedback_next(feedback, &tuple, error);
    if (status || tuple.token_length > APNS_TOKEN_MAX) break;
    gone_t *one = &(*list)[(*count)++];
    one->timestamp = tuple.timestamp;
    one->length = (uint32_t)tuple.token_length;
    memcpy(one->token, tuple.token, tuple.token_length);
  }
  apns_feedback_free(feedback);
  return status;
}

PyObject *session_gone(PyObject *object, PyObject *none) {
  session_t *self = (session_t *)object;
  apns_error_t error = APNS_ERROR_INIT;
  gone_t *gone = NULL;
  size_t count = 0;
  (void)none;
  if (!self->speaks_http2) {
    error.status = APNS_ERR_ARGUMENT;
    PyOS_snprintf(error.message, sizeof error.message,
                  "over the binary interface, Feedback lists the devices that are gone");
    return raise_error(self->state, &error);
  }
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
    PyObject *device = device_make(self->state, gone[n].timestamp, gone[n].token, gone[n].length);
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
