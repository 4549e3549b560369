/*
 * JSON of dict, list, str and numbers: byte for byte what json.dumps(value,
 * ensure_ascii=False, separators=(",", ":"), allow_nan=False) is in UTF-8, for a fraction
 * of its cost. Tests/Python/test_json.py compares the two.
 */
#include <math.h>

#include "core.h"

/* As in the library's own reader. The limit of json.dumps() depends on the version. */
#define DEEPEST 512
#define INTEGER_MAX 20 /* characters of a long long */

/* ---- The text so far ----------------------------------------------------------- */

typedef struct text {
  char *bytes;
  size_t length, capacity;
  char small[APNS_PAYLOAD_MAX_FRAMED]; /* enough for most, without an allocation */
} text_t;

static bool grow(text_t *text, size_t more) {
  size_t capacity = text->capacity;
  while (capacity - text->length < more) {
    if (capacity > PY_SSIZE_T_MAX / 2) {
      PyErr_NoMemory();
      return false;
    }
    capacity *= 2;
  }
  bool is_small = text->bytes == text->small;
  char *bytes = PyMem_Realloc(is_small ? NULL : text->bytes, capacity);
  if (!bytes) {
    PyErr_NoMemory();
    return false;
  }
  if (is_small) memcpy(bytes, text->small, text->length);
  text->bytes = bytes;
  text->capacity = capacity;
  return true;
}

static inline bool reserve(text_t *text, size_t more) {
  return text->capacity - text->length >= more || grow(text, more);
}

static inline bool put(text_t *text, const char *bytes, size_t length) {
  if (!reserve(text, length)) return false;
  memcpy(text->bytes + text->length, bytes, length);
  text->length += length;
  return true;
}

static inline bool put_byte(text_t *text, char byte) {
  if (!reserve(text, 1)) return false;
  text->bytes[text->length++] = byte;
  return true;
}

/* ---- Strings ----------------------------------------------------------------------- */

/* Always looks at all bytes, so that the compiler can look at many at once. */
static bool is_plain(const char *bytes, size_t length) {
  unsigned char odd = 0;
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)bytes[i];
    odd |= (unsigned char)((byte < 0x20) | (byte == '"') | (byte == '\\'));
  }
  return !odd;
}

