/* The class Session: its options, its methods, its beginning and end. */
#include "session.h"

#include "session_options.h"

/* ---- Options ------------------------------------------------------------------------ */

#define EVENTS_MAX (1 << 20)
#define CLOSE_MS 5000

typedef struct settings {
  apns_session_options_t options; /* with the two below */
  apns_binary_options_t binary;
  apns_tuning_t tuning;
  uint32_t events_max;
} settings_t;

#define OPTION(name, kind, field, words) {name, OPTION_##kind, offsetof(settings_t, field), words},
static const option_t option_list[] = {
    SESSION_OPTIONS(OPTION){"events_max", OPTION_COUNT, offsetof(settings_t, events_max), NULL}};
static const option_table_t option_table = {"Session", option_list,
                                            sizeof option_list / sizeof *option_list};

static bool read_settings(session_t *self, PyObject *args, PyObject *keywords, settings_t *settings,
                          PyObject **owners) {
  apns_session_options_t *options = &settings->options;
  PyObject *credentials;
  options->close_timeout_ms = CLOSE_MS;
  settings->events_max = EVENTS_MAX;
  PyObject *others = log_take(keywords, &self->log);
  if (PyErr_Occurred()) return false;
  if (self->log) {
    options->log = log_lines_keep;
    options->log_context = &self->lines;
  }
  bool fine =
      options_read(self->state, &option_table, args, others, settings, &credentials, owners);
  Py_XDECREF(others);
  if (!fine) return false;
  self->speaks_http2 = options->protocol == APNS_PROTOCOL_HTTP2;
  self->wanted = (apns_outcomes_t)options->outcomes;
  self->never_waits = options->peer.nonblocking;
  self->events_max = settings->events_max;
  /* The session learns of every acceptance: push() may wait for it, and what was kept of the
     notification is released. */
  options->outcomes = APNS_OUTCOMES_EACH;
  options->peer.wait_max_ms = SLICE_MS;
  /* The library would wait in one piece. */
  self->close_ms = (int32_t)options->close_timeout_ms; /* 0 is a time */
  options->close_timeout_ms = 0;
  options->peer.lookup = self->never_waits ? lookup_name_at_once : lookup_name;
  options->peer.lookup_context = &self->lookup;
  Py_INCREF(credentials);
  self->credentials = credentials;
  return true;
}

static int32_t sum_ms(int32_t one, uint32_t other) {
  return other > (uint32_t)(INT32_MAX - one) ? INT32_MAX : one + (int32_t)other;
}

/* Stores the options' values; false with an exception. */
static bool remember(session_t *self, const apns_session_options_t *options) {
  const bool is_sandbox = options->environment == APNS_ENVIRONMENT_SANDBOX;
  const char *host = !self->speaks_http2
                         ? (is_sandbox ? APNS_BINARY_HOST_SANDBOX : APNS_BINARY_HOST_PRODUCTION)
                         : (is_sandbox ? APNS_HOST_SANDBOX : APNS_HOST_PRODUCTION);
  uint16_t port = self->speaks_http2 ? APNS_PORT_HTTP2 : APNS_PORT_GATEWAY;
  self->connect_ms = whole_ms(options->peer.connect_timeout_ms);
  const uint32_t answer_ms = options->tuning->answer_timeout_ms;
  self->send_ms = sum_ms(self->connect_ms, whole_ms(options->tuning->write_timeout_ms));
  self->patience_ms = sum_ms(self->send_ms, answer_ms ? answer_ms : 30000);
  self->host = PyUnicode_FromString(options->peer.host ? options->peer.host : host);
  self->port = options->peer.port ? options->peer.port : port;
  return self->host != NULL;
}

static bool make(session_t *self, PyObject *args, PyObject *keywords) {
  apns_error_t error = APNS_ERROR_INIT;
  settings_t settings = {APNS_SESSION_OPTIONS_INIT, APNS_BINARY_OPTIONS_INIT, APNS_TUNING_INIT, 0};
  settings.options.binary = &settings.binary;
  settings.options.tuning = &settings.tuning;
  PyObject *owners = NULL;
  bool fine = read_settings(self, args, keywords, &settings, &owners);
  const apns_credentials_t *credentials = fine ? credentials_lend(self->credentials) : NULL;
  if (credentials) {
    /* This call does not wait. */
    fine = apns_session_new(&settings.options, credentials, &self->session, &error) == APNS_OK;
    if (!fine) raise_error(self->state, &error);
    credentials_return(self->credentials);
  }
  fine = fine && credentials && remember(self, &settings.options);
  Py_XDECREF(owners);
  return fine;
}

