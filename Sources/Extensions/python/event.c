/* The event that a program sees. */
#include <stdlib.h>

#include "core.h"

static PyStructSequence_Field fields[] = {
    {"kind", "How it ended: an EventKind."},
    {"reject",
     "The status of the binary interface, a Reject; NONE: the gateway did not reject it."},
    {"identifier", "The number that send() returned."},
    {"user_data", "The object that was sent with it, or None."},
    {"reason",
     "The reason of HTTP/2, a Reason, else NONE. The fields after it are for HTTP/2, except "
     "token."},
    {"http_status", "The HTTP status of the answer, such as 200; 0: there was none."},
    {"timestamp", "When the device was gone (410), in UNIX seconds; 0: not given."},
    {"apns_id",
     "The notification's identifier: the caller's, or the one from the service; else empty. Of a "
     "broadcast its apns-request-id."},
    {"reason_text", "The reason as the service wrote it, even if it is not listed."},
    {"token", "The device token, bytes; empty for a broadcast."},
    {"retry_after",
     "After how many seconds it may be sent again; 0: there is no point in it, or nobody knows "
     "whether it arrived."},
    {"unique_id",
     "The apns-unique-id, by which Apple's console finds the notification; empty where the service "
     "gives none, as in production."},
    {NULL, NULL}};

static PyStructSequence_Desc description = {"libapns.Event",
                                            "How one notification ended. A named tuple; the first "
                                            "four fields are its items.",
                                            fields, 4};

/* Attributes of Event that are written in Python. */
static bool add_attributes(PyObject *event) {
  static const char *const names[] = {"why",        "is_accepted", "is_rejected",
                                      "is_unknown", "__repr__",    "__str__"};
  bool fine = true;
  for (size_t i = 0; fine && i < sizeof names / sizeof *names; i++) {
    PyObject *attribute = load_attribute("libapns._why", names[i]);
    fine = attribute && PyObject_SetAttrString(event, names[i], attribute) == 0;
    Py_XDECREF(attribute);
  }
  return fine;
}

bool event_load(module_state_t *state) {
  PyObject *kind_class = load_attribute("libapns._constants", "EventKind");
  state->reject_class = load_attribute("libapns._constants", "Reject");
  state->reason_class = load_attribute("libapns._constants", "Reason");
  bool fine = kind_class && state->reject_class && state->reason_class;
  for (int i = APNS_EVENT_ACCEPTED; fine && i <= APNS_EVENT_CANCELLED; i++) {
    state->event_kinds[i] = PyObject_CallFunction(kind_class, "i", i);
    fine = state->event_kinds[i] != NULL;
  }
  Py_XDECREF(kind_class);
  if (fine) state->event = load_tuple_type(state->module, &description);
  return state->event && add_attributes((PyObject *)state->event);
}

PyObject *event_describe(PyObject *module, PyObject *args) {
  apns_event_t event = APNS_EVENT_INIT;
  const char *reason_text;
  char text[160];
  (void)module;
  if (!PyArg_ParseTuple(args, "iiiHs:describe", &event.kind, &event.reject, &event.reason,
                        &event.http_status, &reason_text)) {
    return NULL;
  }
  PyOS_snprintf(event.reason_text, sizeof event.reason_text, "%s", reason_text);
  apns_event_describe(&event, text, sizeof text);
  return PyUnicode_FromString(text);
}

static PyObject *member(PyObject **members, PyObject *type, uint8_t number) {
  if (!members[number]) members[number] = PyObject_CallFunction(type, "i", (int)number);
  Py_XINCREF(members[number]);
  return members[number];
}

PyObject *event_make(module_state_t *state, outcome_t outcome, pending_t *entry) {
  static const answer_t nothing;
  const answer_t *answer = outcome.answer ? outcome.answer : &nothing;
  PyObject *user_data = entry->object ? (PyObject *)entry->object : Py_None;
  PyObject *kind = state->event_kinds[outcome.kind];
  Py_INCREF(user_data);
  Py_INCREF(kind);
  PyObject *values[] = {
      kind,
      member(state->rejects, state->reject_class, outcome.reject),
      PyLong_FromUnsignedLong(outcome.identifier),
      user_data,
      member(state->reasons, state->reason_class, (uint8_t)answer->reason),
      PyLong_FromLong(answer->http_status),
      PyLong_FromLongLong(answer->timestamp),
      PyUnicode_FromString(answer->apns_id),
      PyUnicode_FromString(answer->reason_text),
      PyBytes_FromStringAndSize((const char *)pending_token(entry), entry->token_length),
      PyLong_FromUnsignedLong(answer->retry_after),
      PyUnicode_FromString(answer->unique_id)};
  enum { COUNT = sizeof values / sizeof *values };
  free(outcome.answer);
  pending_free(entry);
  bool fine = true;
  for (int i = 0; i < COUNT; i++) fine = fine && values[i];
  PyObject *event = fine ? PyStructSequence_New(state->event) : NULL;
  for (int i = 0; i < COUNT; i++) {
    if (event) {
      PyStructSequence_SetItem(event, i, values[i]);
    } else {
      Py_XDECREF(values[i]);
    }
  }
  return event;
}
