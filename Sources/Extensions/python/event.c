/* The event that a program sees. */
#include <stdlib.h>

#include "core.h"
#include "structmember.h"

enum { KIND, REJECT, IDENTIFIER, USER_DATA, REASON, HTTP_STATUS, TIMESTAMP, APNS_ID, REASON_TEXT };
enum { TOKEN = REASON_TEXT + 1, RETRY_AFTER, UNIQUE_ID, COUNT };

typedef struct event {
  PyObject_HEAD PyObject *values[COUNT];
} event_t;

#define FIELD(name, index, doc) \
  { name, T_OBJECT_EX, offsetof(event_t, values) + (index) * sizeof(PyObject *), READONLY, doc }

static PyMemberDef members[] = {
    FIELD("kind", KIND, "The outcome: an EventKind."),
    FIELD("reject", REJECT,
          "The status of the binary interface, a Reject; NONE: the gateway did not reject it."),
    FIELD("identifier", IDENTIFIER, "The number that send() returned."),
    FIELD("user_data", USER_DATA, "The object that was sent with it, or None."),
    FIELD("reason", REASON,
          "The HTTP/2 reason, a Reason, else NONE. The fields after it are for HTTP/2, except "
          "token."),
    FIELD("http_status", HTTP_STATUS,
          "The HTTP status of the response, such as 200; 0 without a response."),
    FIELD("timestamp", TIMESTAMP, "When the device was gone (410), in UNIX seconds; 0: not given."),
    FIELD("apns_id", APNS_ID,
          "The notification's identifier: the caller's, or the one from APNs; else empty. "
          "For a broadcast its apns-request-id."),
    FIELD("reason_text", REASON_TEXT, "The reason as APNs wrote it, even if it is not listed."),
    FIELD("token", TOKEN, "The device token, bytes; empty for a broadcast."),
    FIELD("retry_after", RETRY_AFTER,
          "After how many seconds to send it again; 0: that is pointless, or it is unknown "
          "whether it arrived."),
    FIELD("unique_id", UNIQUE_ID,
          "The apns-unique-id, by which Apple's console finds the notification; empty if APNs "
          "gives no ID, as in production."),
    /* For a client, before it returns the event. */
    {"_user_data", T_OBJECT_EX, offsetof(event_t, values) + USER_DATA * sizeof(PyObject *), 0,
     NULL},
    {"_reason_text", T_OBJECT_EX, offsetof(event_t, values) + REASON_TEXT * sizeof(PyObject *), 0,
     NULL},
    {NULL, 0, 0, 0, NULL}};

/* Takes over the references, of which some may be NULL with an exception. */
static PyObject *make(PyTypeObject *type, PyObject *const *values) {
  bool fine = true;
  for (int i = 0; i < COUNT; i++) fine = fine && values[i];
  event_t *event = fine ? object_alloc(type) : NULL;
  for (int i = 0; i < COUNT; i++) {
    if (event) {
      event->values[i] = values[i];
    } else {
      Py_XDECREF(values[i]);
    }
  }
  return (PyObject *)event;
}

/* Makes an event, for tests of a program. */
static PyObject *event_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  module_state_t *state = state_of_type(type);
  PyObject *fields = state ? PyObject_Call(state->event_fields, args, keywords) : NULL;
  if (!fields) return NULL;
  PyObject *values[COUNT] = {NULL};
  for (int i = 0; i < COUNT; i++) {
    values[i] = PyTuple_GetItem(fields, i);
    Py_XINCREF(values[i]);
  }
  Py_DECREF(fields);
  return make(type, values);
}

static int event_traverse(PyObject *object, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(object));
  for (int i = 0; i < COUNT; i++) Py_VISIT(((event_t *)object)->values[i]);
  return 0;
}

static int event_clear(PyObject *object) {
  /* Only the program's own object can be part of a cycle. */
  Py_CLEAR(((event_t *)object)->values[USER_DATA]);
  return 0;
}

