#include "session.h"
#ifdef APNS_OPENSSL_LIBRARY
#include "loaded.h"
#endif

static PyObject *version(PyObject *module, PyObject *none) {
  (void)module, (void)none;
  return PyUnicode_FromString(apns_version());
}

/* A function of the library that takes a number, as a function of Python. */
#define OF_NUMBER(function, argument, type, as_python)                                  \
  static PyObject *function(PyObject *module, PyObject *given) {                        \
    long long number = 0;                                                               \
    (void)module;                                                                       \
    if (!integer_argument(given, argument, INT32_MIN, INT32_MAX, &number)) return NULL; \
    return as_python(apns_##function((type)number));                                    \
  }
OF_NUMBER(reject_text, "reject", apns_reject_t, PyUnicode_FromString)
OF_NUMBER(reason_text, "reason", apns_reason_t, PyUnicode_FromString)
OF_NUMBER(reason_http_status, "reason", apns_reason_t, PyLong_FromLong)
OF_NUMBER(push_type_text, "push_type", apns_push_type_t, PyUnicode_FromString)
OF_NUMBER(status_name, "status", apns_status_t, PyUnicode_FromString)
OF_NUMBER(status_is_retryable, "status", apns_status_t, PyBool_FromLong)

static PyObject *encode_json(PyObject *module, PyObject *value) {
  (void)module;
  return json_bytes(value);
}

static PyMethodDef functions[] = {
    {"version", version, METH_NOARGS,
     "version()\n--\n\nThe version of the C library in use, \"0.2.0\"."},
    {"reject_text", reject_text, METH_O,
     "reject_text(reject, /)\n--\n\nThe status in words, such as \"invalid token\"."},
    {"reason_text", reason_text, METH_O,
     "reason_text(reason, /)\n--\n\nThe reason as APNs writes it, such as \"BadDeviceToken\"."},
    {"reason_http_status", reason_http_status, METH_O,
     "reason_http_status(reason, /)\n--\n\n"
     "The HTTP status that APNs returns with this reason, such as 400; 0 without a status."},
    {"push_type_text", push_type_text, METH_O,
     "push_type_text(push_type, /)\n--\n\nThe type as APNs reads it, such as \"alert\"."},
    {"status_name", status_name, METH_O,
     "status_name(status, /)\n--\n\nThe C name of a status, such as \"APNS_ERR_TIMEOUT\"."},
    {"status_is_retryable", status_is_retryable, METH_O,
     "status_is_retryable(status, /)\n--\n\n"
     "Whether the same call may succeed later without a change by the caller."},
    {"describe", event_describe, METH_VARARGS,
     "describe(kind, reject, reason, http_status, reason_text, /)\n--\n\n"
     "The text of an Event, as str() returns it."},
    {"has_invalid_token", event_has_invalid_token, METH_VARARGS,
     "has_invalid_token(kind, reject, reason, http_status, /)\n--\n\n"
     "What Event.has_invalid_token is."},
    {"encode_json", encode_json, METH_O,
     "encode_json(value, /)\n--\n\n"
     "The JSON that send() makes from a dict, as bytes: the same as json.dumps() with\n"
     "ensure_ascii=False, separators=(\",\", \":\") and allow_nan=False."},
    {"end_sessions", sessions_end, METH_NOARGS,
     "end_sessions()\n--\n\nEnds the sessions that are not closed, each within its close_timeout."},
    {NULL, NULL, 0, NULL}};

static int load(PyObject *module) {
  module_state_t *state = state_of_module(module);
  state->module = module;
#ifdef APNS_OPENSSL_LIBRARY
  const char *failure = openssl_load();
  if (failure) {
    PyErr_SetString(PyExc_ImportError, failure);
    return -1;
  }
#endif
  bool fine = PyModule_AddFunctions(module, token_functions) == 0 &&
              PyModule_AddFunctions(module, payload_functions) == 0 && errors_load(state) &&
              event_load(state) && credentials_load(state) && payload_load(state) &&
              strings_load(state) && session_load(state) && feedback_load(state) &&
              channels_load(state);
  return fine ? 0 : -1;
}

/* Py_mod_multiple_interpreters and Py_MOD_PER_INTERPRETER_GIL_SUPPORTED of Python 3.12, which
   the limited API of 3.9 does not have, and older ones refuse. */
#define SLOT_MULTIPLE_INTERPRETERS 3
#define OWN_LOCK_SUPPORTED ((void *)2)

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)load}, {0, NULL}};
static PyModuleDef_Slot slots_from_3_12[] = {
    {Py_mod_exec, (void *)load}, {SLOT_MULTIPLE_INTERPRETERS, OWN_LOCK_SUPPORTED}, {0, NULL}};

PyMODINIT_FUNC PyInit__core(void) {
  PyObject *version = PySys_GetObject("hexversion"); /* borrowed */
  const bool is_from_3_12 = version && PyLong_AsLong(version) >= 0x030c0000;
  module_definition.m_methods = functions;
  module_definition.m_slots = is_from_3_12 ? slots_from_3_12 : slots;
  return PyModuleDef_Init(&module_definition);
}
