#include "session.h"

#include <stdlib.h>

static PyTypeObject *session_type, *stats_type, *iterator_type;
static PyObject *log_changes;

/* ---- Inside the gate ------------------------------------------------------- */

bool session_reserve_answer(const session_t *self, answer_t **answer_out) {
  *answer_out = self->speaks_http2 ? malloc(sizeof **answer_out) : NULL;
  return *answer_out || !self->speaks_http2;
}

/* Keeps an outcome as far as anybody needs it; there is room. */
static void put_outcome(session_t *self, outcome_t outcome) {
  if (outcome.kind != APNS_EVENT_ACCEPTED || self->reports_accepted) {
    outcomes_put(&self->outcomes, outcome);
    return;
  }
  free(outcome.answer);
  outcome.answer = NULL;
  if (outcome.keepsake) outcomes_put(&self->ended, outcome);
}

size_t session_collect(session_t *self) {
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  if (apns_session_stats(self->session, &stats, NULL)) return 0;
  size_t collected = 0;
  while (collected < stats.events && outcomes_count(&self->outcomes) < self->events_max &&
         outcomes_reserve(&self->outcomes) && outcomes_reserve(&self->ended)) {
    apns_event_t event = APNS_EVENT_INIT;
    answer_t *answer;
    if (!session_reserve_answer(self, &answer)) break;
    if (apns_session_next_event(self->session, &event, 0, NULL)) {
      free(answer);
      break;
    }
    put_outcome(self, outcome_make(&event, answer));
    collected++;
  }
  return collected;
}

void session_leave(session_t *self, aftermath_t *aftermath) {
  aftermath->ended = self->ended;
  self->ended = (outcomes_t){0};
  aftermath->before = self->told;
  apns_session_stats(self->session, &self->told, NULL);
  aftermath->after = self->told;
  gate_leave(&self->gate);
}

static bool log_settled(session_t *self, const apns_session_stats_t *before,
                        const apns_session_stats_t *after) {
  if (before->connects == after->connects && before->resent == after->resent &&
      before->rejected == after->rejected && before->unknown == after->unknown) {
    return true;
  }
  /* Else a handler's exception would be taken for the logger's. */
  if (PyErr_CheckSignals()) return false;
  PyObject *nothing =
      PyObject_CallFunction(log_changes, "OiKKKK", self->host, (int)self->port,
                            (unsigned long long)(after->connects - before->connects),
                            (unsigned long long)(after->resent - before->resent),
                            (unsigned long long)(after->rejected - before->rejected),
                            (unsigned long long)(after->unknown - before->unknown));
  Py_XDECREF(nothing);
  if (nothing) return true;
  /* What the call was for is done: to tell that comes first. */
  if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
    PyErr_Clear();
    PyErr_SetInterrupt();
  } else {
    PyErr_WriteUnraisable((PyObject *)self);
  }
  return true;
}

bool session_settle(session_t *self, aftermath_t *aftermath) {
  outcome_t outcome;
  while (outcomes_take(&aftermath->ended, &outcome)) {
    keepsakes_drop(&self->keepsakes, outcome.keepsake);
  }
  outcomes_free(&aftermath->ended);
  return log_settled(self, &aftermath->before, &aftermath->after);
}

/* ---- Making ---------------------------------------------------------------- */

enum { HOST, SERVER_NAME, PROXY_HOST, PROXY_USER, PROXY_PASSWORD, TOPIC, OWNERS };

/* The options that are numbers. */
static bool take_number(PyObject *given, const char *name, long long least, long long most,
                        long long *value) {
  *value = 0;
  return integer_argument(given, name, least, most, value);
}

static bool take_u32(PyObject *given, const char *name, uint32_t *option) {
  long long value;
  if (!take_number(given, name, 0, UINT32_MAX, &value)) return false;
  *option = (uint32_t)value;
  return true;
}

static bool take_u16(PyObject *given, const char *name, uint16_t *option) {
  long long value;
  if (!take_number(given, name, 0, UINT16_MAX, &value)) return false;
  *option = (uint16_t)value;
  return true;
}

static bool take_i32(PyObject *given, const char *name, int32_t *option) {
  long long value;
  if (!take_number(given, name, INT32_MIN, INT32_MAX, &value)) return false;
  *option = (int32_t)value;
  return true;
}

#define EVENTS_MAX (1 << 20)