static void escape(text_t *text, unsigned char byte) {
  static const char digits[] = "0123456789abcdef";
  static const char names[0x20] = {
      ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
  char *out = text->bytes + text->length;
  char name = byte < 0x20 ? names[byte] : (char)byte;
  *out++ = '\\';
  if (name) {
    *out++ = name;
  } else {
    *out++ = 'u', *out++ = '0', *out++ = '0';
    *out++ = digits[byte >> 4], *out++ = digits[byte & 15];
  }
  text->length = (size_t)(out - text->bytes);
}

static bool put_utf8(text_t *text, const char *bytes, size_t length) {
  if (is_plain(bytes, length)) {
    if (!reserve(text, length + 2)) return false;
    text->bytes[text->length++] = '"';
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
  } else {
    if (length > (PY_SSIZE_T_MAX - 2) / 6) {
      PyErr_NoMemory();
      return false;
    }
    if (!reserve(text, length * 6 + 2)) return false;
    text->bytes[text->length++] = '"';
    for (size_t i = 0; i < length; i++) {
      if (is_plain(bytes + i, 1)) {
        text->bytes[text->length++] = bytes[i];
      } else {
        escape(text, (unsigned char)bytes[i]);
      }
    }
  }
  text->bytes[text->length++] = '"';
  return true;
}

/* Half of a surrogate pair is a UnicodeEncodeError. */
static bool put_string(text_t *text, PyObject *string) {
  char *bytes;
  Py_ssize_t length;
  PyObject *utf8 = PyUnicode_AsUTF8String(string);
  bool fine = utf8 && PyBytes_AsStringAndSize(utf8, &bytes, &length) == 0 &&
              put_utf8(text, bytes, (size_t)length);
  Py_XDECREF(utf8);
  return fine;
}

/* ---- Numbers ----------------------------------------------------------------------- */

static bool put_long_integer(text_t *text, PyObject *integer) {
  char *bytes;
  Py_ssize_t length;
  /* As int.__repr__() writes it, even for a subclass that overrides it. */
  PyObject *repr = PyNumber_ToBase(integer, 10);
  PyObject *utf8 = repr ? PyUnicode_AsUTF8String(repr) : NULL;
  bool fine = utf8 && PyBytes_AsStringAndSize(utf8, &bytes, &length) == 0 &&
              put(text, bytes, (size_t)length);
  Py_XDECREF(utf8);
  Py_XDECREF(repr);
  return fine;
}

static bool put_integer(text_t *text, PyObject *integer) {
  int overflow;
  long long value = PyLong_AsLongLongAndOverflow(integer, &overflow);
  if (overflow) return put_long_integer(text, integer);
  if (value == -1 && PyErr_Occurred()) return false;
  char digits[INTEGER_MAX], *first = digits + sizeof digits;
  unsigned long long rest = value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value;
  do {
    *--first = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest);
  if (value < 0) *--first = '-';
  return put(text, first, (size_t)(digits + sizeof digits - first));
}

static bool put_double(text_t *text, PyObject *number) {
  double value = PyFloat_AsDouble(number);
  if (value == -1 && PyErr_Occurred()) return false;
  if (!isfinite(value)) {
    PyErr_Format(PyExc_ValueError, "Out of range float values are not JSON compliant: %s",
                 isnan(value) ? "nan"
                 : value > 0  ? "inf"
                              : "-inf");
    return false;
  }
  char *repr = PyOS_double_to_string(value, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
  if (!repr) return false;
  bool fine = put(text, repr, strlen(repr));
  PyMem_Free(repr);
  return fine;
}

/* ---- What has others in it ---------------------------------------------------------- */

/* A container that is being written, and those around it. */
typedef struct level {
  const struct level *above;
  PyObject *container;
  int depth;
} level_t;

static bool put_value(text_t *text, PyObject *value, const level_t *above);

static bool not_json(const char *format, PyObject *value) {
  PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(value), "__name__");
  if (name) PyErr_Format(PyExc_TypeError, format, name);
  Py_XDECREF(name);
  return false;
}

/* Always in quotes. */
static bool put_key(text_t *text, PyObject *key) {
  if (PyUnicode_Check(key)) return put_string(text, key);
  if (key == Py_None) return put(text, "\"null\"", 6);
  if (key == Py_True) return put(text, "\"true\"", 6);
  if (key == Py_False) return put(text, "\"false\"", 7);
  bool is_float = PyFloat_Check(key);
  if (!is_float && !PyLong_Check(key)) {
    return not_json("keys must be str, int, float, bool or None, not %U", key);
  }
  return put_byte(text, '"') && (is_float ? put_double(text, key) : put_integer(text, key)) &&
         put_byte(text, '"');
}

static bool put_pair(text_t *text, PyObject *key, PyObject *value, bool is_first,
                     const level_t *level) {
  return (is_first || put_byte(text, ',')) && put_key(text, key) && put_byte(text, ':') &&
         put_value(text, value, level);
}

static bool put_plain_dict(text_t *text, PyObject *dict, const level_t *level) {
  PyObject *key, *value;
  Py_ssize_t place = 0, size = PyDict_Size(dict);
  for (bool is_first = true; PyDict_Next(dict, &place, &key, &value); is_first = false) {
    /* Writing them may run Python code, which may remove both from the dict. */
    Py_INCREF(key);
    Py_INCREF(value);
    bool fine = put_pair(text, key, value, is_first, level);
    Py_DECREF(key);
    Py_DECREF(value);
    if (!fine) return false;
    if (PyDict_Size(dict) != size) {
      PyErr_SetString(PyExc_RuntimeError, "dictionary changed size during iteration");
      return false;
    }
  }
  return true;
}

/* Its items() gives contents and order. */
static bool put_other_dict(text_t *text, PyObject *dict, const level_t *level) {
  PyObject *items = PyMapping_Items(dict);
  bool fine = items != NULL;
  for (Py_ssize_t i = 0; fine && i < PyList_Size(items); i++) {
    PyObject *item = PyList_GetItem(items, i);
    fine = item && PyTuple_Check(item) && PyTuple_Size(item) == 2;
    if (!fine) {
      PyErr_SetString(PyExc_ValueError, "items must return 2-tuples");
      break;
    }
    Py_INCREF(item);
    fine = put_pair(text, PyTuple_GetItem(item, 0), PyTuple_GetItem(item, 1), i == 0, level);
    Py_DECREF(item);
  }
  Py_XDECREF(items);
  return fine;
}

static bool put_dict(text_t *text, PyObject *dict, const level_t *level) {
  if (PyDict_Size(dict) == 0) return put(text, "{}", 2);
  return put_byte(text, '{') &&
         (PyDict_CheckExact(dict) ? put_plain_dict(text, dict, level)
                                  : put_other_dict(text, dict, level)) &&
         put_byte(text, '}');
}

static bool put_sequence(text_t *text, PyObject *given, const level_t *level) {
  /* The iterator of a subclass gives its contents. */
  PyObject *sequence = PySequence_Fast(given, "a list or tuple cannot be iterated over");
  if (!sequence) return false;
  bool is_list = PyList_CheckExact(sequence);
  bool fine = put_byte(text, '[');
  for (Py_ssize_t i = 0; fine && i < (is_list ? PyList_Size(sequence) : PyTuple_Size(sequence));
       i++) {
    PyObject *value = is_list ? PyList_GetItem(sequence, i) : PyTuple_GetItem(sequence, i);
    Py_INCREF(value);
    fine = (i == 0 || put_byte(text, ',')) && put_value(text, value, level);
    Py_DECREF(value);
  }
  Py_DECREF(sequence);
  return fine && put_byte(text, ']');
}

static bool put_container(text_t *text, PyObject *container, const level_t *above) {
  level_t level = {above, container, above ? above->depth + 1 : 1};
  for (; above; above = above->above) {
    if (above->container != container) continue;
    PyErr_SetString(PyExc_ValueError, "Circular reference detected");
    return false;
  }
  if (level.depth > DEEPEST) {
    PyErr_Format(PyExc_RecursionError, "JSON is nested more than %d deep", DEEPEST);
    return false;
  }
  /* Python code that this runs may call this function again. */
  if (Py_EnterRecursiveCall(" while encoding a JSON object")) return false;
  bool fine = PyDict_Check(container) ? put_dict(text, container, &level)
                                      : put_sequence(text, container, &level);
  Py_LeaveRecursiveCall();
  return fine;
}

static bool put_value(text_t *text, PyObject *value, const level_t *above) {
  if (PyUnicode_Check(value)) return put_string(text, value);
  if (value == Py_None) return put(text, "null", 4);
  if (value == Py_True) return put(text, "true", 4);
  if (value == Py_False) return put(text, "false", 5);
  if (PyLong_Check(value)) return put_integer(text, value);
  if (PyFloat_Check(value)) return put_double(text, value);
  if (PyDict_Check(value) || PyList_Check(value) || PyTuple_Check(value)) {
    return put_container(text, value, above);
  }
  return not_json("Object of type %U is not JSON serializable", value);
}

PyObject *json_bytes(PyObject *value) {
  text_t text;
  text.bytes = text.small;
  text.length = 0;
  text.capacity = sizeof text.small;
  PyObject *bytes = NULL;
  if (put_value(&text, value, NULL)) {
    bytes = PyBytes_FromStringAndSize(text.bytes, (Py_ssize_t)text.length);
  }
  if (text.bytes != text.small) PyMem_Free(text.bytes);
  return bytes;
}
