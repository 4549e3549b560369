/* The class Channels: the channels of an app, which broadcasts go to. */
#include <stdlib.h>

#include "channels_options.h"
#include "core.h"

typedef struct channels {
  PyObject_HEAD apns_channels_t *channels; /* NULL: closed; with the lock */
  module_state_t *state;
  PyObject *module;    /* whose the state is */
  object_lock_t turn;  /* held for a whole request, which is made in slices */
  object_lock_t lock;  /* for a call of the library */
  unsigned long asker; /* the thread whose request is pending; 0: none */
  bool never_waits;
  PyObject *credentials;
  lookup_t *lookup;
  PyObject *log;     /* NULL: not given */
  log_lines_t lines; /* with the lock */
} channels_t;

#define OPTION(name, kind, field, words) \
  {name, OPTION_##kind, offsetof(apns_channels_options_t, field), words},
static const option_t option_list[] = {CHANNELS_OPTIONS(OPTION)};
static const option_table_t option_table = {"Channels", option_list,
                                            sizeof option_list / sizeof *option_list};

/* ---- Requests ------------------------------------------------------------------- */

typedef struct request {
  enum { CREATE, DESCRIBE, DELETE, LIST } kind;
  apns_storage_t storage;
  const char *channel_id;
  char created[APNS_CHANNEL_ID_MAX + 1];
  apns_channel_description_t described;
  char *list; /* from malloc: texts, each with a NUL */
  size_t list_length;
  apns_channels_response_t response;
} request_t;

/* Copies the list, since another thread may make a request before Python has all of it. */
static apns_status_t take_list(apns_channels_t *channels, request_t *request, apns_error_t *error) {
  const char *channel;
  size_t capacity = 0;
  while (apns_channels_next(channels, &channel) == APNS_OK) {
    size_t size = strlen(channel) + 1;
    if (size > capacity - request->list_length) {
      capacity = 2 * capacity + 4096;
      char *list = realloc(request->list, capacity);
      if (!list) return error->status = APNS_ERR_MEMORY;
      request->list = list;
    }
    memcpy(request->list + request->list_length, channel, size);
    request->list_length += size;
  }
  return APNS_OK;
}

static apns_status_t call(apns_channels_t *channels, request_t *request, apns_error_t *error) {
  apns_status_t status;
  switch (request->kind) {
    case CREATE:
      return apns_channel_create(channels, request->storage, request->created,
                                 sizeof request->created, error);
    case DESCRIBE:
      return apns_channel_describe(channels, request->channel_id, &request->described, error);
    case DELETE:
      return apns_channel_delete(channels, request->channel_id, error);
    default:
      status = apns_channels_list(channels, error);
      return status ? status : take_list(channels, request, error);
  }
}

/* One call of the library; false with an exception of who has the lock, or of a token_provider. */
static bool call_once(channels_t *self, request_t *request, apns_status_t *status_out,
                      apns_error_t *error, log_lines_t *lines) {
  if (!object_lock_acquire(&self->lock, "channels")) return false;
  PyThreadState *others = self->never_waits ? NULL : PyEval_SaveThread();
  if (self->channels) {
    *status_out = call(self->channels, request, error);
    apns_channels_response(self->channels, &request->response, NULL);
  } else {
    *status_out = error->status = APNS_ERR_CLOSED;
    PyOS_snprintf(error->message, sizeof error->message, "the channels were closed");
  }
  /* The request's lines are logged at its end, when the logger too may make requests. */
  if (*status_out != APNS_ERR_AGAIN || self->never_waits) {
    *lines = self->lines;
    self->lines = (log_lines_t){0};
  }
  object_lock_release(&self->lock);
  if (others) PyEval_RestoreThread(others);
  return !PyErr_Occurred();
}

static void cancel(channels_t *self) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  if (object_lock_acquire(&self->lock, "channels")) {
    apns_channels_cancel(self->channels);
    object_lock_release(&self->lock);
  }
  PyErr_Restore(type, value, trace);
}

static void tell_lines(channels_t *self, log_lines_t *lines) {
  PyObject *type, *value, *trace;
  if (!lines->first) return;
  PyErr_Fetch(&type, &value, &trace);
  log_lines_tell((PyObject *)self, self->state, self->log, lines);
  PyErr_Restore(type, value, trace);
}

static PyObject *response_make(const channels_t *self, const apns_channels_response_t *response) {
  if (response->http_status == 0) Py_RETURN_NONE;
  return PyObject_CallFunction(self->state->channels_response, "iissI", (int)response->http_status,
                               (int)response->reason, response->reason_text, response->request_id,
                               (unsigned)response->retry_after_s);
}

