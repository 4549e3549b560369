#include "core.h"
#include "feedback_options.h"

typedef struct feedback {
  PyObject_HEAD apns_feedback_t *feedback; /* NULL: closed; with the lock */
  const module_state_t *state;
  object_lock_t lock;
  int32_t read_ms; /* read_timeout */
  bool never_waits;
  lookup_t *lookup;
} feedback_t;

#define OPTION(name, kind, field, words) \
  {name, OPTION_##kind, offsetof(apns_feedback_options_t, field), words},
static const option_t option_list[] = {FEEDBACK_OPTIONS(OPTION)};
static const option_table_t option_table = {"Feedback", option_list,
                                            sizeof option_list / sizeof *option_list};

static bool open_feedback(feedback_t *self, apns_feedback_options_t *options,
                          PyObject *credentials) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status;
  const apns_credentials_t *lent = credentials_lend(credentials);
  if (!lent) return false;
  options->peer.wait_max_ms = SLICE_MS;
  self->never_waits = options->peer.nonblocking;
  options->peer.lookup = self->never_waits ? lookup_name_at_once : lookup_name;
  options->peer.lookup_context = &self->lookup;
  self->read_ms = whole_ms(options->read_timeout_ms);
  int64_t deadline = clock_ms() + whole_ms(options->peer.connect_timeout_ms);
  Py_BEGIN_ALLOW_THREADS;
  status = apns_feedback_open(options, lent, &self->feedback, &error);
  Py_END_ALLOW_THREADS;
  credentials_return(credentials);
  if (status == APNS_OK && self->never_waits) return true;
  /* No other thread has the object yet. */
  while (status == APNS_OK) {
    Py_BEGIN_ALLOW_THREADS;
    status = apns_feedback_connect(self->feedback, &error);
    Py_END_ALLOW_THREADS;
    if (status == APNS_OK) return true;
    if (was_cut(status, deadline)) status = APNS_OK;
    if (PyErr_CheckSignals()) return false;
  }
  raise_error(self->state, &error);
  return false;
}

static PyObject *feedback_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  apns_feedback_options_t options = APNS_FEEDBACK_OPTIONS_INIT;
  PyObject *credentials, *owners = NULL;
  const module_state_t *state = state_of_type(type);
  feedback_t *self = state ? object_alloc(type) : NULL;
  if (!self) return NULL;
  self->state = state;
  bool fine = object_lock_init(&self->lock, state) &&
              options_read(state, &option_table, args, keywords, &options, &credentials, &owners) &&
              open_feedback(self, &options, credentials);
  Py_XDECREF(owners);
  if (fine) return (PyObject *)self;
  Py_DECREF(self);
  return NULL;
}

static void feedback_dealloc(PyObject *object) {
  feedback_t *self = (feedback_t *)object;
  apns_feedback_free(self->feedback);
  lookup_end(&self->lookup);
  object_lock_free(&self->lock);
  object_free(object);
}

PyObject *device_make(const module_state_t *state, int64_t timestamp, const void *token,
                      size_t length) {
  PyObject *const values[] = {PyLong_FromLongLong(timestamp),
                              PyBytes_FromStringAndSize((const char *)token, (Py_ssize_t)length)};
  return tuple_make(state->device, values, 2);
}

static PyObject *feedback_next(PyObject *object) {
  feedback_t *self = (feedback_t *)object;
  int64_t deadline = clock_ms() + self->read_ms;
  for (;;) {
    apns_error_t error = APNS_ERROR_INIT;
    apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
    uint8_t token[UINT16_MAX]; /* the longest that a tuple can have */
    apns_status_t status = APNS_ERR_CLOSED;
    if (!object_lock_acquire(&self->lock, "feedback")) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    if (self->feedback) {
      status = apns_feedback_next(self->feedback, &tuple, &error);
      /* Copied, since another thread may take the next one before this one is used. */
      if (status == APNS_OK) memcpy(token, tuple.token, tuple.token_length);
    } else {
      error.status = APNS_ERR_CLOSED;
      PyOS_snprintf(error.message, sizeof error.message, "the feedback was closed");
    }
    object_lock_release(&self->lock);
    Py_END_ALLOW_THREADS;
    if (status == APNS_OK)
      return device_make(self->state, tuple.timestamp, token, tuple.token_length);
    if (status == APNS_DONE) return NULL;
    if (!was_cut(status, deadline)) return raise_error(self->state, &error);
    if (PyErr_CheckSignals()) return NULL;
  }
}

