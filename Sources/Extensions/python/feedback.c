#include "core.h"

typedef struct feedback {
  PyObject_HEAD apns_feedback_t *feedback; /* NULL: closed; inside the gate */
  gate_t gate;
  int32_t read_ms; /* read_timeout */
  search_t *search;
} feedback_t;

static PyTypeObject *feedback_type, *device_type;

enum { HOST, SERVER_NAME, PROXY_HOST, PROXY_USER, PROXY_PASSWORD, OWNERS };

static bool take_port(PyObject *given, const char *name, uint16_t *port) {
  long long number = 0;
  if (!integer_argument(given, name, 0, UINT16_MAX, &number)) return false;
  *port = (uint16_t)number;
  return true;
}

static bool take_count(PyObject *given, const char *name, uint32_t *count) {
  long long number = 0;
  if (!integer_argument(given, name, 0, UINT32_MAX, &number)) return false;
  *count = (uint32_t)number;
  return true;
}

static bool open_feedback(feedback_t *self, apns_feedback_options_t *options,
                          PyObject *credentials) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status;
  const apns_credentials_t *lent = credentials_lend(credentials);
  if (!lent) return false;
  options->wait_max_ms = SLICE_MS;
  options->lookup = search_name;
  options->lookup_context = &self->search;
  self->read_ms = whole_ms(options->read_timeout_ms);
  int64_t deadline = clock_ms() + whole_ms(options->connect_timeout_ms);
  Py_BEGIN_ALLOW_THREADS;
  status = apns_feedback_open(options, lent, &self->feedback, &error);
  Py_END_ALLOW_THREADS;
  credentials_return(credentials);
  /* Nobody else has the object yet. */
  while (status == APNS_OK) {
    Py_BEGIN_ALLOW_THREADS;
    status = apns_feedback_connect(self->feedback, &error);
    Py_END_ALLOW_THREADS;
    if (status == APNS_OK) return true;
    if (was_cut(status, deadline)) status = APNS_OK;
    if (PyErr_CheckSignals()) return false;
  }
  raise_error(&error);
  return false;
}

static PyObject *feedback_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {
      "credentials",  "host",       "server_name", "port",       "connect_timeout",
      "read_timeout", "proxy_host", "proxy_port",  "proxy_user", "proxy_password",
      "list_timeout", "tuples_max", NULL};
  PyObject *credentials, *host = NULL, *server_name = NULL, *port = NULL, *connect_timeout = NULL;
  PyObject *read_timeout = NULL, *proxy_host = NULL, *proxy_port = NULL, *proxy_user = NULL;
  PyObject *proxy_password = NULL, *list_timeout = NULL, *tuples_max = NULL;
  PyObject *owners[OWNERS] = {NULL};
  apns_feedback_options_t options = APNS_FEEDBACK_OPTIONS_INIT;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!|$OOOOOOOOOOO:Feedback", names,
                                   credentials_type, &credentials, &host, &server_name, &port,
                                   &connect_timeout, &read_timeout, &proxy_host, &proxy_port,
                                   &proxy_user, &proxy_password, &list_timeout, &tuples_max)) {
    return NULL;
  }
  feedback_t *self = object_alloc(type);
  if (!self) return NULL;
  bool fine =
      gate_init(&self->gate) && text_argument(host, "host", &options.host, &owners[HOST]) &&
      text_argument(server_name, "server_name", &options.server_name, &owners[SERVER_NAME]) &&
      take_port(port, "port", &options.port) &&
      option_ms_argument(connect_timeout, "connect_timeout", &options.connect_timeout_ms) &&
      option_ms_argument(read_timeout, "read_timeout", &options.read_timeout_ms) &&
      text_argument(proxy_host, "proxy_host", &options.proxy_host, &owners[PROXY_HOST]) &&
      take_port(proxy_port, "proxy_port", &options.proxy_port) &&
      text_argument(proxy_user, "proxy_user", &options.proxy_user, &owners[PROXY_USER]) &&
      text_argument(proxy_password, "proxy_password", &options.proxy_password,
                    &owners[PROXY_PASSWORD]) &&
      option_ms_argument(list_timeout, "list_timeout", &options.list_timeout_ms) &&
      take_count(tuples_max, "tuples_max", &options.tuples_max) &&
      open_feedback(self, &options, credentials);
  for (int i = 0; i < OWNERS; i++) Py_XDECREF(owners[i]);
  if (fine) return (PyObject *)self;
  Py_DECREF(self);
  return NULL;
}

static void feedback_dealloc(PyObject *object) {
  feedback_t *self = (feedback_t *)object;
  apns_feedback_free(self->feedback);
  search_end(&self->search);
  gate_free(&self->gate);
  object_free(object);
}

PyObject *device_make(uint32_t timestamp, const void *token, size_t length) {
  PyObject *seconds = PyLong_FromUnsignedLong(timestamp);
  PyObject *bytes = PyBytes_FromStringAndSize((const char *)token, (Py_ssize_t)length);
  PyObject *device = seconds && bytes ? PyStructSequence_New(device_type) : NULL;
  if (!device) {
    Py_XDECREF(seconds);
    Py_XDECREF(bytes);
    return NULL;
  }
  PyStructSequence_SetItem(device, 0, seconds);
  PyStructSequence_SetItem(device, 1, bytes);
  return device;
}

