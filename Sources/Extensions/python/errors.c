/* Failures of the library as exceptions. libapns/_errors.py says which class each status has. */
#include <stdarg.h>

#include "core.h"

bool errors_load(module_state_t *state) {
  state->exception_classes = load_attribute("libapns._errors", "_BY_STATUS");
  return state->exception_classes != NULL;
}

void *raise_error(const module_state_t *state, const apns_error_t *error) {
  if (error->status == APNS_ERR_MEMORY) return PyErr_NoMemory();
  PyObject *status = PyLong_FromLong(error->status);
  PyObject *type = status ? PyObject_GetItem(state->exception_classes, status) : NULL;
  Py_XDECREF(status);
  if (!type) return NULL;
  PyObject *message =
      PyUnicode_DecodeUTF8(error->message, (Py_ssize_t)strlen(error->message), "replace");
  PyObject *exception =
      message ? PyObject_CallFunction(type, "OiiKii", message, (int)error->status,
                                      (int)error->sys_errno, (unsigned long long)error->tls_code,
                                      (int)error->reject, (int)error->cause)
              : NULL;
  Py_XDECREF(message);
  if (exception) PyErr_SetObject(type, exception);
  Py_XDECREF(exception);
  Py_DECREF(type);
  return NULL;
}

void *raise_status(const module_state_t *state, apns_status_t status, const char *format, ...) {
  apns_error_t error = APNS_ERROR_INIT;
  va_list arguments;
  error.status = status;
  va_start(arguments, format);
  PyOS_vsnprintf(error.message, sizeof error.message, format, arguments);
  va_end(arguments);
  return raise_error(state, &error);
}

PyObject *descriptor_of(const module_state_t *state, const char *subject, bool is_closed,
                        int descriptor) {
  if (descriptor >= 0) return PyLong_FromLong(descriptor);
  return is_closed ? raise_status(state, APNS_ERR_CLOSED, "%s closed", subject)
                   : raise_status(state, APNS_ERR_ARGUMENT, "%s made without nonblocking", subject);
}

void annotate_exception(const char *name, size_t number) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject *count = PyLong_FromSize_t(number);
  PyErr_Restore(type, value, trace);
  annotate_exception_with(name, count);
}

void annotate_exception_with(const char *name, PyObject *object) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  /* An exception that takes no attribute is raised without it. */
  if (!object || !value || PyObject_SetAttrString(value, name, object)) PyErr_Clear();
  Py_XDECREF(object);
  PyErr_Restore(type, value, trace);
}
