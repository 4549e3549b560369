/* The class Session: its options, its methods, its beginning and end. */
#include "session.h"

#include "session_options.h"

/* ---- Options ------------------------------------------------------------------------ */

#define EVENTS_MAX (1 << 20)

typedef struct settings {
  apns_session_options_t options;
  uint32_t events_max;
} settings_t;

#define OPTION(name, kind, field, words) \
  {name, OPTION_##kind, offsetof(settings_t, options.field), words},
static const option_t option_list[] = {
    SESSION_OPTIONS(OPTION){"events_max", OPTION_COUNT, offsetof(settings_t, events_max), NULL}};
static const option_table_t option_table = {"Session", option_list,
                                            sizeof option_list / sizeof *option_list};

static bool read_settings(session_t *self, PyObject *args, PyObject *keywords, settings_t *settings,
                          PyObject **owners) {
  apns_session_options_t *options = &settings->options;
  PyObject *credentials;
  options->checks = APNS_CHECK_ALL;
  settings->events_max = EVENTS_MAX;
  if (!options_read(self->state, &option_table, args, keywords, settings, &credentials, owners)) {
    return false;
  }
  self->speaks_http2 = options->protocol == APNS_PROTOCOL_HTTP2;
  self->reports_accepted = options->report_accepted;
  self->events_max = settings->events_max;
  /* The session learns of every acceptance, to release what it kept of the notification. Those
     that the program does not want are no events. */
  options->report_accepted = 1;
  options->wait_max_ms = SLICE_MS;
  options->lookup = lookup_name;
  options->lookup_context = &self->lookup;
  Py_INCREF(credentials);
  self->credentials = credentials;
  return true;
}

/* Like the library's: connect_timeout_ms and write_timeout_ms together. */
static int32_t patience(const apns_session_options_t *options) {
  int64_t ms = (int64_t)whole_ms(options->connect_timeout_ms) + whole_ms(options->write_timeout_ms);
  return ms > INT32_MAX ? INT32_MAX : (int32_t)ms;
}

/* Remembers what the options say; false with an exception. */
static bool remember(session_t *self, const apns_session_options_t *options) {
  const char *host = self->speaks_http2 ? APNS_HOST_HTTP2_PRODUCTION : APNS_HOST_PRODUCTION;
  uint16_t port = self->speaks_http2 ? APNS_PORT_HTTP2 : APNS_PORT_GATEWAY;
  self->connect_ms = whole_ms(options->connect_timeout_ms);
  self->patience_ms = patience(options);
  self->host = PyUnicode_FromString(options->host ? options->host : host);
  self->port = options->port ? options->port : port;
  return self->host != NULL;
}

static bool make(session_t *self, PyObject *args, PyObject *keywords) {
  apns_error_t error = APNS_ERROR_INIT;
  settings_t settings = {APNS_SESSION_OPTIONS_INIT, 0};
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

static PyObject *session_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  module_state_t *state = state_of_type(type);
  session_t *self = state ? object_alloc(type) : NULL;
  if (!self) return NULL;
  self->state = state;
  self->module = state->module;
  Py_INCREF(self->module);
  self->logged = (apns_session_stats_t)APNS_SESSION_STATS_INIT;
  self->closed = true; /* until it is made */
  if (object_lock_init(&self->lock, state) && make(self, args, keywords)) {
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
  return pending_traverse(&self->pending, visit, arg);
}

/* The credentials stay: a session always has them, and they refer to nothing. */
static int session_clear(PyObject *object) {
  pending_clear(&((session_t *)object)->pending);
  return 0;
}

/* No notification is lost without a word. */
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
    if (object_lock_is_of_this_process(&self->lock)) warn_of_loss(self);
    apns_session_free(self->session);
  }
  lookup_end(&self->lookup);
  pending_table_free(&self->pending);
  outcomes_free(&self->outcomes);
  outcomes_free(&self->unreported);
  object_lock_free(&self->lock);
  Py_XDECREF(self->credentials);
  Py_XDECREF(self->host);
  Py_DECREF(self->module);
  object_free(object);
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

static PyMethodDef methods[] = {
    {"connect", session_connect, METH_NOARGS,
     "connect($self, /)\n--\n\n"
     "Connects now, which is the best place to find a mistake in host or credentials. Tries\n"
     "every address of the name, within connect_timeout. Does nothing on a connected\n"
     "session. Ctrl-C ends the wait."},
    {"send", (PyCFunction)(void (*)(void))session_send, METH_VARARGS | METH_KEYWORDS, send_doc},
    {"send_many", (PyCFunction)(void (*)(void))session_send_many, METH_VARARGS | METH_KEYWORDS,
     send_many_doc},
    {"flush", session_flush, METH_NOARGS,
     "flush($self, /)\n--\n\n"
     "Writes what `more` held back. An error loses nothing: the next call continues where\n"
     "this one stopped. Ctrl-C ends the wait."},
    {"drain", (PyCFunction)(void (*)(void))session_drain, METH_VARARGS | METH_KEYWORDS,
     "drain($self, /, timeout=None)\n--\n\n"
     "Waits until the outcome of every notification is known, for at most `timeout` seconds;\n"
     "None: for connect_timeout and write_timeout together.\n\n"
     "Raises TimeoutError when that time is over, or another error when the gateway cannot\n"
     "be reached. Its `unresolved` says how many notifications have no outcome yet; they\n"
     "stay in the session. Other threads run meanwhile, and may use the session in turn;\n"
     "Ctrl-C ends the wait."},
    {"next_event", (PyCFunction)(void (*)(void))session_next_event, METH_VARARGS | METH_KEYWORDS,
     "next_event($self, /, timeout=0)\n--\n\n"
     "Takes the next outcome: an Event, or None where there is none. They come in the order\n"
     "in which the notifications were sent, or over HTTP/2 answered.\n\n"
     "Waits up to `timeout` seconds for one, and writes and reconnects meanwhile; with 0\n"
     "it only takes what has come. A closed session still gives its events, among them\n"
     "those of notifications whose outcome is unknown. Ctrl-C ends the wait."},
    {"gone", session_gone, METH_NOARGS,
     "gone($self, /)\n--\n\n"
     "HTTP/2: takes the list of devices that no longer have the app, from the service's\n"
     "answers to this session (410): a list of Device, each once, as Feedback gives them\n"
     "for the binary interface. At most 65,536 are kept until they are taken."},
    {"events", (PyCFunction)(void (*)(void))session_events, METH_VARARGS | METH_KEYWORDS,
     "events($self, /, timeout=0)\n--\n\n"
     "Iterates over the outcomes until none comes within `timeout` seconds. Iterating over\n"
     "the session itself does the same without waiting."},
    {"stats", session_stats, METH_NOARGS,
     "stats($self, /)\n--\n\nCounts since the session was made: Stats."},
    {"close", (PyCFunction)(void (*)(void))session_close, METH_VARARGS | METH_KEYWORDS,
     "close($self, /, timeout=None)\n--\n\n"
     "Ends the connection gently, so that nothing in flight is destroyed, within\n"
     "`timeout` seconds; None: connect_timeout and write_timeout together.\n\n"
     "Nothing is sent again: notifications that the gateway's last answer leaves open\n"
     "become events of kind UNKNOWN. Drain first to learn all outcomes. A closed session\n"
     "takes no notifications; closing it again does nothing. Ctrl-C ends the wait, and\n"
     "the session is closed then."},
    {"__enter__", session_enter, METH_NOARGS, "__enter__($self, /)\n--\n\nItself."},
    {"__exit__", session_exit, METH_VARARGS,
     "__exit__($self, kind, value, trace, /)\n--\n\n"
     "Drains and closes; after an exception it closes without waiting. Events can still be\n"
     "taken. Does nothing in a child process, where the session belongs to the parent."},
    {NULL, NULL, 0, NULL}};

static const char doc[] =
    "Session(credentials, *, " SESSION_SIGNATURE
    ", events_max=1048576)\n--\n\n"
    "A provider's session with one gateway. The first send, or connect(), connects it.\n\n"
    "Every notification that a send method took ends as exactly one of accepted,\n"
    "rejected or unknown. As a context manager it drains and closes at the end of the\n"
    "block. Times are seconds; None and 0 are defaults.\n\n"
    "host, server_name, port\n"
    "    The gateway's name or address (default: HOST_PRODUCTION, or by HTTP/2\n"
    "    HOST_HTTP2_PRODUCTION), the name its certificate must carry (default: host), and\n"
    "    its port (default: 2195, or 443).\n"
    "format\n"
    "    Of Format, or \"simple\", \"enhanced\" or \"framed\" (the default).\n"
    "connect_timeout, write_timeout\n"
    "    For name lookup, connection and handshake together, and for how long a write may\n"
    "    make no progress. Default: 10.\n"
    "answer_timeout\n"
    "    A connection is taken for dead when the gateway has owed an answer for this long.\n"
    "    Default: 30.\n"
    "window_bytes\n"
    "    Memory for notifications without an outcome. Default: 4 MiB; at least 16 KiB. Each\n"
    "    takes 48 bytes more for the token of its event: with the default at most 1.5 MiB.\n"
    "payload_max\n"
    "    Larger payloads are refused. Default: 2,048, over HTTP/2 what Apple allows for the\n"
    "    kind of push; at most 65,535.\n"
    "ambiguous\n"
    "    Of Ambiguous, or \"resend\" or \"report\": what happens to notifications in flight\n"
    "    when a connection ends without saying which one failed. Default: they are sent\n"
    "    again, so some may arrive twice; with Format.SIMPLE they are reported as unknown.\n"
    "report_accepted\n"
    "    Accepted notifications are events too.\n"
    "quiet_period\n"
    "    None: a notification known to be bad is sent last, and the error packet that\n"
    "    names it proves all before it. A time is for peers that do not answer a bad\n"
    "    notification: silence for this long after the last write counts as acceptance.\n"
    "zero_proves\n"
    "    An error packet with identifier 0 counts as the answer to that bad notification.\n"
    "connections\n"
    "    How many are used side by side, each with its part of the window; order is kept\n"
    "    within each only. Default: 1; at most 64.\n"
    "standby\n"
    "    The next connection is made while the current one works, so that changing to it\n"
    "    costs no handshake.\n"
    "connects_per_minute\n"
    "    The most connections in a minute. Default: no limit.\n"
    "reconnect_pause_max\n"
    "    After connections that achieved nothing the session pauses, longer each time; this\n"
    "    is the longest pause. Default: 5.\n"
    "keepalive\n"
    "    Seconds of silence after which TCP asks whether the peer is there. Default: 60;\n"
    "    -1: never.\n"
    "proxy_host, proxy_port, proxy_user, proxy_password\n"
    "    An HTTP proxy (CONNECT), and its user and password, which are sent in clear text.\n"
    "events_max\n"
    "    When this many outcomes wait to be taken, and the window is full of more, sending\n"
    "    raises FullError.\n"
    "protocol\n"
    "    Of Protocol, or \"binary\" (the default) or \"http2\": today's APNs. HTTP/2 needs a\n"
    "    library built with it; format, quiet_period, zero_proves and standby apply to the\n"
    "    binary interface only.\n"
    "topic\n"
    "    HTTP/2: for notifications that name none. Default: the certificate's.\n"
    "ping_after\n"
    "    HTTP/2: whole seconds of silence after which a PING asks whether the connection\n"
    "    still works. Default: an hour; -1: never.\n"
    "retry_timeout\n"
    "    HTTP/2: for how long a notification is tried again when the service answers\n"
    "    \"later\". Default: 60.\n"
    "prove_after\n"
    "    Binary interface: whole seconds after which the next call gets proof of what is\n"
    "    still in flight. Default: 60; -1: only where a call needs proof.\n"
    "checks\n"
    "    Of Check: mistakes that a gateway or a device would ignore without a word, and the\n"
    "    send methods refuse with ArgumentError. Default: all; 0: none.\n\n"
    "Threads: any number may use a session, one at a time; the others wait. Fork: in a\n"
    "child process every method raises ForkedError and does no I/O, and nothing that the\n"
    "child does disturbs the parent's connection. A session that is freed unclosed while\n"
    "notifications have no outcome gives a ResourceWarning.";

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

bool session_load(module_state_t *state) {
  state->session = load_type(state->module, &spec);
  return state->session && session_events_load(state) && session_reports_load(state);
}
