/* Python's arguments as C values, or an exception that names the argument. */
#include <math.h>

#include "core.h"

bool wrong_type(const char *name, const char *expected, PyObject *given) {
  PyObject *type = PyObject_GetAttrString((PyObject *)Py_TYPE(given), "__name__");
  if (type) PyErr_Format(PyExc_TypeError, "%s must be %s, not %U", name, expected, type);
  Py_XDECREF(type);
  return false;
}

PyObject *utf8_of(PyObject *text, const char *name) {
  PyObject *bytes = PyUnicode_AsUTF8String(text);
  if (!bytes && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
    /* Python's own exception has the text, which may be a passphrase, in its repr. */
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError, "%s has a lone surrogate in it", name);
  }
  return bytes;
}

PyObject *utf8_argument(PyObject *given, const char *name, char **bytes_out,
                        Py_ssize_t *length_out) {
  if (!PyUnicode_Check(given)) {
    PyErr_Format(PyExc_TypeError, "%s must be str", name);
    return NULL;
  }
  PyObject *bytes = PyUnicode_AsUTF8String(given);
  if (bytes && PyBytes_AsStringAndSize(bytes, bytes_out, length_out)) Py_CLEAR(bytes);
  return bytes;
}

PyObject *quoted(PyObject *text) {
  char *bytes;
  Py_ssize_t length;
  PyObject *encoded = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
  if (!encoded || PyBytes_AsStringAndSize(encoded, &bytes, &length)) {
    Py_XDECREF(encoded);
    return NULL;
  }
  const char *why = apns_why_unquoted(bytes, (size_t)length);
  Py_DECREF(encoded);
  return why ? PyUnicode_FromFormat("(%zd bytes, not shown: %s)", length, why)
             : PyObject_Repr(text);
}

bool text_argument(PyObject *given, const char *name, const char **text_out, PyObject **owner_out) {
  char *text;
  Py_ssize_t length;
  if (!given || given == Py_None) return true;
  if (!PyUnicode_Check(given)) return wrong_type(name, "str or None", given);
  PyObject *bytes = utf8_of(given, name);
  if (!bytes || PyBytes_AsStringAndSize(bytes, &text, &length)) {
    Py_XDECREF(bytes);
    return false;
  }
  if ((size_t)length != strlen(text)) {
    Py_DECREF(bytes);
    PyErr_Format(PyExc_ValueError, "%s has a NUL in it", name);
    return false;
  }
  *text_out = text;
  *owner_out = bytes;
  return true;
}

bool texts_argument(PyObject *given, const char *name, const char **texts, size_t capacity,
                    size_t *count_out, PyObject **owner_out) {
  if (!given || given == Py_None) return true;
  /* A text is a sequence of texts too. */
  if (!PyList_Check(given) && !PyTuple_Check(given))
    return wrong_type(name, "a list or tuple of str, or None", given);
  PyObject *all = PySequence_Tuple(given), *owners = PyList_New(0);
  Py_ssize_t length = all ? PyTuple_Size(all) : 0;
  bool fine = all && owners;
  for (Py_ssize_t i = 0; fine && i < length && (size_t)i < capacity; i++) {
    PyObject *one = PyTuple_GetItem(all, i), *owner = NULL;
    fine = PyUnicode_Check(one) ? text_argument(one, name, texts + i, &owner)
                                : wrong_type(name, "a list or tuple of str, or None", given);
    fine = fine && PyList_Append(owners, owner) == 0;
    Py_XDECREF(owner);
  }
  *count_out = (size_t)length < capacity ? (size_t)length : capacity;
  Py_XDECREF(all);
  *owner_out = owners;
  return fine;
}

bool path_argument(PyObject *given, const char **path_out, PyObject **owner_out) {
  if (!given || given == Py_None) return true;
  if (!PyUnicode_FSConverter(given, owner_out)) return false;
  *path_out = PyBytes_AsString(*owner_out);
  return *path_out != NULL;
}

