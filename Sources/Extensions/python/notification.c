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

bool parcel_pack(parcel_t *parcel, apns_notification_t *push, PyObject *token, PyObject *payload,
                 PyObject *expiry, PyObject *priority) {
  char *bytes;
  Py_ssize_t length;
  long long number = 0;
  parcel->token_owner = parcel->payload_owner = NULL;
  *push = (apns_notification_t)APNS_NOTIFICATION_INIT;
  if (!token_argument(token, parcel->token, &push->token, &push->token_length,
                      &parcel->token_owner)) {
    return false;
  }
  parcel->payload_owner = payload_argument(payload);
  if (!parcel->payload_owner || PyBytes_AsStringAndSize(parcel->payload_owner, &bytes, &length) ||
      (expiry && !integer_argument(expiry, "expiry", INT64_MIN, INT64_MAX, &number))) {
    parcel_free(parcel);
    return false;
  }
  push->payload = bytes;
  push->payload_length = (size_t)length;
  push->expiry = number;
  number = 0;
  if (priority && !integer_argument(priority, "priority", 0, UINT8_MAX, &number)) {
    parcel_free(parcel);
    return false;
  }
  push->priority = (uint8_t)number;
  return true;
}

void parcel_free(parcel_t *parcel) {
  Py_CLEAR(parcel->token_owner);
  Py_CLEAR(parcel->payload_owner);
}
