#include "core.h"

static PyObject *payload_argument(PyObject *given) {
  if (PyUnicode_Check(given)) return PyUnicode_AsUTF8String(given);
  if (PyDict_Check(given)) return json_bytes(given);
  /* A copy, and not apns_session_send_payload(): another thread may change the Payload while
     the session has let go of the interpreter lock, and a lock of its own would cost each
     set() as much as the copy does, a fiftieth of a send(). */
  if (is_payload(given)) return payload_bytes(given);
  return bytes_argument(given, "payload", "bytes, str, dict or Payload");
}

/* An integer, or the word that APNs has for it, such as "alert". */
static bool push_type_argument(PyObject *given, uint8_t *type_out) {
  static const char *words[APNS_PUSH_TYPE_CONTROLS + 1];
  long long number = 0;
  if (!words[0]) {
    for (int i = APNS_PUSH_TYPE_CONTROLS; i >= 0; i--) {
      words[i] = apns_push_type_text((apns_push_type_t)i);
    }
  }
  if (!word_argument(given, "push_type", words, APNS_PUSH_TYPE_CONTROLS + 1, &number)) return false;
  if (number < 0 || number > UINT8_MAX) {
    PyErr_SetString(PyExc_ValueError, "push_type is not 0 to 255");
    return false;
  }
  *type_out = (uint8_t)number;
  return true;
}

/* What has to be looked at only where something is said. */
static bool pack_manner(parcel_t *parcel, apns_notification_t *push, const manner_t *manner) {
  long long number = 0;
  if (!integer_argument(manner->expiry, "expiry", INT64_MIN, INT64_MAX, &number)) return false;
  push->expiry = number;
  number = 0;
  if (!integer_argument(manner->priority, "priority", 0, UINT8_MAX, &number)) return false;
  push->priority = (uint8_t)number;
  return push_type_argument(manner->push_type, &push->push_type) &&
         text_argument(manner->topic, "topic", &push->topic, &parcel->topic_owner) &&
         text_argument(manner->collapse_id, "collapse_id", &push->collapse_id,
                       &parcel->collapse_owner) &&
         text_argument(manner->apns_id, "apns_id", &push->apns_id, &parcel->id_owner);
}

bool parcel_pack(parcel_t *parcel, apns_notification_t *push, PyObject *token, PyObject *payload,
                 const manner_t *manner) {
  char *bytes;
  Py_ssize_t length;
  parcel_leave_empty(parcel);
  *push = (apns_notification_t)APNS_NOTIFICATION_INIT;
  if (!token_argument(token, parcel->token, &push->token, &push->token_length,
                      &parcel->token_owner)) {
    return false;
  }
  parcel->payload_owner = payload_argument(payload);
  if (!parcel->payload_owner || PyBytes_AsStringAndSize(parcel->payload_owner, &bytes, &length) ||
      !pack_manner(parcel, push, manner)) {
    parcel_free(parcel);
    return false;
  }
  push->payload = bytes;
  push->payload_length = (size_t)length;
  return true;
}

void parcel_leave_empty(parcel_t *parcel) {
  parcel->token_owner = parcel->payload_owner = NULL;
  parcel->topic_owner = parcel->collapse_owner = parcel->id_owner = NULL;
}

void parcel_free(parcel_t *parcel) {
  Py_CLEAR(parcel->token_owner);
  Py_CLEAR(parcel->payload_owner);
  Py_CLEAR(parcel->topic_owner);
  Py_CLEAR(parcel->collapse_owner);
  Py_CLEAR(parcel->id_owner);
}