/* Raises the library's error, with APNs' response. */
static void raise_refusal(const channels_t *self, const request_t *request,
                          const apns_error_t *error) {
  PyObject *type, *value, *trace;
  raise_error(self->state, error);
  if (error->status == APNS_ERR_AGAIN || error->status == APNS_ERR_CLOSED) return;
  PyErr_Fetch(&type, &value, &trace);
  PyObject *response = response_make(self, &request->response);
  if (!response) PyErr_Clear();
  PyErr_Restore(type, value, trace);
  annotate_exception_with("response", response);
}

/* False with an exception. */
static bool ask(channels_t *self, request_t *request) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status = APNS_OK;
  const unsigned long here = PyThread_get_thread_ident();
  log_lines_t lines = {0};
  bool fine;
  request->response = (apns_channels_response_t)APNS_CHANNELS_RESPONSE_INIT;
  /* A signal handler or a finalizer makes a request during another one. */
  if (self->asker == here && object_lock_is_of_this_process(&self->turn)) {
    PyErr_SetString(PyExc_RuntimeError, "this thread has a request under way");
    return false;
  }
  if (!object_lock_acquire(&self->turn, "channels")) return false;
  self->asker = here;
  do {
    fine = call_once(self, request, &status, &error, &lines);
    if (!fine || status != APNS_ERR_AGAIN || self->never_waits) break;
    fine = PyErr_CheckSignals() == 0;
  } while (fine);
  /* Ctrl-C or an exception of a token_provider cancels the request. */
  if (!fine) cancel(self);
  self->asker = 0;
  object_lock_release(&self->turn);
  tell_lines(self, &lines);
  if (fine && status) raise_refusal(self, request, &error);
  return fine && status == APNS_OK;
}

static PyObject *channels_create(PyObject *object, PyObject *args, PyObject *keywords) {
  static char *names[] = {"storage", NULL};
  PyObject *given;
  long long storage = 0;
  request_t request = {.kind = CREATE};
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O:create", names, &given)) return NULL;
  if (given == Py_None) {
    wrong_type("storage", "libapns.Storage, int or str", given);
    return NULL;
  }
  if (!word_argument(given, "storage", storage_words, &storage)) return NULL;
  if (storage < INT32_MIN || storage > INT32_MAX) {
    PyErr_SetString(PyExc_ValueError, "storage is not an libapns.Storage");
    return NULL;
  }
  request.storage = (apns_storage_t)storage;
  return ask((channels_t *)object, &request) ? PyUnicode_FromString(request.created) : NULL;
}

/* Reads the channel's identifier, which is valid as long as `*owner_out`. */
static bool read_channel(PyObject *args, PyObject *keywords, const char *format, request_t *request,
                         PyObject **owner_out) {
  static char *names[] = {"channel_id", NULL};
  PyObject *given;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, format, names, &given)) return false;
  if (given == Py_None) return wrong_type("channel_id", "str", given);
  return text_argument(given, "channel_id", &request->channel_id, owner_out);
}

static PyObject *channels_describe(PyObject *object, PyObject *args, PyObject *keywords) {
  channels_t *self = (channels_t *)object;
  PyObject *owner = NULL, *description = NULL;
  request_t request = {.kind = DESCRIBE, .described = APNS_CHANNEL_DESCRIPTION_INIT};
  if (!read_channel(args, keywords, "O:describe", &request, &owner)) return NULL;
  if (ask(self, &request)) {
    description =
        PyObject_CallFunction(self->state->channel_description, "ii",
                              (int)request.described.storage, (int)request.described.push_type);
  }
  Py_XDECREF(owner);
  return description;
}

static PyObject *channels_delete(PyObject *object, PyObject *args, PyObject *keywords) {
  PyObject *owner = NULL;
  request_t request = {.kind = DELETE};
  if (!read_channel(args, keywords, "O:delete", &request, &owner)) return NULL;
  const bool fine = ask((channels_t *)object, &request);
  Py_XDECREF(owner);
  if (!fine) return NULL;
  Py_RETURN_NONE;
}

static PyObject *channels_list(PyObject *object, PyObject *none) {
  request_t request = {.kind = LIST};
  (void)none;
  PyObject *list = ask((channels_t *)object, &request) ? PyList_New(0) : NULL;
  for (size_t place = 0; list && place < request.list_length;) {
    PyObject *channel = PyUnicode_FromString(request.list + place);
    if (!channel || PyList_Append(list, channel)) Py_CLEAR(list);
    Py_XDECREF(channel);
    place += strlen(request.list + place) + 1;
  }
  free(request.list);
  return list;
}