/* Puts it among those that end with the process. */
static bool join(session_t *self) {
  PyObject *nothing = PyObject_CallFunction(self->state->end_with_process, NULL);
  Py_XDECREF(nothing);
  if (!nothing) return false;
  self->older = self->state->sessions;
  if (self->older) self->older->newer = self;
  self->state->sessions = self;
  return true;
}

static void leave(session_t *self) {
  if (self->newer) self->newer->older = self->older;
  if (self->older) self->older->newer = self->newer;
  if (self->state->sessions == self) self->state->sessions = self->older;
}

static PyObject *session_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  module_state_t *state = state_of_type(type);
  session_t *self = state ? object_alloc(type) : NULL;
  if (!self) return NULL;
  self->state = state;
  self->module = state->module;
  Py_INCREF(self->module);
  self->logged = (apns_session_stats_t)APNS_SESSION_STATS_INIT;
  self->closed = true; /* until it is made */
  if (object_lock_init(&self->lock, state) && make(self, args, keywords) && join(self)) {
    self->closed = false;
    return (PyObject *)self;
  }
  Py_DECREF(self);
  return NULL;
}

/* ---- The collector ----------------------------------------------------------- */

static int session_traverse(PyObject *object, visitproc visit, void *arg) {
  session_t *self = (session_t *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->module);
  Py_VISIT(self->credentials);
  Py_VISIT(self->log);
  return pending_traverse(&self->pending, visit, arg);
}

/* The credentials stay: a session always has them. A cycle through their token_provider is broken
   by the collector in the function's own cells. */
static int session_clear(PyObject *object) {
  pending_clear(&((session_t *)object)->pending);
  Py_CLEAR(((session_t *)object)->log);
  return 0;
}

/* By the collector, while what it refers to is still whole. */
static void session_finalize(PyObject *object) { session_end((session_t *)object); }

static void session_dealloc(PyObject *object) {
  session_t *self = (session_t *)object;
  PyObject_GC_UnTrack(object);
  if (self->weakrefs) PyObject_ClearWeakRefs(object);
  leave(self);
  session_end(self);
  apns_session_free(self->session);
  log_lines_free(&self->lines);
  Py_XDECREF(self->log);
  lookup_end(&self->lookup);
  pending_table_free(&self->pending);
  outcomes_free(&self->outcomes);
  outcomes_free(&self->unreported);
  outcomes_free(&self->owned);
  outcomes_free(&self->returned);
  object_lock_free(&self->lock);
  Py_XDECREF(self->credentials);
  Py_XDECREF(self->host);
  Py_DECREF(self->module);
  object_free(object);
}

/* ---- The type ---------------------------------------------------------------------- */

static PyObject *session_repr(PyObject *object) {
  session_t *self = (session_t *)object;
  return PyUnicode_FromFormat("<libapns.Session to %U, port %d%s>", self->host, (int)self->port,
                              self->closed ? ", closed" : "");
}

