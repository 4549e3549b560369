#include "core.h"

typedef struct strings {
  PyObject_HEAD apns_strings_t *strings;
  const module_state_t *state;
} strings_t;

static strings_t *strings_alloc(PyTypeObject *type) {
  const module_state_t *state = state_of_type(type);
  strings_t *self = state ? object_alloc(type) : NULL;
  if (self) self->state = state;
  return self;
}

static PyObject *strings_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"", NULL};
  apns_error_t error = APNS_ERROR_INIT;
  PyObject *given;
  char *bytes;
  Py_ssize_t length;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O:Strings", names, &given)) return NULL;
  PyObject *owner = bytes_argument(given, "strings", "bytes");
  if (!owner) return NULL;
  strings_t *self = strings_alloc(type);
  if (self && PyBytes_AsStringAndSize(owner, &bytes, &length)) Py_CLEAR(self);
  if (self) {
    apns_status_t status;
    Py_BEGIN_ALLOW_THREADS;
    status = apns_strings_new(bytes, (size_t)length, &self->strings, &error);
    Py_END_ALLOW_THREADS;
    if (status) {
      raise_error(self->state, &error);
      Py_CLEAR(self);
    }
  }
  Py_DECREF(owner);
  return (PyObject *)self;
}

static PyObject *strings_open(PyObject *type, PyObject *given) {
  apns_error_t error = APNS_ERROR_INIT;
  const char *path = NULL;
  PyObject *owner = NULL;
  if (given == Py_None) {
    PyErr_SetString(PyExc_TypeError, "file must be a path, not None");
    return NULL;
  }
  if (!path_argument(given, &path, &owner)) return NULL;
  strings_t *self = strings_alloc((PyTypeObject *)type);
  if (self) {
    apns_status_t status;
    Py_BEGIN_ALLOW_THREADS;
    status = apns_strings_open(path, &self->strings, &error);
    Py_END_ALLOW_THREADS;
    if (status) {
      raise_error(self->state, &error);
      Py_CLEAR(self);
    }
  }
  Py_DECREF(owner);
  return (PyObject *)self;
}

static void strings_dealloc(PyObject *object) {
  apns_strings_free(((strings_t *)object)->strings);
  object_free(object);
}

/* The value of a key, borrowed; NULL if the key does not exist. */
static bool look_up(strings_t *self, PyObject *key, const char **text_out, size_t *length_out) {
  apns_error_t error = APNS_ERROR_INIT;
  char *text;
  Py_ssize_t length;
  *text_out = NULL;
  PyObject *bytes = utf8_argument(key, "a key", &text, &length);
  if (!bytes) return false;
  apns_status_t status =
      apns_strings_get(self->strings, text, (size_t)length, text_out, length_out, &error);
  Py_DECREF(bytes);
  if (status == APNS_OK || status == APNS_ERR_ARGUMENT) return true;
  raise_error(self->state, &error);
  return false;
}

static PyObject *strings_get(PyObject *object, PyObject *args) {
  PyObject *key, *fallback = Py_None;
  const char *text;
  size_t length;
  if (!PyArg_ParseTuple(args, "O|O:get", &key, &fallback)) return NULL;
  if (!look_up((strings_t *)object, key, &text, &length)) return NULL;
  if (text) return PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, NULL);
  Py_INCREF(fallback);
  return fallback;
}

static PyObject *strings_item(PyObject *object, PyObject *key) {
  const char *text;
  size_t length;
  if (!look_up((strings_t *)object, key, &text, &length)) return NULL;
  if (text) return PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, NULL);
  PyErr_SetObject(PyExc_KeyError, key);
  return NULL;
}

static int strings_contains(PyObject *object, PyObject *key) {
  const char *text;
  size_t length;
  if (!look_up((strings_t *)object, key, &text, &length)) return -1;
  return text != NULL;
}