/* ---- Beside requests -------------------------------------------------------------- */

static PyObject *channels_cancel(PyObject *object, PyObject *none) {
  channels_t *self = (channels_t *)object;
  (void)none;
  if (!object_lock_acquire(&self->lock, "channels")) return NULL;
  apns_channels_cancel(self->channels);
  object_lock_release(&self->lock);
  Py_RETURN_NONE;
}

static PyObject *channels_close(PyObject *object, PyObject *none) {
  channels_t *self = (channels_t *)object;
  (void)none;
  if (!object_lock_acquire(&self->lock, "channels")) return NULL;
  apns_channels_t *channels = self->channels;
  self->channels = NULL;
  object_lock_release(&self->lock);
  apns_channels_free(channels);
  Py_RETURN_NONE;
}

static PyObject *channels_fileno(PyObject *object, PyObject *none) {
  channels_t *self = (channels_t *)object;
  (void)none;
  if (!object_lock_acquire(&self->lock, "channels")) return NULL;
  const bool is_closed = self->channels == NULL;
  const int descriptor = apns_channels_fd(self->channels);
  object_lock_release(&self->lock);
  return descriptor_of(self->state, "the channels were", is_closed, descriptor);
}

static PyObject *channels_exit(PyObject *object, PyObject *args) {
  (void)args;
  if (!object_lock_is_of_this_process(&((channels_t *)object)->lock)) Py_RETURN_NONE;
  return channels_close(object, NULL);
}

static PyObject *get_closed(PyObject *object, void *closure) {
  (void)closure;
  return PyBool_FromLong(((channels_t *)object)->channels == NULL);
}

static PyObject *get_timeout(PyObject *object, void *closure) {
  channels_t *self = (channels_t *)object;
  (void)closure;
  /* A property raises nothing. */
  if (!self->never_waits || !object_lock_is_of_this_process(&self->lock)) Py_RETURN_NONE;
  if (!object_lock_acquire(&self->lock, "channels")) return NULL;
  const int32_t ms = apns_channels_timeout_ms(self->channels);
  object_lock_release(&self->lock);
  if (ms < 0) Py_RETURN_NONE;
  return PyFloat_FromDouble(ms / 1000.0);
}

static PyObject *get_response(PyObject *object, void *closure) {
  channels_t *self = (channels_t *)object;
  apns_channels_response_t response = APNS_CHANNELS_RESPONSE_INIT;
  (void)closure;
  if (!object_lock_is_of_this_process(&self->lock)) Py_RETURN_NONE;
  if (!object_lock_acquire(&self->lock, "channels")) return NULL;
  apns_channels_response(self->channels, &response, NULL);
  object_lock_release(&self->lock);
  return response_make(self, &response);
}

/* ---- Beginning and end --------------------------------------------------------------- */

static bool make(channels_t *self, PyObject *args, PyObject *keywords) {
  apns_channels_options_t options = APNS_CHANNELS_OPTIONS_INIT;
  apns_error_t error = APNS_ERROR_INIT;
  PyObject *credentials, *owners = NULL;
  PyObject *others = log_take(keywords, &self->log);
  if (PyErr_Occurred()) return false;
  bool fine =
      options_read(self->state, &option_table, args, others, &options, &credentials, &owners);
  Py_XDECREF(others);
  if (fine) {
    Py_INCREF(credentials);
    self->credentials = credentials;
    self->never_waits = options.peer.nonblocking;
    options.peer.wait_max_ms = SLICE_MS;
    options.peer.lookup = self->never_waits ? lookup_name_at_once : lookup_name;
    options.peer.lookup_context = &self->lookup;
    if (self->log) {
      options.log = log_lines_keep;
      options.log_context = &self->lines;
    }
    const apns_credentials_t *lent = credentials_lend(credentials);
    fine = lent != NULL;
    if (lent) {
      /* This call does not wait. */
      fine = apns_channels_new(&options, lent, &self->channels, &error) == APNS_OK;
      if (!fine) raise_error(self->state, &error);
      credentials_return(credentials);
    }
  }
  Py_XDECREF(owners);
  return fine;
}

static PyObject *channels_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  module_state_t *state = state_of_type(type);
  channels_t *self = state ? object_alloc(type) : NULL;
  if (!self) return NULL;
  self->state = state;
  self->module = state->module;
  Py_INCREF(self->module);
  if (object_lock_init(&self->turn, state) && object_lock_init(&self->lock, state) &&
      make(self, args, keywords)) {
    return (PyObject *)self;
  }
  Py_DECREF(self);
  return NULL;
}