static bool take_options(session_t *self, PyObject *args, PyObject *keywords,
                         apns_session_options_t *options, PyObject **owners) {
  static char *names[] = {"credentials",
                          "host",
                          "server_name",
                          "port",
                          "format",
                          "connect_timeout",
                          "write_timeout",
                          "answer_timeout",
                          "window_bytes",
                          "payload_max",
                          "ambiguous",
                          "report_accepted",
                          "quiet_period",
                          "zero_proves",
                          "connections",
                          "standby",
                          "connects_per_minute",
                          "reconnect_pause_max",
                          "keepalive",
                          "proxy_host",
                          "proxy_port",
                          "proxy_user",
                          "proxy_password",
                          "events_max",
                          "protocol",
                          "topic",
                          "ping_after",
                          "retry_timeout",
                          "prove_after",
                          "checks",
                          NULL};
  static const char *const protocols[] = {"default", "binary", "http2"};
  PyObject *host = NULL, *server_name = NULL, *port = NULL, *format = NULL, *connect_timeout = NULL;
  PyObject *write_timeout = NULL, *answer_timeout = NULL, *window_bytes = NULL, *payload_max = NULL,
           *ambiguous = NULL;
  PyObject *quiet_period = NULL, *connections = NULL, *connects_per_minute = NULL;
  PyObject *reconnect_pause_max = NULL, *keepalive = NULL, *proxy_host = NULL, *proxy_port = NULL;
  PyObject *proxy_user = NULL, *proxy_password = NULL, *events_max = NULL, *credentials;
  PyObject *protocol = NULL, *topic = NULL, *ping_after = NULL, *retry_timeout = NULL;
  PyObject *prove_after = NULL, *checks = NULL;
  long long protocol_number = 0, ping_seconds = 0, prove_seconds = 0;
  int report_accepted = 0, zero_proves = 0, standby = 1;
  long long most = EVENTS_MAX;
  if (!PyArg_ParseTupleAndKeywords(
          args, keywords, "O!|$OOOOOOOOOOpOpOpOOOOOOOOOOOOOO:Session", names, credentials_type,
          &credentials, &host, &server_name, &port, &format, &connect_timeout, &write_timeout,
          &answer_timeout, &window_bytes, &payload_max, &ambiguous, &report_accepted, &quiet_period,
          &zero_proves, &connections, &standby, &connects_per_minute, &reconnect_pause_max,
          &keepalive, &proxy_host, &proxy_port, &proxy_user, &proxy_password, &events_max,
          &protocol, &topic, &ping_after, &retry_timeout, &prove_after, &checks)) {
    return false;
  }
  if (!text_argument(host, "host", &options->host, &owners[HOST]) ||
      !text_argument(server_name, "server_name", &options->server_name, &owners[SERVER_NAME]) ||
      !take_u16(port, "port", &options->port) || !take_i32(format, "format", &options->format) ||
      !option_ms_argument(connect_timeout, "connect_timeout", &options->connect_timeout_ms) ||
      !option_ms_argument(write_timeout, "write_timeout", &options->write_timeout_ms) ||
      !option_ms_argument(answer_timeout, "answer_timeout", &options->answer_timeout_ms) ||
      !take_u32(window_bytes, "window_bytes", &options->window_bytes) ||
      !take_u32(payload_max, "payload_max", &options->payload_max) ||
      !take_i32(ambiguous, "ambiguous", &options->ambiguous) ||
      !option_ms_argument(quiet_period, "quiet_period", &options->quiet_period_ms) ||
      !take_u32(connections, "connections", &options->connections) ||
      !take_u32(connects_per_minute, "connects_per_minute", &options->connects_per_minute) ||
      !option_ms_argument(reconnect_pause_max, "reconnect_pause_max",
                          &options->reconnect_pause_max_ms) ||
      !take_i32(keepalive, "keepalive", &options->keepalive_s) ||
      !text_argument(proxy_host, "proxy_host", &options->proxy_host, &owners[PROXY_HOST]) ||
      !take_u16(proxy_port, "proxy_port", &options->proxy_port) ||
      !text_argument(proxy_user, "proxy_user", &options->proxy_user, &owners[PROXY_USER]) ||
      !text_argument(proxy_password, "proxy_password", &options->proxy_password,
                     &owners[PROXY_PASSWORD]) ||
      !integer_argument(events_max, "events_max", 1, UINT32_MAX, &most) ||
      !word_argument(protocol, "protocol", protocols, 3, &protocol_number) ||
      !text_argument(topic, "topic", &options->topic, &owners[TOPIC]) ||
      !integer_argument(ping_after, "ping_after", -1, INT32_MAX / 1000, &ping_seconds) ||
      !option_ms_argument(retry_timeout, "retry_timeout", &options->retry_timeout_ms) ||
      !integer_argument(prove_after, "prove_after", -1, INT32_MAX / 1000, &prove_seconds)) {
    return false;
  }
  /* True is no number of bits. */
  long long bits = APNS_CHECK_ALL;
  if (checks != Py_True && !integer_argument(checks, "checks", 0, UINT32_MAX, &bits)) return false;
  options->checks = (uint32_t)bits;
  options->ping_after_ms = (int32_t)(ping_seconds < 0 ? -1 : ping_seconds * 1000);
  options->prove_after_ms = (int32_t)(prove_seconds < 0 ? -1 : prove_seconds * 1000);
  options->protocol = (int32_t)protocol_number;
  self->speaks_http2 = options->protocol == APNS_PROTOCOL_HTTP2;
  options->zero_proves = zero_proves;
  options->no_standby = !standby;
  /* Every end comes out of the library, so that the object that went with it can be
     given up; what the program does not want to know stops here. */
  options->report_accepted = 1;
  options->wait_max_ms = SLICE_MS;
  options->lookup = search_name;
  options->lookup_context = &self->search;
  self->reports_accepted = report_accepted;
  self->events_max = (size_t)most;
  Py_INCREF(credentials);
  self->credentials = credentials;
  return true;
}