static PyObject *feedback_next(PyObject *object) {
  feedback_t *self = (feedback_t *)object;
  int64_t deadline = clock_ms() + self->read_ms;
  for (;;) {
    apns_error_t error = APNS_ERROR_INIT;
    apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
    uint8_t token[UINT16_MAX]; /* the longest that a tuple can say */
    apns_status_t status = APNS_ERR_CLOSED;
    if (!gate_enter(&self->gate, "feedback")) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    if (self->feedback) {
      status = apns_feedback_next(self->feedback, &tuple, &error);
      /* Another thread may take the next one before this one is looked at. */
      if (status == APNS_OK) memcpy(token, tuple.token, tuple.token_length);
    } else {
      error.status = APNS_ERR_CLOSED;
      PyOS_snprintf(error.message, sizeof error.message, "the feedback was closed");
    }
    gate_leave(&self->gate);
    Py_END_ALLOW_THREADS;
    if (status == APNS_OK) return device_make(tuple.timestamp, token, tuple.token_length);
    if (status == APNS_DONE) return NULL;
    if (!was_cut(status, deadline)) return raise_error(&error);
    if (PyErr_CheckSignals()) return NULL;
  }
}

static PyObject *feedback_close(PyObject *object, PyObject *none) {
  feedback_t *self = (feedback_t *)object;
  (void)none;
  if (!gate_enter(&self->gate, "feedback")) return NULL;
  apns_feedback_t *feedback = self->feedback;
  self->feedback = NULL;
  gate_leave(&self->gate);
  apns_feedback_free(feedback);
  Py_RETURN_NONE;
}

static PyObject *feedback_enter(PyObject *self, PyObject *none) {
  (void)none;
  Py_INCREF(self);
  return self;
}

static PyObject *feedback_exit(PyObject *object, PyObject *args) {
  (void)args;
  if (!gate_is_home(&((feedback_t *)object)->gate)) Py_RETURN_NONE;
  return feedback_close(object, NULL);
}

static PyObject *feedback_closed(PyObject *object, void *closure) {
  (void)closure;
  return PyBool_FromLong(((feedback_t *)object)->feedback == NULL);
}

static PyStructSequence_Field device_fields[] = {
    {"timestamp", "UNIX seconds at which it was found gone; later registrations count."},
    {"token", "Its token, bytes."},
    {NULL, NULL}};

static PyStructSequence_Desc device_shape = {
    "apns.Device", "A device on which the app no longer is. A tuple with names.", device_fields, 2};

static PyMethodDef methods[] = {
    {"close", feedback_close, METH_NOARGS,
     "close($self, /)\n--\n\nCloses the connection. Closing it again does nothing."},
    {"__enter__", feedback_enter, METH_NOARGS, "__enter__($self, /)\n--\n\nItself."},
    {"__exit__", feedback_exit, METH_VARARGS,
     "__exit__($self, kind, value, trace, /)\n--\n\nCloses it."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef properties[] = {
    {"closed", feedback_closed, NULL, "Whether close() was called.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static const char doc[] =
    "Feedback(credentials, *, host=None, server_name=None, port=0, connect_timeout=None, "
    "read_timeout=None, proxy_host=None, proxy_port=0, proxy_user=None, proxy_password=None, "
    "list_timeout=None, tuples_max=0)"
    "\n--\n\n"
    "The feedback service's list of devices that are gone. Making it connects; iterating\n"
    "over it reads the list, a Device at a time, and clears it there.\n\n"
    "host, server_name, port\n"
    "    The service's name or address (default: FEEDBACK_HOST_PRODUCTION), the name its\n"
    "    certificate must carry (default: host), and its port (default: 2196).\n"
    "connect_timeout, read_timeout\n"
    "    Seconds for name, connection and handshake together, and for one device to come.\n"
    "    Default: 10.\n"
    "proxy_host, proxy_port, proxy_user, proxy_password\n"
    "    As in Session.\n"
    "list_timeout, tuples_max\n"
    "    A list that has no end is broken off when reading it has taken so many seconds, or\n"
    "    has told of so many devices. Default: 600 and 10,000,000.\n\n"
    "Where the connection died, the whole tuples come first, then the error: with\n"
    "ProtocolError it broke off in the middle of a tuple. The same answer is given from\n"
    "then on. Other threads run while it waits; Ctrl-C ends the wait, and what was to be\n"
    "read can be read still. In a child process every method raises ForkedError.";

static PyType_Slot slots[] = {{Py_tp_new, feedback_new},       {Py_tp_dealloc, feedback_dealloc},
                              {Py_tp_iter, PyObject_SelfIter}, {Py_tp_iternext, feedback_next},
                              {Py_tp_getset, properties},      {Py_tp_methods, methods},
                              {Py_tp_doc, (void *)doc},        {0, NULL}};

static PyType_Spec spec = {"apns.Feedback", sizeof(feedback_t), 0, Py_TPFLAGS_DEFAULT, slots};

bool feedback_load(PyObject *module) {
  feedback_type = load_type(module, &spec);
  device_type = feedback_type ? PyStructSequence_NewType(&device_shape) : NULL;
  if (!device_type) return false;
  Py_INCREF(device_type);
  return PyModule_AddObject(module, "Device", (PyObject *)device_type) == 0;
}