/* Does not clear the credentials, like a session: their token_provider may still be called. */
static int channels_traverse(PyObject *object, visitproc visit, void *arg) {
  channels_t *self = (channels_t *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->module);
  Py_VISIT(self->credentials);
  Py_VISIT(self->log);
  return 0;
}

static int channels_clear(PyObject *object) {
  Py_CLEAR(((channels_t *)object)->log);
  return 0;
}

static void channels_dealloc(PyObject *object) {
  channels_t *self = (channels_t *)object;
  PyObject_GC_UnTrack(object);
  apns_channels_free(self->channels);
  log_lines_free(&self->lines);
  lookup_end(&self->lookup);
  object_lock_free(&self->turn);
  object_lock_free(&self->lock);
  Py_XDECREF(self->log);
  Py_XDECREF(self->credentials);
  Py_DECREF(self->module);
  object_free(object);
}

static PyMethodDef methods[] = {
    {"create", (PyCFunction)(void (*)(void))channels_create, METH_VARARGS | METH_KEYWORDS,
     "create($self, /, storage)\n--\n\n"
     "Creates a channel and returns its identifier, a text.\n\n"
     "storage\n"
     "    A Storage, or \"none\" or \"latest\": whether the latest update is kept for devices "
     "that\n"
     "    subscribe to the channel later.\n\n"
     "InDoubtError: there was no response, and the channel may have been created. The request\n"
     "is not repeated: look at list()."},
    {"describe", (PyCFunction)(void (*)(void))channels_describe, METH_VARARGS | METH_KEYWORDS,
     "describe($self, /, channel_id)\n--\n\nReturns the channel's options: a ChannelDescription."},
    {"delete", (PyCFunction)(void (*)(void))channels_delete, METH_VARARGS | METH_KEYWORDS,
     "delete($self, /, channel_id)\n--\n\nDeletes a channel."},
    {"list", channels_list, METH_NOARGS,
     "list($self, /)\n--\n\nThe identifiers of all channels of the app."},
    {"cancel", channels_cancel, METH_NOARGS,
     "cancel($self, /)\n--\n\n"
     "With `nonblocking`: abandons the pending request and closes its connection. APNs may\n"
     "carry out the request nevertheless."},
    {"close", channels_close, METH_NOARGS,
     "close($self, /)\n--\n\nCloses the connection. Closing it again does nothing."},
    {"fileno", channels_fileno, METH_NOARGS,
     "fileno($self, /)\n--\n\n"
     "With `nonblocking`: the descriptor that becomes readable whenever the pending request\n"
     "has something to do. Then make the same call again. Never read from it or close it."},
    {"__enter__", object_enter, METH_NOARGS, "__enter__($self, /)\n--\n\nReturns itself."},
    {"__exit__", channels_exit, METH_VARARGS,
     "__exit__($self, kind, value, trace, /)\n--\n\nCloses it."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef properties[] = {
    {"closed", get_closed, NULL, "Whether close() was called.", NULL},
    {"timeout", get_timeout, NULL,
     "With `nonblocking`: in how many seconds the pending request is due, 0: now; None: not\n"
     "before the descriptor is readable. It becomes readable at that time automatically.",
     NULL},
    {"response", get_response, NULL,
     "The response to the last request, a ChannelsResponse; None without a response.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static const char doc[] =
    "Channels(credentials, *, " CHANNELS_SIGNATURE
    ", log=None)\n--\n\n"
    "The channels of an app, for broadcasts: see Session.send(). The first request connects.\n"
    "Times are seconds; None and 0 mean the default.\n\n" CHANNELS_OPTIONS_TEXT
    "log\n"
    "    As in Session.\n\n"
    "RejectedError: APNs rejected the request; see its `reason` and `response`. After a lost\n"
    "connection a request is repeated, except create(). Any number of threads may use it, one\n"
    "request at a time; the others wait. Ctrl-C ends the wait and abandons the request, which\n"
    "APNs may carry out nevertheless. In a child process every method raises ForkedError.";

static PyType_Slot slots[] = {{Py_tp_new, channels_new},
                              {Py_tp_dealloc, channels_dealloc},
                              {Py_tp_traverse, channels_traverse},
                              {Py_tp_clear, channels_clear},
                              {Py_tp_getset, properties},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, (void *)doc},
                              {0, NULL}};

static PyType_Spec spec = {"libapns.Channels", sizeof(channels_t), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

bool channels_load(module_state_t *state) {
  state->channel_description = load_attribute("libapns._channels", "description");
  state->channels_response = load_attribute("libapns._channels", "response");
  if (!state->channel_description || !state->channels_response) return false;
  state->channels = load_type(state->module, &spec);
  return state->channels != NULL;
}
