#include "core.h"
#include "words.h"

/* A number, or a word such as "alert". */
static bool push_type_argument(PyObject *given, uint8_t *type_out) {
  long long number = 0;
  if (!word_argument(given, "push_type", push_type_words, &number)) return false;
  if (number < 0 || number > UINT8_MAX) {
    PyErr_SetString(PyExc_ValueError, "push_type is not between 0 and 255");
    return false;
  }
  *type_out = (uint8_t)number;
  return true;
}

/* When a datetime is, in UNIX seconds; NULL with an exception. */
static PyObject *seconds_of(PyObject *given) {
  PyObject *zone = PyObject_GetAttrString(given, "tzinfo");
  PyObject *time = zone ? PyObject_CallMethod(given, "timestamp", NULL) : NULL;
  const bool is_naive = zone == Py_None;
  Py_XDECREF(zone);
  if (!time || is_naive) {
    PyErr_Clear();
    Py_XDECREF(time);
    if (is_naive) {
      PyErr_SetString(PyExc_ValueError, "expiry is a datetime without a time zone");
    } else {
      wrong_type("expiry", "int, datetime or None", given);
    }
    return NULL;
  }
  PyObject *seconds = PyNumber_Long(time);
  Py_DECREF(time);
  return seconds;
}

/* None: not given; 0: APNs tries once. */
static bool expiry_argument(PyObject *given, int64_t *expiry_out) {
  long long number = 0;
  if (!given || given == Py_None) return true;
  const bool is_number = PyLong_Check(given);
  PyObject *seconds = is_number ? given : seconds_of(given);
  if (is_number) Py_INCREF(given);
  const bool fine =
      seconds && integer_argument(seconds, "expiry", is_number ? 0 : 1, INT64_MAX, &number);
  Py_XDECREF(seconds);
  *expiry_out = number == 0 ? APNS_EXPIRY_ONCE : number;
  return fine;
}

static bool read_push_options(push_buffers_t *buffers, apns_notification_t *push,
                              const push_options_t *options) {
  long long number = 0;
  if (!expiry_argument(options->expiry, &push->expiry)) return false;
  if (!integer_argument(options->priority, "priority", 0, UINT8_MAX, &number)) return false;
  push->priority = (uint8_t)number;
  return push_type_argument(options->push_type, &push->push_type) &&
         text_argument(options->topic, "topic", &push->topic, &buffers->topic_owner) &&
         text_argument(options->collapse_id, "collapse_id", &push->collapse_id,
                       &buffers->collapse_owner) &&
         text_argument(options->apns_id, "apns_id", &push->apns_id, &buffers->id_owner) &&
         text_argument(options->channel_id, "channel_id", &push->channel_id,
                       &buffers->channel_owner) &&
         seconds_or_none_argument(options->deadline, "deadline", &push->deadline_ms);
}

bool notification_read(const module_state_t *state, push_buffers_t *buffers,
                       apns_notification_t *push, PyObject *token, PyObject *payload,
                       const push_options_t *options) {
  char *bytes;
  Py_ssize_t length;
  push_buffers_init(buffers);
  *push = (apns_notification_t)APNS_NOTIFICATION_INIT;
  /* A broadcast has a channel in its place. */
  const bool has_token = token != Py_None || !options->channel_id || options->channel_id == Py_None;
  if (has_token && !token_argument(state, token, buffers->token, &push->token, &push->token_length,
                                   &buffers->token_owner)) {
    return false;
  }
  buffers->payload_owner = payload_argument(state, payload);
  if (!buffers->payload_owner || PyBytes_AsStringAndSize(buffers->payload_owner, &bytes, &length) ||
      !read_push_options(buffers, push, options)) {
    push_buffers_free(buffers);
    return false;
  }
  push->payload = bytes;
  push->payload_length = (size_t)length;
  return true;
}

void push_buffers_init(push_buffers_t *buffers) {
  buffers->token_owner = buffers->payload_owner = NULL;
  buffers->topic_owner = buffers->collapse_owner = buffers->id_owner = buffers->channel_owner =
      NULL;
}

void push_buffers_free(push_buffers_t *buffers) {
  Py_CLEAR(buffers->token_owner);
  Py_CLEAR(buffers->payload_owner);
  Py_CLEAR(buffers->topic_owner);
  Py_CLEAR(buffers->collapse_owner);
  Py_CLEAR(buffers->id_owner);
  Py_CLEAR(buffers->channel_owner);
}