/* Like the library's: connect_timeout_ms and write_timeout_ms together. */
static int32_t patience(const apns_session_options_t *options) {
  int64_t ms = (int64_t)whole_ms(options->connect_timeout_ms) + whole_ms(options->write_timeout_ms);
  return ms > INT32_MAX ? INT32_MAX : (int32_t)ms;
}

static PyObject *session_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  PyObject *owners[OWNERS] = {NULL};
  session_t *self = object_alloc(type);
  if (!self) return NULL;
  self->told = (apns_session_stats_t)APNS_SESSION_STATS_INIT;
  self->closed = true; /* until it is there */
  bool fine = gate_init(&self->gate) && take_options(self, args, keywords, &options, owners);
  const apns_credentials_t *credentials = fine ? credentials_lend(self->credentials) : NULL;
  if (credentials) {
    /* Not a call that waits. */
    fine = apns_session_new(&options, credentials, &self->session, &error) == APNS_OK;
    if (!fine) raise_error(&error);
    credentials_return(self->credentials);
  }
  fine = fine && credentials;
  if (fine) {
    self->closed = false;
    self->connect_ms = whole_ms(options.connect_timeout_ms);
    self->patience_ms = patience(&options);
    const char *host = self->speaks_http2 ? APNS_HOST_HTTP2_PRODUCTION : APNS_HOST_PRODUCTION;
    self->host = PyUnicode_FromString(options.host ? options.host : host);
    self->port = options.port         ? options.port
                 : self->speaks_http2 ? APNS_PORT_HTTP2
                                      : APNS_PORT_GATEWAY;
    fine = self->host != NULL;
  }
  for (int i = 0; i < OWNERS; i++) Py_XDECREF(owners[i]);
  if (fine) return (PyObject *)self;
  Py_DECREF(self);
  return NULL;
}

/* ---- The collector ----------------------------------------------------------- */

static int session_traverse(PyObject *object, visitproc visit, void *arg) {
  session_t *self = (session_t *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->credentials);
  return keepsakes_traverse(&self->keepsakes, visit, arg);
}

/* The credentials stay: a session is never without, and they refer to nothing. */
static int session_clear(PyObject *object) {
  keepsakes_clear(&((session_t *)object)->keepsakes);
  return 0;
}

/* Nothing is lost in silence. */
static void warn_of_loss(session_t *self) {
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  if (self->closed || apns_session_stats(self->session, &stats, NULL) || stats.unresolved == 0)
    return;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject *number = PyLong_FromUnsignedLongLong(stats.unresolved);
  if (!number ||
      PyErr_ResourceWarning(
          NULL, 1, "a session to %U, port %d, was never closed: %S notifications have no end",
          self->host, (int)self->port, number)) {
    PyErr_WriteUnraisable(NULL);
  }
  Py_XDECREF(number);
  PyErr_Restore(type, value, trace);
}

static void session_dealloc(PyObject *object) {
  session_t *self = (session_t *)object;
  PyObject_GC_UnTrack(object);
  if (self->weakrefs) PyObject_ClearWeakRefs(object);
  if (self->session) {
    if (gate_is_home(&self->gate)) warn_of_loss(self);
    apns_session_free(self->session);
  }
  search_end(&self->search);
  keepsakes_free(&self->keepsakes);
  outcomes_free(&self->outcomes);
  outcomes_free(&self->ended);
  gate_free(&self->gate);
  Py_XDECREF(self->credentials);
  Py_XDECREF(self->host);
  object_free(object);
}

/* ---- Calls that wait ---------------------------------------------------------- */