static PyMemberDef members[] = {
    {"credentials", T_OBJECT_EX, offsetof(session_t, credentials), READONLY,
     "The Credentials that new connections use."},
    {"_close_ms", T_INT, offsetof(session_t, close_ms), 0, NULL},
    {"host", T_OBJECT_EX, offsetof(session_t, host), READONLY, "The gateway's name or address."},
    {"port", T_USHORT, offsetof(session_t, port), READONLY, "The gateway's port."},
    {"closed", T_BOOL, offsetof(session_t, closed), READONLY, "Whether close() was called."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(session_t, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyGetSetDef properties[] = {
    {"timeout", session_get_timeout, NULL,
     "With `nonblocking`: in how many seconds process() is due, 0: now; None: not before the\n"
     "descriptor is readable. It becomes readable at that time automatically.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef methods[] = {
    {"use_credentials", session_use_credentials, METH_O,
     "use_credentials($self, credentials, /)\n--\n\n"
     "Rotates the session's credentials, such as a certificate renewed before it expires.\n"
     "New connections use them. Open connections take no new notifications and are closed\n"
     "gracefully, so that nothing is lost or sent twice. Does not wait. On an error the\n"
     "session keeps its credentials."},
    {"connect", session_connect, METH_NOARGS,
     "connect($self, /)\n--\n\n"
     "Connects now, which is the best way to find errors in host or credentials. Tries every\n"
     "address of the name, within connect_timeout. Does nothing if the session is connected.\n"
     "Ctrl-C ends the wait."},
    {"send", (PyCFunction)(void (*)(void))session_send, METH_VARARGS | METH_KEYWORDS, send_doc},
    {"send_many", (PyCFunction)(void (*)(void))session_send_many, METH_VARARGS | METH_KEYWORDS,
     send_many_doc},
    {"push", (PyCFunction)(void (*)(void))session_push, METH_VARARGS | METH_KEYWORDS, push_doc},
    {"push_many", (PyCFunction)(void (*)(void))session_push_many, METH_VARARGS | METH_KEYWORDS,
     push_many_doc},
    {"flush", session_flush, METH_NOARGS,
     "flush($self, /)\n--\n\n"
     "Writes what `more` held back. An error loses nothing: the next call continues where\n"
     "this one stopped. Ctrl-C ends the wait."},
    {"drain", (PyCFunction)(void (*)(void))session_drain, METH_VARARGS | METH_KEYWORDS,
     "drain($self, /, timeout=None)\n--\n\n"
     "Waits until the outcome of every notification is known, for at most `timeout` seconds;\n"
     "None: as of push().\n\n"
     "Raises DeadlineError when that time is over, or another error if the gateway cannot be\n"
     "reached. Its `unresolved` is the number of notifications without an outcome; they stay\n"
     "in the session. Other threads run during the wait, and can use the session in turn;\n"
     "Ctrl-C ends the wait."},
    {"cancel", (PyCFunction)(void (*)(void))session_cancel, METH_VARARGS | METH_KEYWORDS,
     "cancel($self, /, identifier=None)\n--\n\n"
     "Takes back the notification with that identifier, or all of the session. After this call\n"
     "the session does not begin to write or resend any of them.\n\n"
     "Unwritten notifications end as EventKind.CANCELLED, or as UNKNOWN if an earlier\n"
     "connection may have delivered them; the others still wait for their responses. Returns\n"
     "how many ended; each has its event."},
    {"next_event", (PyCFunction)(void (*)(void))session_next_event, METH_VARARGS | METH_KEYWORDS,
     "next_event($self, /, timeout=0)\n--\n\n"
     "Takes the next outcome: an Event, or None if no outcome has arrived. Outcomes come in\n"
     "the order in which the notifications were sent, or, over HTTP/2, answered.\n\n"
     "Waits up to `timeout` seconds for one, while it writes and reconnects; with 0 it only\n"
     "takes an outcome that has arrived. A closed session still returns its events, including\n"
     "unknown outcomes. Ctrl-C ends the wait."},
    {"gone", session_gone, METH_NOARGS,
     "gone($self, /)\n--\n\n"
     "HTTP/2: takes the list of gone devices, from APNs' responses to this session (410): a\n"
     "list of Device, each once, as Feedback gives them for the binary interface. At most\n"
     "65,536 are kept until they are taken."},
    {"events", (PyCFunction)(void (*)(void))session_events, METH_VARARGS | METH_KEYWORDS,
     "events($self, /, timeout=0)\n--\n\n"
     "Iterates over the outcomes until none comes within `timeout` seconds. Iterating over\n"
     "the session itself does the same without waiting."},
    {"stats", session_stats, METH_NOARGS,
     "stats($self, /)\n--\n\nCounts since the session was made: Stats."},
    {"metrics", session_metrics, METH_NOARGS,
     "metrics($self, /)\n--\n\n"
     "Figures for a monitoring system, by the names of apns_session_metrics_t: a dict. Times\n"
     "are in seconds. `times` counts responses by the longest time of each step, which the\n"
     "next step does not include. `classes` has HTTP statuses by hundreds; `reasons`,\n"
     "`rejected_reasons`, `rejects` and `connect_failures` have the words that occurred."},
    {"close", (PyCFunction)(void (*)(void))session_close, METH_VARARGS | METH_KEYWORDS,
     "close($self, /, timeout=None)\n--\n\n"
     "Closes the connection gracefully, so that nothing in flight is destroyed, within\n"
     "`timeout` seconds; None: as of push().\n\n"
     "Nothing is resent: notifications that are still unresolved after the gateway's last\n"
     "response become events of kind UNKNOWN. Drain first to get all outcomes. A closed\n"
     "session takes no notifications; closing it again does nothing. Ctrl-C ends the wait,\n"
     "and the session is closed then."},
    {"fileno", session_fileno, METH_NOARGS,
     "fileno($self, /)\n--\n\n"
     "With `nonblocking`: the descriptor that becomes readable whenever process() has something\n"
     "to do. It is the same for the session's whole life, so selectors and event loops take\n"
     "the session itself. Never read from it or close it."},
    {"process", session_process, METH_NOARGS,
     "process($self, /)\n--\n\n"
     "With `nonblocking`: does what can be done now, and returns. It connects, writes what\n"
     "waits, reads responses, resends, closes. True: the session continues. False: it has\n"
     "closed, and only its events remain to be taken.\n\n"
     "An exception is information, such as a failed connection: nothing is lost, and the\n"
     "session retries automatically. Events may have come too. It stops after about a\n"
     "millisecond of work; the descriptor then stays readable."},
    {"wake", session_wake, METH_NOARGS,
     "wake($self, /)\n--\n\n"
     "With `nonblocking`: makes the descriptor readable, so that the thread that owns the\n"
     "session looks for work. Any thread may call it at any time."},
    {"_end", session_end_now, METH_NOARGS,
     "_end($self, /)\n--\n\nEnds it as its destruction does."},
    {"__enter__", object_enter, METH_NOARGS, "__enter__($self, /)\n--\n\nReturns itself."},
    {"__exit__", session_exit, METH_VARARGS,
     "__exit__($self, kind, value, trace, /)\n--\n\n"
     "Drains and closes; after an exception, or with `nonblocking`, it closes without\n"
     "waiting. Events can still be taken. Does nothing in a child process, because the session "
     "belongs to the parent."},
    {NULL, NULL, 0, NULL}};

static const char doc[] =
    "Session(credentials, *, " SESSION_SIGNATURE
    ", events_max=1048576, log=None)\n--\n\n"
    "A provider's session with one gateway. The first send, or connect(), connects it.\n\n"
    "Every notification that a send method queued has exactly one outcome. As a context\n"
    "manager the session drains and closes at the end of the block. Times are seconds; None\n"
    "and 0 mean the default.\n\n" SESSION_OPTIONS_TEXT
    "events_max\n"
    "    When this many outcomes wait, and the window is full of more, sending raises\n"
    "    FullError.\n"
    "log\n"
    "    A logging.Logger, or a callable that takes a LogLine. It gets lines about what the\n"
    "    session does, after the call that did it and in the same thread. Its exceptions go\n"
    "    to sys.unraisablehook.\n\n"
    "Threads: any number may use a session, one at a time; the others wait. Fork: in a\n"
    "child process every method raises ForkedError and does no I/O, and the child cannot\n"
    "disturb the parent's connection. End: a session that was not closed is drained and\n"
    "closed at the end of the process, or with the last reference to it, within\n"
    "close_timeout, with `nonblocking` too. os._exit() and signals that end the process\n"
    "immediately leave no time for that.";

static PyType_Slot slots[] = {
    {Py_tp_new, session_new},           {Py_tp_dealloc, session_dealloc},
    {Py_tp_finalize, session_finalize}, {Py_tp_traverse, session_traverse},
    {Py_tp_clear, session_clear},       {Py_tp_repr, session_repr},
    {Py_tp_iter, session_iter},         {Py_tp_members, members},
    {Py_tp_getset, properties},         {Py_tp_methods, methods},
    {Py_tp_doc, (void *)doc},           {0, NULL}};

static PyType_Spec spec = {"libapns.Session", sizeof(session_t), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

bool session_load(module_state_t *state) {
  state->session = load_type(state->module, &spec);
  return state->session && session_events_load(state) && session_pushing_load(state) &&
         session_reports_load(state);
}