bool integer_argument(PyObject *given, const char *name, long long least, long long most,
                      long long *value_out) {
  if (!given || given == Py_None) return true;
  if (!PyLong_Check(given)) return wrong_type(name, "int", given);
  int overflow;
  long long value = PyLong_AsLongLongAndOverflow(given, &overflow);
  if (value == -1 && PyErr_Occurred()) return false;
  if (overflow || value < least || value > most) {
    PyErr_Format(PyExc_ValueError, "%s is not between %lld and %lld", name, least, most);
    return false;
  }
  *value_out = value;
  return true;
}

bool word_argument(PyObject *given, const char *name, const char *const *words,
                   long long *value_out) {
  if (!given || !PyUnicode_Check(given)) {
    return integer_argument(given, name, INT32_MIN, INT32_MAX, value_out);
  }
  for (size_t i = 0; words[i]; i++) {
    if (PyUnicode_CompareWithASCIIString(given, words[i]) == 0) {
      *value_out = (long long)i;
      return true;
    }
  }
  PyObject *shown = quoted(given);
  if (shown) PyErr_Format(PyExc_ValueError, "unknown %s: %U", name, shown);
  Py_XDECREF(shown);
  return false;
}

static bool milliseconds(PyObject *given, const char *name, double most, double *ms_out) {
  if (!PyFloat_Check(given) && !PyLong_Check(given)) {
    return wrong_type(name, "a number of seconds or None", given);
  }
  double seconds = PyFloat_AsDouble(given);
  if (seconds == -1 && PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return false;
    PyErr_Clear();
    seconds = HUGE_VAL;
  }
  if (!(seconds >= 0)) {
    PyErr_Format(PyExc_ValueError, "%s is negative or not a number", name);
    return false;
  }
  *ms_out = ceil(seconds * 1000);
  if (*ms_out > most) *ms_out = most;
  return true;
}

bool option_ms_argument(PyObject *given, const char *name, uint32_t *ms_out) {
  double ms;
  if (!given || given == Py_None) return true;
  if (!milliseconds(given, name, UINT32_MAX, &ms)) return false;
  if (ms == 0) {
    PyErr_Format(PyExc_ValueError, "%s is 0; None is the default", name);
    return false;
  }
  *ms_out = (uint32_t)ms;
  return true;
}

/* No limit. */
static bool is_minus_one(PyObject *given) {
  const bool is_one = PyNumber_Check(given) && PyFloat_AsDouble(given) == -1;
  const bool failed = PyErr_Occurred() != NULL;
  PyErr_Clear(); /* such as of a number that is too large */
  return is_one && !failed;
}

bool seconds_or_none_argument(PyObject *given, const char *name, int32_t *ms_out) {
  uint32_t ms = 0;
  if (!given || given == Py_None) return true;
  if (is_minus_one(given)) {
    *ms_out = -1;
    return true;
  }
  if (!option_ms_argument(given, name, &ms)) return false;
  *ms_out = ms > INT32_MAX ? INT32_MAX : (int32_t)ms;
  return true;
}

bool timeout_argument(PyObject *given, const char *name, int32_t *ms_out) {
  double ms = -1;
  if (given && given != Py_None && !milliseconds(given, name, INT32_MAX, &ms)) return false;
  *ms_out = (int32_t)ms;
  return true;
}

bool call_timeout_argument(PyObject *given, int32_t *ms_out) {
  const bool is_endless = given && is_minus_one(given);
  if (is_endless) *ms_out = INT32_MAX; /* 24 days */
  return is_endless || timeout_argument(given, "timeout", ms_out);
}

PyObject *bytes_argument(PyObject *given, const char *name, const char *expected) {
  if (PyBytes_CheckExact(given)) {
    Py_INCREF(given);
    return given;
  }
  /* A copy, since another thread may write to the object while the library reads. */
  PyObject *view = PyMemoryView_FromObject(given);
  if (!view) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) return NULL;
    PyErr_Clear();
    wrong_type(name, expected, given);
    return NULL;
  }
  PyObject *bytes = PyBytes_FromObject(view);
  Py_DECREF(view);
  return bytes;
}