static PyObject *session_reach(PyObject *object, int32_t (*limit)(const session_t *),
                               apns_status_t (*call)(apns_session_t *, apns_error_t *)) {
  session_t *self = (session_t *)object;
  int64_t deadline = clock_ms() + limit(self);
  for (;;) {
    apns_error_t error = APNS_ERROR_INIT;
    apns_status_t status;
    aftermath_t aftermath;
    if (!gate_enter(&self->gate, "session")) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = call(self->session, &error);
    session_collect(self);
    session_leave(self, &aftermath);
    Py_END_ALLOW_THREADS;
    if (!session_settle(self, &aftermath)) return NULL;
    if (status == APNS_OK) Py_RETURN_NONE;
    if (!was_cut(status, deadline)) return raise_error(&error);
    if (PyErr_CheckSignals()) return NULL;
  }
}

static int32_t connect_limit(const session_t *self) { return self->connect_ms; }
static int32_t flush_limit(const session_t *self) { return self->patience_ms; }

static PyObject *session_connect(PyObject *object, PyObject *none) {
  (void)none;
  return session_reach(object, connect_limit, apns_session_connect);
}

static PyObject *session_flush(PyObject *object, PyObject *none) {
  (void)none;
  return session_reach(object, flush_limit, apns_session_flush);
}

static int64_t deadline_after(const session_t *self, int32_t timeout_ms) {
  return clock_ms() + (timeout_ms < 0 ? self->patience_ms : timeout_ms);
}

static bool drain(session_t *self, int32_t timeout_ms) {
  apns_error_t error = APNS_ERROR_INIT;
  int64_t deadline = deadline_after(self, timeout_ms);
  for (;;) {
    aftermath_t aftermath;
    apns_status_t status;
    size_t unresolved = 0;
    bool cut; /* the slice was over, and not the wait */
    if (!gate_enter(&self->gate, "session")) return false;
    Py_BEGIN_ALLOW_THREADS;
    int64_t began = clock_ms();
    int32_t slice = slice_before(deadline);
    status = apns_session_drain(self->session, slice, &unresolved, &error);
    int64_t now = clock_ms();
    cut = status == APNS_ERR_TIMEOUT && now - began >= slice && now < deadline;
    session_collect(self);
    session_leave(self, &aftermath);
    Py_END_ALLOW_THREADS;
    if (!session_settle(self, &aftermath)) return false;
    if (status == APNS_OK) return true;
    if (!cut) {
      raise_error(&error);
      annotate_exception("unresolved", unresolved);
      return false;
    }
    if (PyErr_CheckSignals()) return false;
  }
}

static bool take_timeout(PyObject *args, PyObject *keywords, const char *format, PyObject *given,
                         int32_t *ms_out) {
  static char *names[] = {"timeout", NULL};
  return PyArg_ParseTupleAndKeywords(args, keywords, format, names, &given) &&
         timeout_argument(given, ms_out);
}

static PyObject *session_drain(PyObject *object, PyObject *args, PyObject *keywords) {
  int32_t timeout_ms;
  if (!take_timeout(args, keywords, "|O:drain", NULL, &timeout_ms)) return NULL;
  if (!drain((session_t *)object, timeout_ms)) return NULL;
  Py_RETURN_NONE;
}

/* One slice of closing; `status_out`: what came of it. */
static bool close_slice(session_t *self, int32_t ms, apns_status_t *status_out,
                        apns_error_t *error) {
  aftermath_t aftermath;
  if (!gate_enter(&self->gate, "session")) return false;
  Py_BEGIN_ALLOW_THREADS;
  *status_out = apns_session_close(self->session, ms, error);
  session_collect(self);
  session_leave(self, &aftermath);
  Py_END_ALLOW_THREADS;
  if (*status_out == APNS_OK) self->closed = true;
  return session_settle(self, &aftermath);
}

/* Closes it though there is an exception, which stays. */
static void close_at_once(session_t *self) {
  PyObject *failure, *trouble, *place;
  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status;
  PyErr_Fetch(&failure, &trouble, &place);
  if (!close_slice(self, 0, &status, &error)) PyErr_Clear();
  PyErr_Restore(failure, trouble, place);
}

static bool close_session(session_t *self, int32_t timeout_ms) {
  int64_t deadline = deadline_after(self, timeout_ms);
  for (;;) {
    apns_error_t error = APNS_ERROR_INIT;
    apns_status_t status;
    int64_t left = timeout_ms == 0 ? 0 : deadline - clock_ms();
    if (!close_slice(self, left < 0 ? 0 : (int32_t)left, &status, &error)) return false;
    if (status == APNS_OK) return true;
    if (status != APNS_ERR_TIMEOUT) {
      raise_error(&error);
      return false;
    }
    if (PyErr_CheckSignals()) {
      close_at_once(self);
      return false;
    }
  }
}