static PyObject *format_text(strings_t *self, PyObject *key, const char *const *args,
                             size_t count) {
  apns_error_t error = APNS_ERROR_INIT;
  char *name, *text;
  Py_ssize_t name_length;
  size_t length = 0;
  PyObject *bytes = utf8_argument(key, "a key", &name, &name_length), *result = NULL;
  if (!bytes) return NULL;
  apns_status_t status = apns_strings_format(self->strings, name, (size_t)name_length, args, count,
                                             NULL, 0, &length, &error);
  if (status != APNS_ERR_BUFFER_SMALL) {
    raise_error(self->state, &error);
  } else if (!(text = PyMem_Malloc(length))) {
    PyErr_NoMemory();
  } else {
    status = apns_strings_format(self->strings, name, (size_t)name_length, args, count, text,
                                 length, &length, &error);
    result = status ? raise_error(self->state, &error)
                    : PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, NULL);
    PyMem_Free(text);
  }
  Py_DECREF(bytes);
  return result;
}

static PyObject *strings_format(PyObject *object, PyObject *given) {
  Py_ssize_t count = PyTuple_Size(given) - 1;
  if (count < 0) {
    PyErr_SetString(PyExc_TypeError, "format() needs a key");
    return NULL;
  }
  PyObject *owners = PyTuple_New(count), *result = NULL;
  const char **args = PyMem_Calloc((size_t)count + 1, sizeof *args);
  bool fine = owners && args;
  if (owners && !args) PyErr_NoMemory();
  for (Py_ssize_t i = 0; fine && i < count; i++) {
    PyObject *bytes = NULL, *arg = PyTuple_GetItem(given, i + 1);
    if (arg == Py_None) {
      PyErr_SetString(PyExc_TypeError, "an argument of format() must be str, not None");
      fine = false;
    } else {
      fine = text_argument(arg, "an argument of format()", &args[i], &bytes) &&
             PyTuple_SetItem(owners, i, bytes) == 0;
    }
  }
  if (fine) {
    result = format_text((strings_t *)object, PyTuple_GetItem(given, 0), args, (size_t)count);
  }
  PyMem_Free(args);
  Py_XDECREF(owners);
  return result;
}

static PyMethodDef methods[] = {
    {"open", strings_open, METH_CLASS | METH_O,
     "open($type, file, /)\n--\n\nReads a strings file; an error names it."},
    {"get", strings_get, METH_VARARGS,
     "get($self, key, default=None, /)\n--\n\n"
     "The value of a key, or the default. strings[key] is a KeyError instead."},
    {"format", strings_format, METH_VARARGS,
     "format($self, key, /, *args)\n--\n\n"
     "The value of a key with the arguments, which are str, filled in: `%@` takes the next\n"
     "argument, `%n$@` the n-th from 1, `%%` is a percent sign. Extra arguments are ignored.\n"
     "ArgumentError: unknown key, too few arguments, or a `%` before anything else, with its\n"
     "line and column in the file."},
    {NULL, NULL, 0, NULL}};

static const char doc[] =
    "Strings(strings, /)\n--\n\n"
    "A Localizable.strings file, in which a device finds the text of a loc-key. A provider\n"
    "that has the app's file can write the text itself, or preview a loc-key. It never\n"
    "changes, and any number of threads can use it.\n\n"
    "Reads bytes, UTF-8 or UTF-16 with its byte order mark; Strings.open() reads a file.\n"
    "An error that would make a device omit something is an ArgumentError. Its message has\n"
    "line and column, counted in characters from 1.";

static PyType_Slot slots[] = {{Py_tp_new, strings_new},
                              {Py_tp_dealloc, strings_dealloc},
                              {Py_mp_subscript, strings_item},
                              {Py_sq_contains, strings_contains},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, (void *)doc},
                              {0, NULL}};

static PyType_Spec spec = {"libapns.Strings", sizeof(strings_t), 0, Py_TPFLAGS_DEFAULT, slots};

bool strings_load(module_state_t *state) {
  state->strings = load_type(state->module, &spec);
  return state->strings != NULL;
}