static PyObject *feedback_fileno(PyObject *object, PyObject *none) {
  feedback_t *self = (feedback_t *)object;
  (void)none;
  if (!object_lock_acquire(&self->lock, "feedback")) return NULL;
  bool is_closed = self->feedback == NULL;
  int descriptor = apns_feedback_fd(self->feedback);
  object_lock_release(&self->lock);
  return descriptor_of(self->state, "the feedback was", is_closed, descriptor);
}

static PyObject *feedback_close(PyObject *object, PyObject *none) {
  feedback_t *self = (feedback_t *)object;
  (void)none;
  if (!object_lock_acquire(&self->lock, "feedback")) return NULL;
  apns_feedback_t *feedback = self->feedback;
  self->feedback = NULL;
  object_lock_release(&self->lock);
  apns_feedback_free(feedback);
  Py_RETURN_NONE;
}

static PyObject *feedback_exit(PyObject *object, PyObject *args) {
  (void)args;
  if (!object_lock_is_of_this_process(&((feedback_t *)object)->lock)) Py_RETURN_NONE;
  return feedback_close(object, NULL);
}

static PyObject *feedback_closed(PyObject *object, void *closure) {
  (void)closure;
  return PyBool_FromLong(((feedback_t *)object)->feedback == NULL);
}

static PyStructSequence_Field device_fields[] = {
    {"timestamp",
     "When APNs or the gateway found it gone, in UNIX seconds; a later registration is valid."},
    {"token", "Its token, bytes."},
    {NULL, NULL}};

static PyStructSequence_Desc device_shape = {"libapns.Device", "A gone device. A named tuple.",
                                             device_fields, 2};

static PyMethodDef methods[] = {
    {"close", feedback_close, METH_NOARGS,
     "close($self, /)\n--\n\nCloses the connection. Closing it again does nothing."},
    {"fileno", feedback_fileno, METH_NOARGS,
     "fileno($self, /)\n--\n\n"
     "With `nonblocking`: the descriptor that becomes readable whenever iterating has something\n"
     "to do, until the feedback is closed. Never read from it or close it."},
    {"__enter__", object_enter, METH_NOARGS, "__enter__($self, /)\n--\n\nReturns itself."},
    {"__exit__", feedback_exit, METH_VARARGS,
     "__exit__($self, kind, value, trace, /)\n--\n\nCloses it."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef properties[] = {
    {"closed", feedback_closed, NULL, "Whether close() was called.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static const char doc[] =
    "Feedback(credentials, *, " FEEDBACK_SIGNATURE
    ")\n--\n\n"
    "The feedback service's list of gone devices. The constructor connects. Iterating reads the\n"
    "list, one Device at a time, and clears it at the service.\n\n" FEEDBACK_OPTIONS_TEXT
    "\n"
    "When the connection breaks, complete tuples come first, then the error, and from then\n"
    "on the same error; ProtocolError: it broke in the middle of a tuple. Other threads run\n"
    "while it waits. Ctrl-C ends the wait, and reading can continue afterwards. In a child\n"
    "process every method raises ForkedError.";

static PyType_Slot slots[] = {{Py_tp_new, feedback_new},       {Py_tp_dealloc, feedback_dealloc},
                              {Py_tp_iter, PyObject_SelfIter}, {Py_tp_iternext, feedback_next},
                              {Py_tp_getset, properties},      {Py_tp_methods, methods},
                              {Py_tp_doc, (void *)doc},        {0, NULL}};

static PyType_Spec spec = {"libapns.Feedback", sizeof(feedback_t), 0, Py_TPFLAGS_DEFAULT, slots};

bool feedback_load(module_state_t *state) {
  state->feedback = load_type(state->module, &spec);
  if (state->feedback) state->device = load_tuple_type(state->module, &device_shape);
  return state->device != NULL;
}