static PyObject *session_close(PyObject *object, PyObject *args, PyObject *keywords) {
  int32_t timeout_ms;
  if (!take_timeout(args, keywords, "|O:close", NULL, &timeout_ms)) return NULL;
  if (!close_session((session_t *)object, timeout_ms)) return NULL;
  Py_RETURN_NONE;
}

static PyObject *session_enter(PyObject *self, PyObject *none) {
  (void)none;
  Py_INCREF(self);
  return self;
}

static PyObject *session_exit(PyObject *object, PyObject *args) {
  session_t *self = (session_t *)object;
  PyObject *kind = NULL, *value, *trace;
  if (!PyArg_ParseTuple(args, "OOO:__exit__", &kind, &value, &trace)) return NULL;
  /* The parent is still in its block. */
  if (self->closed || !gate_is_home(&self->gate)) Py_RETURN_FALSE;
  if (kind != Py_None) {
    if (!close_session(self, 0)) PyErr_Clear();
    Py_RETURN_FALSE;
  }
  if (drain(self, -1)) {
    if (!close_session(self, 1000)) return NULL;
    Py_RETURN_FALSE;
  }
  close_at_once(self);
  return NULL;
}

/* ---- Events -------------------------------------------------------------------- */

/* The next outcome; false where none came in time, or with an exception. */
static bool next_outcome(session_t *self, int32_t timeout_ms, outcome_t *outcome) {
  apns_error_t error = APNS_ERROR_INIT;
  int64_t deadline = deadline_after(self, timeout_ms);
  for (;;) {
    aftermath_t aftermath;
    apns_status_t status;
    bool cut, found;
    if (!gate_enter(&self->gate, "session")) return false;
    /* What has come needs no system call, and no other thread. */
    if (outcomes_take(&self->outcomes, outcome)) {
      gate_leave(&self->gate);
      return true;
    }
    Py_BEGIN_ALLOW_THREADS;
    apns_event_t event = APNS_EVENT_INIT;
    int64_t began = clock_ms();
    int32_t slice = slice_before(deadline);
    answer_t *answer = NULL;
    status = APNS_ERR_MEMORY;
    if (outcomes_reserve(&self->outcomes) && outcomes_reserve(&self->ended) &&
        session_reserve_answer(self, &answer)) {
      status = apns_session_next_event(self->session, &event, slice, &error);
    } else {
      error.status = APNS_ERR_MEMORY;
    }
    if (status == APNS_OK) {
      put_outcome(self, outcome_make(&event, answer));
      session_collect(self);
    } else {
      free(answer);
    }
    found = outcomes_count(&self->outcomes) > 0;
    int64_t now = clock_ms();
    /* An acceptance that nobody wants to know is no reason to stop. */
    cut = status == APNS_OK || ((status == APNS_DONE || status == APNS_ERR_TIMEOUT) &&
                                now - began >= slice && now < deadline);
    session_leave(self, &aftermath);
    Py_END_ALLOW_THREADS;
    if (!session_settle(self, &aftermath)) return false;
    if (found) continue;
    if (!cut) {
      /* Another thread's call may be connecting: a short look is over, and nothing failed. */
      bool is_over = status == APNS_ERR_TIMEOUT && clock_ms() >= deadline && timeout_ms >= 0 &&
                     timeout_ms < self->connect_ms;
      if (status != APNS_DONE && !is_over) raise_error(&error);
      return false;
    }
    if (PyErr_CheckSignals()) return false;
  }
}

/* NULL without an exception: there is none. */
static PyObject *next_event(session_t *self, int32_t timeout_ms) {
  outcome_t outcome;
  if (!next_outcome(self, timeout_ms, &outcome)) return NULL;
  keepsake_t keepsake;
  /* Without one it would be a notification that was sent without: there is none. */
  if (!keepsakes_take(&self->keepsakes, outcome.keepsake, &keepsake)) keepsake = (keepsake_t){0};
  return event_make(outcome, &keepsake);
}

static PyObject *session_next_event(PyObject *object, PyObject *args, PyObject *keywords) {
  int32_t timeout_ms;
  PyObject *zero = PyLong_FromLong(0);
  bool fine = zero && take_timeout(args, keywords, "|O:next_event", zero, &timeout_ms);
  Py_XDECREF(zero);
  if (!fine) return NULL;
  PyObject *event = next_event((session_t *)object, timeout_ms);
  if (event || PyErr_Occurred()) return event;
  Py_RETURN_NONE;
}

typedef struct iterator {
  PyObject_HEAD PyObject *session;
  int32_t timeout_ms;
} iterator_t;

static PyObject *iterate(PyObject *session, int32_t timeout_ms) {
  iterator_t *iterator = object_alloc(iterator_type);
  if (!iterator) return NULL;
  Py_INCREF(session);
  iterator->session = session;
  iterator->timeout_ms = timeout_ms;
  return (PyObject *)iterator;
}

