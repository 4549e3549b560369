/* The event that a program sees. */
#include <stdlib.h>

#include "core.h"

static PyTypeObject *event_type;
static PyObject *kinds[APNS_EVENT_UNKNOWN + 1];
static PyObject *reject_class, *rejects[256];
static PyObject *reason_class, *reasons[256];

static PyStructSequence_Field fields[] = {
    {"kind", "How it ended: an EventKind."},
    {"reject", "Why, where the gateway rejected it: a Reject, NONE where it did not."},
    {"identifier", "The number that send() returned."},
    {"user_data", "The object that was sent with it, or None."},
    {"reason", "Why, in APNs' own words: a Reason. HTTP/2, as are all that follow; else NONE."},
    {"http_status", "What was answered, such as 200; 0: nothing."},
    {"timestamp", "UNIX seconds since when the device is gone (410); 0: not said."},
    {"apns_id", "The notification's: the caller's, or what the service gave it; else empty."},
    {"reason_text", "The reason as it was written, for one that is not listed too."},
    {"token", "The device's, bytes."},
    {NULL, NULL}};

static PyStructSequence_Desc description = {"apns.Event",
                                            "How one notification ended. A tuple with names, of "
                                            "which the first four are its items.",
                                            fields, 4};

/* What an event says in words is written in Python. */
static bool add_words(void) {
  static const char *const names[] = {"why", "__repr__"};
  PyObject *words = PyImport_ImportModule("apns._words");
  bool fine = words != NULL;
  for (size_t i = 0; fine && i < sizeof names / sizeof *names; i++) {
    PyObject *attribute = PyObject_GetAttrString(words, names[i]);
    fine = attribute && PyObject_SetAttrString((PyObject *)event_type, names[i], attribute) == 0;
    Py_XDECREF(attribute);
  }
  Py_XDECREF(words);
  return fine;
}

bool events_load(PyObject *module) {
  PyObject *constants = PyImport_ImportModule("apns._constants");
  if (!constants) return false;
  PyObject *kind_class = PyObject_GetAttrString(constants, "EventKind");
  reject_class = PyObject_GetAttrString(constants, "Reject");
  reason_class = PyObject_GetAttrString(constants, "Reason");
  Py_DECREF(constants);
  bool fine = kind_class && reject_class && reason_class;
  for (int i = APNS_EVENT_ACCEPTED; fine && i <= APNS_EVENT_UNKNOWN; i++) {
    kinds[i] = PyObject_CallFunction(kind_class, "i", i);
    fine = kinds[i] != NULL;
  }
  Py_XDECREF(kind_class);
  if (!fine) return false;
  event_type = PyStructSequence_NewType(&description);
  if (!event_type || !add_words()) return false;
  Py_INCREF(event_type);
  return PyModule_AddObject(module, "Event", (PyObject *)event_type) == 0;
}

static PyObject *member(PyObject **members, PyObject *type, uint8_t number) {
  if (!members[number]) members[number] = PyObject_CallFunction(type, "i", (int)number);
  Py_XINCREF(members[number]);
  return members[number];
}

PyObject *event_make(outcome_t outcome, keepsake_t *keepsake) {
  static const answer_t nothing;
  const answer_t *answer = outcome.answer ? outcome.answer : &nothing;
  PyObject *user_data = keepsake->object ? (PyObject *)keepsake->object : Py_None;
  PyObject *kind = kinds[outcome.kind];
  Py_INCREF(user_data);
  Py_INCREF(kind);
  PyObject *values[] = {
      kind,
      member(rejects, reject_class, outcome.reject),
      PyLong_FromUnsignedLong(outcome.identifier),
      user_data,
      member(reasons, reason_class, (uint8_t)answer->reason),
      PyLong_FromLong(answer->http_status),
      PyLong_FromLongLong(answer->timestamp),
      PyUnicode_FromString(answer->apns_id),
      PyUnicode_FromString(answer->reason_text),
      PyBytes_FromStringAndSize((const char *)keepsake_token(keepsake), keepsake->token_length)};
  enum { COUNT = sizeof values / sizeof *values };
  free(outcome.answer);
  keepsake_free(keepsake);
  bool fine = true;
  for (int i = 0; i < COUNT; i++) fine = fine && values[i];
  PyObject *event = fine ? PyStructSequence_New(event_type) : NULL;
  for (int i = 0; i < COUNT; i++) {
    if (event) {
      PyStructSequence_SetItem(event, i, values[i]);
    } else {
      Py_XDECREF(values[i]);
    }
  }
  return event;
}
