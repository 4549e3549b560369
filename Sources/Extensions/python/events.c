/* The event that a program sees. */
#include "core.h"

static PyTypeObject *event_type;
static PyObject *kinds[APNS_EVENT_UNKNOWN + 1];
static PyObject *reject_class, *rejects[256];

static PyStructSequence_Field fields[] = {
    {"kind", "How it ended: an EventKind."},
    {"reject", "Why, where the gateway rejected it: a Reject, NONE where it did not."},
    {"identifier", "The number that send() returned."},
    {"user_data", "The object that was sent with it, or None."},
    {NULL, NULL}};

static PyStructSequence_Desc description = {
    "apns.Event", "How one notification ended. A tuple with names.", fields, 4};

bool events_load(PyObject *module) {
  PyObject *constants = PyImport_ImportModule("apns._constants");
  if (!constants) return false;
  PyObject *kind_class = PyObject_GetAttrString(constants, "EventKind");
  reject_class = PyObject_GetAttrString(constants, "Reject");
  Py_DECREF(constants);
  bool fine = kind_class && reject_class;
  for (int i = APNS_EVENT_ACCEPTED; fine && i <= APNS_EVENT_UNKNOWN; i++) {
    kinds[i] = PyObject_CallFunction(kind_class, "i", i);
    fine = kinds[i] != NULL;
  }
  Py_XDECREF(kind_class);
  if (!fine) return false;
  event_type = PyStructSequence_NewType(&description);
  if (!event_type) return false;
  Py_INCREF(event_type);
  return PyModule_AddObject(module, "Event", (PyObject *)event_type) == 0;
}

static PyObject *reject_of(uint8_t number) {
  if (!rejects[number]) rejects[number] = PyObject_CallFunction(reject_class, "i", (int)number);
  Py_XINCREF(rejects[number]);
  return rejects[number];
}

PyObject *event_make(outcome_t outcome, PyObject *user_data) {
  PyObject *reject = reject_of(outcome.reject);
  PyObject *identifier = PyLong_FromUnsignedLong(outcome.identifier);
  PyObject *event = reject && identifier ? PyStructSequence_New(event_type) : NULL;
  if (!event) {
    Py_XDECREF(reject);
    Py_XDECREF(identifier);
    Py_XDECREF(user_data);
    return NULL;
  }
  if (!user_data) {
    Py_INCREF(Py_None);
    user_data = Py_None;
  }
  Py_INCREF(kinds[outcome.kind]);
  PyStructSequence_SetItem(event, 0, kinds[outcome.kind]);
  PyStructSequence_SetItem(event, 1, reject);
  PyStructSequence_SetItem(event, 2, identifier);
  PyStructSequence_SetItem(event, 3, user_data);
  return event;
}