static PyObject *session_events(PyObject *object, PyObject *args, PyObject *keywords) {
  int32_t timeout_ms;
  PyObject *zero = PyLong_FromLong(0);
  bool fine = zero && take_timeout(args, keywords, "|O:events", zero, &timeout_ms);
  Py_XDECREF(zero);
  return fine ? iterate(object, timeout_ms) : NULL;
}

static PyObject *session_iter(PyObject *object) { return iterate(object, 0); }

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

static PyType_Spec iterator_spec = {"apns.Events", sizeof(iterator_t), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, iterator_slots};

/* ---- Counts ---------------------------------------------------------------------- */

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

static PyObject *session_stats(PyObject *object, PyObject *none) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  session_t *self = (session_t *)object;
  (void)none;
  if (!gate_enter(&self->gate, "session")) return NULL;
  apns_status_t status = apns_session_stats(self->session, &stats, &error);
  uint64_t events = stats.events + outcomes_count(&self->outcomes);
  gate_leave(&self->gate);
  if (status) return raise_error(&error);
  const uint64_t counts[] = {stats.taken,           stats.accepted, stats.rejected,  stats.unknown,
                             stats.unresolved,      stats.resent,   stats.connects,  stats.bytes,
                             stats.records,         events,         stats.in_flight, stats.window,
                             stats.first_unresolved};
  PyObject *result = PyStructSequence_New(stats_type);
  for (int i = 0; result && i < 13; i++) {
    PyObject *count = PyLong_FromUnsignedLongLong(counts[i]);
    if (!count) Py_CLEAR(result);
    if (result) PyStructSequence_SetItem(result, i, count);
  }
  return result;
}

/* ---- The type ---------------------------------------------------------------------- */

static PyObject *get_closed(PyObject *object, void *closure) {
  (void)closure;
  return PyBool_FromLong(((session_t *)object)->closed);
}

static PyObject *get_port(PyObject *object, void *closure) {
  (void)closure;
  return PyLong_FromLong(((session_t *)object)->port);
}

static PyObject *session_repr(PyObject *object) {
  session_t *self = (session_t *)object;
  return PyUnicode_FromFormat("<apns.Session to %U, port %d%s>", self->host, (int)self->port,
                              self->closed ? ", closed" : "");
}