static void event_dealloc(PyObject *object) {
  PyObject_GC_UnTrack(object);
  for (int i = 0; i < COUNT; i++) Py_CLEAR(((event_t *)object)->values[i]);
  object_free(object);
}

static const char doc[] =
    "Event(*, kind, reason=None, token=b'', user_data=None, http_status=None, reason_text=None, "
    "timestamp=0, retry_after=0, apns_id='', unique_id='', identifier=0, reject=None)\n--\n\n"
    "How one notification ended. Sessions and clients make them; a program makes some for its "
    "tests:\n\n"
    "    Event(kind=\"rejected\", reason=\"BadDeviceToken\", token=token)\n\n"
    "kind and reason are an EventKind and a Reason, or their texts; the token is bytes, or hex.";

static PyType_Slot slots[] = {{Py_tp_new, event_new},
                              {Py_tp_dealloc, event_dealloc},
                              {Py_tp_traverse, event_traverse},
                              {Py_tp_clear, event_clear},
                              {Py_tp_members, members},
                              {Py_tp_doc, (void *)doc},
                              {0, NULL}};

static PyType_Spec spec = {"libapns.Event", sizeof(event_t), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

/* Attributes of Event that are written in Python. */
static bool add_attributes(PyObject *event) {
  static const char *const names[] = {"why",
                                      "is_accepted",
                                      "is_rejected",
                                      "is_unknown",
                                      "is_cancelled",
                                      "is_expired",
                                      "has_invalid_token",
                                      "__repr__",
                                      "__str__",
                                      "raise_unless_accepted",
                                      "__getnewargs_ex__"};
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
  for (int i = APNS_EVENT_ACCEPTED; fine && i <= APNS_EVENT_EXPIRED; i++) {
    state->event_kinds[i] = PyObject_CallFunction(kind_class, "i", i);
    fine = state->event_kinds[i] != NULL;
  }
  Py_XDECREF(kind_class);
  state->event_fields = fine ? load_attribute("libapns._why", "event_fields") : NULL;
  if (state->event_fields) state->event = load_type(state->module, &spec);
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

PyObject *event_has_invalid_token(PyObject *module, PyObject *args) {
  apns_event_t event = APNS_EVENT_INIT;
  (void)module;
  if (!PyArg_ParseTuple(args, "iiiH:has_invalid_token", &event.kind, &event.reject, &event.reason,
                        &event.http_status)) {
    return NULL;
  }
  return PyBool_FromLong(apns_event_has_invalid_token(&event));
}

static PyObject *member(PyObject **members, PyObject *type, uint8_t number) {
  if (!members[number]) members[number] = PyObject_CallFunction(type, "i", (int)number);
  Py_XINCREF(members[number]);
  return members[number];
}

PyObject *event_make(module_state_t *state, outcome_t outcome, pending_t *entry) {
  static const response_t nothing;
  const response_t *response = outcome.response ? outcome.response : &nothing;
  PyObject *user_data = entry->object ? (PyObject *)entry->object : Py_None;
  PyObject *kind = state->event_kinds[outcome.kind];
  Py_INCREF(user_data);
  Py_INCREF(kind);
  PyObject *const values[COUNT] = {
      kind,
      member(state->rejects, state->reject_class, outcome.reject),
      PyLong_FromUnsignedLong(outcome.identifier),
      user_data,
      member(state->reasons, state->reason_class, (uint8_t)response->reason),
      PyLong_FromLong(response->http_status),
      PyLong_FromLongLong(response->timestamp),
      PyUnicode_FromString(response->apns_id),
      PyUnicode_FromString(response->reason_text),
      PyBytes_FromStringAndSize((const char *)pending_token(entry), entry->token_length),
      PyLong_FromUnsignedLong(response->retry_after),
      PyUnicode_FromString(response->unique_id)};
  free(outcome.response);
  pending_free(entry);
  return make(state->event, values);
}
