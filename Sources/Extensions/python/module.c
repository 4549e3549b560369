#include "core.h"

void *object_alloc(PyTypeObject *type) {
  allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  return alloc(type, 0);
}

void object_free(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(object);
  Py_DECREF(type);
}

PyTypeObject *load_type(PyObject *module, PyType_Spec *spec) {
  PyObject *type = PyType_FromSpec(spec);
  if (!type) return NULL;
  Py_INCREF(type);
  if (PyModule_AddObject(module, strrchr(spec->name, '.') + 1, type)) {
    Py_DECREF(type);
    Py_DECREF(type);
    return NULL;
  }
  return (PyTypeObject *)type;
}

static PyObject *version(PyObject *module, PyObject *none) {
  (void)module, (void)none;
  return PyUnicode_FromString(apns_version());
}

static PyObject *reject_text(PyObject *module, PyObject *given) {
  long long number = 0;
  (void)module;
  if (!integer_argument(given, "reject", INT32_MIN, INT32_MAX, &number)) return NULL;
  return PyUnicode_FromString(apns_reject_text((apns_reject_t)number));
}

static PyObject *reason_text(PyObject *module, PyObject *given) {
  long long number = 0;
  (void)module;
  if (!integer_argument(given, "reason", INT32_MIN, INT32_MAX, &number)) return NULL;
  return PyUnicode_FromString(apns_reason_text((apns_reason_t)number));
}

static PyObject *reason_http_status(PyObject *module, PyObject *given) {
  long long number = 0;
  (void)module;
  if (!integer_argument(given, "reason", INT32_MIN, INT32_MAX, &number)) return NULL;
  return PyLong_FromLong(apns_reason_http_status((apns_reason_t)number));
}

static PyObject *push_type_text(PyObject *module, PyObject *given) {
  long long number = 0;
  (void)module;
  if (!integer_argument(given, "push_type", INT32_MIN, INT32_MAX, &number)) return NULL;
  return PyUnicode_FromString(apns_push_type_text((apns_push_type_t)number));
}

static PyObject *status_name(PyObject *module, PyObject *given) {
  long long number = 0;
  (void)module;
  if (!integer_argument(given, "status", INT32_MIN, INT32_MAX, &number)) return NULL;
  return PyUnicode_FromString(apns_status_name((apns_status_t)number));
}

static PyObject *status_is_retryable(PyObject *module, PyObject *given) {
  long long number = 0;
  (void)module;
  if (!integer_argument(given, "status", INT32_MIN, INT32_MAX, &number)) return NULL;
  return PyBool_FromLong(apns_status_is_retryable((apns_status_t)number));
}

static PyObject *encode_json(PyObject *module, PyObject *value) {
  (void)module;
  return json_bytes(value);
}

static PyMethodDef functions[] = {
    {"version", version, METH_NOARGS,
     "version()\n--\n\nThe version of the C library in use, \"0.1.0\"."},
    {"reject_text", reject_text, METH_O,
     "reject_text(reject, /)\n--\n\nThe gateway's reason in words, such as \"invalid token\"."},
    {"reason_text", reason_text, METH_O,
     "reason_text(reason, /)\n--\n\nThe reason as APNs writes it, such as \"BadDeviceToken\"."},
    {"reason_http_status", reason_http_status, METH_O,
     "reason_http_status(reason, /)\n--\n\n"
     "The HTTP status that APNs answers with for this reason, such as 400; 0 for none."},
    {"push_type_text", push_type_text, METH_O,
     "push_type_text(push_type, /)\n--\n\nThe type as APNs reads it, such as \"alert\"."},
    {"status_name", status_name, METH_O,
     "status_name(status, /)\n--\n\nThe C name of a status, such as \"APNS_ERR_TIMEOUT\"."},
    {"status_is_retryable", status_is_retryable, METH_O,
     "status_is_retryable(status, /)\n--\n\n"
     "Whether the same call may succeed later without a change by the caller."},
    {"encode_json", encode_json, METH_O,
     "encode_json(value, /)\n--\n\n"
     "The bytes of JSON that send() makes of a dict: those of json.dumps() where that is told\n"
     "ensure_ascii=False, separators=(\",\", \":\") and allow_nan=False."},
    {NULL, NULL, 0, NULL}};

/* What every import has: types and classes are known by static variables. */
static PyObject *loaded;

static int load(PyObject *module) {
  int64_t interpreter = PyInterpreterState_GetID(PyInterpreterState_Get());
  if (interpreter != 0) {
    if (interpreter > 0) {
      PyErr_SetString(PyExc_ImportError, "apns works in the main interpreter only, not in another");
    }
    return -1;
  }
  if (loaded) return PyDict_Update(PyModule_GetDict(module), PyModule_GetDict(loaded));
  if (PyModule_AddFunctions(module, token_functions) ||
      PyModule_AddFunctions(module, payload_functions) || !errors_load() || !json_load() ||
      !events_load(module) || !credentials_load(module) || !payload_load(module) ||
      !strings_load(module) || !session_load(module) || !feedback_load(module)) {
    return -1;
  }
  Py_INCREF(module);
  loaded = module;
  return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)load}, {0, NULL}};

static struct PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                                        .m_name = "apns._core",
                                        .m_doc = "What apns is made of; import apns instead.",
                                        .m_methods = functions,
                                        .m_slots = slots};

PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&definition); }