static PyMemberDef members[] = {
    {"credentials", T_OBJECT_EX, offsetof(session_t, credentials), READONLY,
     "The Credentials it was made with."},
    {"host", T_OBJECT_EX, offsetof(session_t, host), READONLY, "The gateway's name or address."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(session_t, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyGetSetDef properties[] = {
    {"closed", get_closed, NULL, "Whether close() was called.", NULL},
    {"port", get_port, NULL, "The gateway's port.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

typedef struct gone {
  uint32_t timestamp;
  uint32_t length;
  uint8_t token[APNS_TOKEN_MAX];
} gone_t;

/* Takes the list, into memory that is to be freed; inside the gate, where no object is made:
   the collector might call what comes here again. */
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

static PyObject *session_gone(PyObject *object, PyObject *none) {
  session_t *self = (session_t *)object;
  apns_error_t error = APNS_ERROR_INIT;
  gone_t *gone = NULL;
  size_t count = 0;
  (void)none;
  if (!self->speaks_http2) {
    error.status = APNS_ERR_ARGUMENT;
    PyOS_snprintf(error.message, sizeof error.message,
                  "the binary interface tells of devices that are gone by Feedback");
    return raise_error(&error);
  }
  if (!gate_enter(&self->gate, "session")) return NULL;
  apns_status_t status = take_gone(self, &gone, &count, &error);
  gate_leave(&self->gate);
  PyObject *list = NULL;
  if (status == APNS_DONE) {
    list = PyList_New((Py_ssize_t)count);
  } else if (status) {
    raise_error(&error);
  } else {
    PyErr_NoMemory();
  }
  for (size_t n = 0; list && n < count; n++) {
    PyObject *device = device_make(gone[n].timestamp, gone[n].token, gone[n].length);
    if (device) {
      PyList_SetItem(list, (Py_ssize_t)n, device);
    } else {
      Py_CLEAR(list);
    }
  }
  free(gone);
  return list;
}

static PyMethodDef methods[] = {
    {"connect", session_connect, METH_NOARGS,
     "connect($self, /)\n--\n\n"
     "Connects now, where a mistake in host or credentials is best found: every address\n"
     "of the name is tried, within connect_timeout. Does nothing on a session that is\n"
     "connected. Ctrl-C ends the wait."},
    {"send", (PyCFunction)(void (*)(void))session_send, METH_VARARGS | METH_KEYWORDS, send_doc},
    {"send_many", (PyCFunction)(void (*)(void))session_send_many, METH_VARARGS | METH_KEYWORDS,
     send_many_doc},
    {"flush", session_flush, METH_NOARGS,
     "flush($self, /)\n--\n\n"
     "Writes what `more` held back. An error loses nothing: the next call goes on where\n"
     "this one stopped. Ctrl-C ends the wait."},
    {"drain", (PyCFunction)(void (*)(void))session_drain, METH_VARARGS | METH_KEYWORDS,
     "drain($self, /, timeout=None)\n--\n\n"
     "Waits until the end of every notification is known, for at most `timeout` seconds;\n"
     "None: for connect_timeout and write_timeout together.\n\n"
     "TimeoutError when that passed first, or another error where the gateway cannot be\n"
     "reached: its `unresolved` says how many have no end yet; they stay in the session.\n"
     "Other threads run meanwhile, and may use the session in turn; Ctrl-C ends the wait."},
    {"next_event", (PyCFunction)(void (*)(void))session_next_event, METH_VARARGS | METH_KEYWORDS,
     "next_event($self, /, timeout=0)\n--\n\n"
     "Takes the next outcome, in the order in which the notifications were sent, or by\n"
     "HTTP/2 answered: an Event, or None where there is none.\n\n"
     "Waits up to `timeout` seconds for one, and writes and reconnects meanwhile; with 0\n"
     "it only looks at what has come. Works on a closed session too, and is how the ones\n"
     "with no known end are got back there. Ctrl-C ends the wait."},
    {"gone", session_gone, METH_NOARGS,
     "gone($self, /)\n--\n\n"
     "By HTTP/2: takes the list of the devices on which the app no longer is, as the\n"
     "service said in answers to this session (410), each once: a list of Device, as\n"
     "Feedback gives them for the binary interface. At most 65,536 wait to be taken."},
    {"events", (PyCFunction)(void (*)(void))session_events, METH_VARARGS | METH_KEYWORDS,
     "events($self, /, timeout=0)\n--\n\n"
     "Iterates over the outcomes, until none comes within `timeout` seconds. Iterating\n"
     "over the session itself is the same without waiting."},
    {"stats", session_stats, METH_NOARGS,
     "stats($self, /)\n--\n\nCounts since the session was made: Stats."},
    {"close", (PyCFunction)(void (*)(void))session_close, METH_VARARGS | METH_KEYWORDS,
     "close($self, /, timeout=None)\n--\n\n"
     "Ends the connection gently, so that nothing in flight is destroyed, within\n"
     "`timeout` seconds; None: connect_timeout and write_timeout together.\n\n"
     "What the gateway proves by its last word has its end; what has none then becomes\n"
     "an event of kind UNKNOWN, for nothing is sent again. Drain first to know all. The\n"
     "session takes no more notifications. Closing it again does nothing. Ctrl-C ends the\n"
     "wait, and the session is closed then."},
    {"__enter__", session_enter, METH_NOARGS, "__enter__($self, /)\n--\n\nItself."},
    {"__exit__", session_exit, METH_VARARGS,
     "__exit__($self, kind, value, trace, /)\n--\n\n"
     "Drains and closes; after an exception closes without waiting. Events can still be\n"
     "taken. In a child process, where the session is the parent's, it does nothing."},
    {NULL, NULL, 0, NULL}};

static const char doc[] =
    "Session(credentials, *, host=None, server_name=None, port=0, format=0, "
    "connect_timeout=None, write_timeout=None, answer_timeout=None, window_bytes=0, payload_max=0, "
    "ambiguous=0, "
    "report_accepted=False, quiet_period=None, zero_proves=False, connections=0, standby=True, "
    "connects_per_minute=0, reconnect_pause_max=None, keepalive=0, proxy_host=None, "
    "proxy_port=0, proxy_user=None, proxy_password=None, events_max=1048576, protocol=0, "
    "topic=None, ping_after=0, retry_timeout=None, prove_after=0, checks=3)\n--\n\n"
    "One provider's way to one gateway. It connects with the first send, or connect().\n\n"
    "Every notification that a send method took ends as exactly one of accepted,\n"
    "rejected or unknown. As a context manager it drains and closes at the end of the\n"
    "block. Times are seconds; None and 0 are defaults.\n\n"
    "host, server_name, port\n"
    "    The gateway's name or address (default: HOST_PRODUCTION, or by HTTP/2\n"
    "    HOST_HTTP2_PRODUCTION), the name its certificate must carry (default: host), and\n"
    "    its port (default: 2195, or 443).\n"
    "format\n"
    "    Of Format; default: framed.\n"
    "connect_timeout, write_timeout\n"
    "    For name, connection and handshake together, and for how long the peer may take\n"
    "    nothing. Default: 10.\n"
    "answer_timeout\n"
    "    The gateway owes an answer for so long: its connection is taken for dead.\n"
    "    Default: 30.\n"
    "window_bytes\n"
    "    Memory for notifications that have no end yet. Default: 4 MiB; at least 16 KiB.\n"
    "    For the token that each event has, 48 bytes come on top for each notification\n"
    "    without an end: with the default at most 1.5 MiB.\n"
    "payload_max\n"
    "    Larger payloads are refused. Default: 2,048, by HTTP/2 what Apple allows the kind\n"
    "    of push; at most 65,535.\n"
    "ambiguous\n"
    "    Of Ambiguous: what becomes of notifications in flight when a connection ends\n"
    "    without saying which one failed. Default: sent again, so that some may arrive\n"
    "    twice; with Format.SIMPLE: reported as unknown.\n"
    "report_accepted\n"
    "    Accepted ones are events too.\n"
    "quiet_period\n"
    "    None: a notification known to be bad is sent last, and the error packet that\n"
    "    names it proves all before it. Otherwise, for peers that do not answer such a\n"
    "    one: silence for so long after the last write is taken for acceptance.\n"
    "zero_proves\n"
    "    An error packet with identifier 0 is taken for the answer to that notification.\n"
    "connections\n"
    "    Used side by side, each with its part of the window; order is kept within each\n"
    "    only. Default: 1; at most 64.\n"
    "standby\n"
    "    A connection is made ready while the one before it works, so that moving on\n"
    "    costs no handshake.\n"
    "connects_per_minute\n"
    "    Never more than so many connections in a minute. Default: no limit.\n"
    "reconnect_pause_max\n"
    "    After connections that achieved nothing the next is made later each time, but\n"
    "    never later than this. Default: 5.\n"
    "keepalive\n"
    "    After so many seconds of silence TCP asks whether the peer is there. Default:\n"
    "    60; -1: never.\n"
    "proxy_host, proxy_port, proxy_user, proxy_password\n"
    "    An HTTP proxy (CONNECT) to go through, and who asks, told in clear text.\n"
    "events_max\n"
    "    When so many outcomes wait to be taken, and the window is full of more, sending\n"
    "    is a FullError.\n"
    "protocol\n"
    "    Of Protocol, or \"binary\" (the default) or \"http2\": today's APNs. That needs a\n"
    "    library built with it; format, quiet_period, zero_proves and standby are the\n"
    "    binary interface's.\n"
    "topic\n"
    "    By HTTP/2: of notifications that name none. Default: the certificate's.\n"
    "ping_after\n"
    "    By HTTP/2: whole seconds of silence after which a connection is asked whether it\n"
    "    still is one. Default: an hour; -1: never.\n"
    "retry_timeout\n"
    "    By HTTP/2: how long what the service answers by \"later\" is tried again.\n"
    "    Default: 60.\n"
    "prove_after\n"
    "    By the binary interface: whole seconds after which what is in flight without\n"
    "    proof is proven, in whatever call comes next. Default: 60; -1: only where a call\n"
    "    needs it.\n"
    "checks\n"
    "    Of Check: what the send methods refuse with ArgumentError, though a gateway or a\n"
    "    device would only pass over it. Default: all; 0: nothing.\n\n"
    "Threads: any number may use a session; one at a time is inside, the others wait.\n"
    "Fork: in a child process every method raises ForkedError and does no I/O; the\n"
    "parent's connection stays undisturbed whatever the child does. A session that goes\n"
    "away unclosed while notifications have no end leaves a ResourceWarning.";

static PyType_Slot slots[] = {{Py_tp_new, session_new},
                              {Py_tp_dealloc, session_dealloc},
                              {Py_tp_traverse, session_traverse},
                              {Py_tp_clear, session_clear},
                              {Py_tp_repr, session_repr},
                              {Py_tp_iter, session_iter},
                              {Py_tp_members, members},
                              {Py_tp_getset, properties},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, (void *)doc},
                              {0, NULL}};

static PyType_Spec spec = {"apns.Session", sizeof(session_t), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

bool session_load(PyObject *module) {
  PyObject *log = PyImport_ImportModule("apns._log");
  if (!log) return false;
  log_changes = PyObject_GetAttrString(log, "changes");
  Py_DECREF(log);
  if (!log_changes) return false;
  session_type = load_type(module, &spec);
  iterator_type = session_type ? load_type(module, &iterator_spec) : NULL;
  stats_type = iterator_type ? PyStructSequence_NewType(&stats_shape) : NULL;
  if (!stats_type) return false;
  Py_INCREF(stats_type);
  return PyModule_AddObject(module, "Stats", (PyObject *)stats_type) == 0;
}
