#include "core.h"

typedef apns_status_t (*reader_t)(const char *, size_t, uint8_t *, size_t, size_t *,
                                  apns_error_t *);
typedef apns_status_t (*writer_t)(const void *, size_t, char *, size_t, size_t *, apns_error_t *);

static bool read_text(const module_state_t *state, PyObject *text, reader_t reader, uint8_t *buffer,
                      size_t *length_out) {
  apns_error_t error = APNS_ERROR_INIT;
  char *bytes;
  Py_ssize_t count;
  PyObject *utf8 = PyUnicode_AsUTF8String(text);
  if (!utf8) return false;
  bool fine = PyBytes_AsStringAndSize(utf8, &bytes, &count) == 0;
  /* A line of a file comes with its end. */
  if (fine && count > 0 && bytes[count - 1] == '\n') count--;
  if (fine && count > 0 && bytes[count - 1] == '\r') count--;
  if (fine && reader(bytes, (size_t)count, buffer, APNS_TOKEN_MAX, length_out, &error)) {
    raise_error(state, &error);
    fine = false;
  }
  Py_DECREF(utf8);
  return fine;
}

/* As short as the hex of no device's token is. */
#define HEX_LEAST 64

bool token_check(const module_state_t *state, const void *token, size_t length) {
  const uint8_t *bytes = token;
  size_t digits = 0;
  if (length < HEX_LEAST) return true;
  for (size_t i = 0; i < length; i++) {
    uint8_t byte = bytes[i];
    uint8_t letter = byte | 0x20;
    if ((byte >= '0' && byte <= '9') || (letter >= 'a' && letter <= 'f')) {
      digits++;
    } else if (!strchr("<> ", byte) || byte == 0) {
      return true;
    }
  }
  if (digits < HEX_LEAST || digits % 2) return true;
  apns_error_t error = APNS_ERROR_INIT;
  error.status = APNS_ERR_ARGUMENT;
  error.reject = APNS_REJECT_INVALID_TOKEN;
  PyOS_snprintf(error.message, sizeof error.message,
                "the token is %d hex digits as bytes, not the %d"
                " bytes that they represent: pass them as str",
                (int)digits, (int)(digits / 2));
  raise_error(state, &error);
  return false;
}

bool token_argument(const module_state_t *state, PyObject *given, uint8_t *buffer,
                    const void **token_out, size_t *length_out, PyObject **owner_out) {
  char *bytes;
  Py_ssize_t count;
  if (PyUnicode_Check(given)) {
    *token_out = buffer;
    return read_text(state, given, apns_token_from_hex, buffer, length_out);
  }
  PyObject *owner = bytes_argument(given, "token", "bytes, or hex in a str");
  if (!owner) return false;
  if (PyBytes_AsStringAndSize(owner, &bytes, &count) || !token_check(state, bytes, (size_t)count)) {
    Py_DECREF(owner);
    return false;
  }
  *token_out = bytes;
  *length_out = (size_t)count;
  *owner_out = owner;
  return true;
}

static PyObject *from_text(PyObject *module, PyObject *text, reader_t reader) {
  uint8_t buffer[APNS_TOKEN_MAX];
  size_t length = 0;
  if (!PyUnicode_Check(text)) {
    PyErr_SetString(PyExc_TypeError, "the text of a token must be str");
    return NULL;
  }
  if (!read_text(state_of_module(module), text, reader, buffer, &length)) return NULL;
  return PyBytes_FromStringAndSize((const char *)buffer, (Py_ssize_t)length);
}

static PyObject *to_text(PyObject *module, PyObject *token, writer_t writer) {
  const module_state_t *state = state_of_module(module);
  apns_error_t error = APNS_ERROR_INIT;
  size_t length = 0;
  char *bytes, *text;
  Py_ssize_t count;
  PyObject *result = NULL, *owner = bytes_argument(token, "token", "bytes");
  if (!owner) return NULL;
  if (PyBytes_AsStringAndSize(owner, &bytes, &count) == 0 &&
      token_check(state, bytes, (size_t)count)) {
    apns_status_t status = writer(bytes, (size_t)count, NULL, 0, &length, &error);
    if (status != APNS_ERR_BUFFER_SMALL) {
      raise_error(state, &error);
    } else if (!(text = PyMem_Malloc(length))) {
      PyErr_NoMemory();
    } else {
      if (writer(bytes, (size_t)count, text, length, &length, &error)) {
        raise_error(state, &error);
      } else {
        result = PyUnicode_FromStringAndSize(text, (Py_ssize_t)length);
      }
      PyMem_Free(text);
    }
  }
  Py_DECREF(owner);
  return result;
}

static PyObject *from_hex(PyObject *module, PyObject *text) {
  return from_text(module, text, apns_token_from_hex);
}
static PyObject *from_base64(PyObject *module, PyObject *text) {
  return from_text(module, text, apns_token_from_base64);
}
static PyObject *to_hex(PyObject *module, PyObject *token) {
  return to_text(module, token, apns_token_to_hex);
}
static PyObject *to_base64(PyObject *module, PyObject *token) {
  return to_text(module, token, apns_token_to_base64);
}

PyMethodDef token_functions[] = {
    {"token_from_hex", from_hex, METH_O,
     "token_from_hex(text, /)\n--\n\n"
     "A device token from hex: either case, with the angle brackets and spaces in\n"
     "which NSData prints it.\n\n"
     "ArgumentError names the character that is not hex, and its position from 0."},
    {"token_to_hex", to_hex, METH_O,
     "token_to_hex(token, /)\n--\n\nA device token as lowercase hex."},
    {"token_from_base64", from_base64, METH_O,
     "token_from_base64(text, /)\n--\n\n"
     "A device token from base64: the standard alphabet, with or without padding, and\n"
     "without spaces or line breaks."},
    {"token_to_base64", to_base64, METH_O,
     "token_to_base64(token, /)\n--\n\nA device token as base64 with its padding."},
    {NULL, NULL, 0, NULL}};
