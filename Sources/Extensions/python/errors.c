/* Failures of the library as exceptions: which class is whose is said in apns/_errors.py. */
#include "core.h"

static PyObject *classes; /* by status */

bool errors_load(void) {
  PyObject *module = PyImport_ImportModule("apns._errors");
  if (!module) return false;
  classes = PyObject_GetAttrString(module, "_BY_STATUS");
  Py_DECREF(module);
  return classes != NULL;
}

void *raise_error(const apns_error_t *error) {
  if (error->status == APNS_ERR_MEMORY) return PyErr_NoMemory();
  PyObject *status = PyLong_FromLong(error->status);
  PyObject *type = status ? PyObject_GetItem(classes, status) : NULL;
  Py_XDECREF(status);
  if (!type) return NULL;
  PyObject *message =
      PyUnicode_DecodeUTF8(error->message, (Py_ssize_t)strlen(error->message), "replace");
  PyObject *exception =
      message
          ? PyObject_CallFunction(type, "OiiKi", message, (int)error->status, (int)error->sys_errno,
                                  (unsigned long long)error->tls_code, (int)error->reject)
          : NULL;
  Py_XDECREF(message);
  if (exception) PyErr_SetObject(type, exception);
  Py_XDECREF(exception);
  Py_DECREF(type);
  return NULL;
}

void annotate_exception(const char *name, size_t number) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyObject *count = PyLong_FromSize_t(number);
  /* One that takes no attribute is the better told without. */
  if (!count || !value || PyObject_SetAttrString(value, name, count)) PyErr_Clear();
  Py_XDECREF(count);
  PyErr_Restore(type, value, trace);
}
