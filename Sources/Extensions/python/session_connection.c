/* Calls that wait: connecting, writing, draining, closing. */
#include "session.h"

static PyObject *call_in_slices(session_t *self, int32_t limit_ms,
                                apns_status_t (*call)(apns_session_t *, apns_error_t *)) {
  int64_t deadline = clock_ms() + limit_ms;
  for (;;) {
    apns_error_t error = APNS_ERROR_INIT;
    apns_status_t status;
    deferred_t deferred;
    if (!object_lock_acquire(&self->lock, "session")) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = call(self->session, &error);
    session_collect(self);
    session_unlock(self, &deferred);
    Py_END_ALLOW_THREADS;
    if (!session_run_deferred(self, &deferred)) return NULL;
    if (status == APNS_OK) Py_RETURN_NONE;
    /* Without a provider token the library does not wait. */
    if (!was_cut(status, deadline) || error.cause == APNS_CAUSE_PROVIDER_TOKEN)
      return raise_error(self->state, &error);
    if (PyErr_CheckSignals()) return NULL;
  }
}

/* The call does not wait. */
PyObject *session_use_credentials(PyObject *object, PyObject *given) {
  session_t *self = (session_t *)object;
  apns_error_t error = APNS_ERROR_INIT;
  deferred_t deferred;
  if (!PyObject_TypeCheck(given, self->state->credentials)) {
    wrong_type("credentials", "libapns.Credentials", given);
    return NULL;
  }
  const apns_credentials_t *credentials = credentials_lend(given);
  if (!credentials) return NULL;
  if (!object_lock_acquire(&self->lock, "session")) {
    credentials_return(given);
    return NULL;
  }
  PyObject *unused = given;
  Py_INCREF(given);
  apns_status_t status = apns_session_use_credentials(self->session, credentials, &error);
  if (status == APNS_OK) {
    /* From now on the new token_provider may be called, and the old one no more. */
    unused = self->credentials;
    self->credentials = given;
  }
  session_unlock(self, &deferred);
  credentials_return(given);
  Py_DECREF(unused);
  if (!session_run_deferred(self, &deferred)) return NULL;
  if (status != APNS_OK) return raise_error(self->state, &error);
  Py_RETURN_NONE;
}

PyObject *session_connect(PyObject *object, PyObject *none) {
  session_t *self = (session_t *)object;
  (void)none;
  return call_in_slices(self, self->connect_ms, apns_session_connect);
}

PyObject *session_flush(PyObject *object, PyObject *none) {
  session_t *self = (session_t *)object;
  (void)none;
  return call_in_slices(self, self->send_ms, apns_session_flush);
}

static bool drain(session_t *self, int32_t timeout_ms) {
  apns_error_t error = APNS_ERROR_INIT;
  int64_t deadline = session_deadline(self, timeout_ms);
  for (;;) {
    deferred_t deferred;
    apns_status_t status;
    size_t unresolved = 0;
    bool cut; /* the slice was over, and not the wait */
    if (!object_lock_acquire(&self->lock, "session")) return false;
    Py_BEGIN_ALLOW_THREADS;
    int64_t began = clock_ms();
    int32_t slice = slice_before(deadline);
    status = apns_session_drain(self->session, slice, &unresolved, &error);
    int64_t now = clock_ms();
    cut = status == APNS_ERR_TIMEOUT && now - began >= slice && now < deadline;
    session_collect(self);
    session_unlock(self, &deferred);
    Py_END_ALLOW_THREADS;
    if (!session_run_deferred(self, &deferred)) return false;
    if (status == APNS_OK) return true;
    if (!cut) {
      raise_error(self->state, &error);
      annotate_exception("unresolved", unresolved);
      return false;
    }
    if (PyErr_CheckSignals()) return false;
  }
}

PyObject *session_drain(PyObject *object, PyObject *args, PyObject *keywords) {
  int32_t timeout_ms;
  if (!session_timeout(args, keywords, "|O:drain", -1, &timeout_ms)) return NULL;
  if (!drain((session_t *)object, timeout_ms)) return NULL;
  Py_RETURN_NONE;
}

PyObject *session_cancel(PyObject *object, PyObject *args, PyObject *keywords) {
  static char *names[] = {"identifier", NULL};
  session_t *self = (session_t *)object;
  apns_error_t error = APNS_ERROR_INIT;
  PyObject *given = Py_None;
  size_t count = 0;
  unsigned long identifier = 0;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O:cancel", names, &given)) return NULL;
  if (given != Py_None) {
    identifier = PyLong_AsUnsignedLong(given);
    if (PyErr_Occurred()) return NULL;
    if (identifier < 1 || identifier > UINT32_MAX) {
      return PyErr_Format(PyExc_ValueError, "identifier is %lu, not what send() returned",
                          identifier);
    }
  }
  if (!object_lock_acquire(&self->lock, "session")) return NULL;
  apns_status_t status = apns_session_cancel(self->session, (uint32_t)identifier, &count, &error);
  object_lock_release(&self->lock);
  if (status) return raise_error(self->state, &error);
  return PyLong_FromSize_t(count);
}

/* One slice of closing; `status_out` is its result. */
static bool close_slice(session_t *self, int32_t ms, apns_status_t *status_out,
                        apns_error_t *error) {
  deferred_t deferred;
  if (!object_lock_acquire(&self->lock, "session")) return false;
  Py_BEGIN_ALLOW_THREADS;
  *status_out = apns_session_close(self->session, ms, error);
  session_collect(self);
  session_unlock(self, &deferred);
  Py_END_ALLOW_THREADS;
  if (*status_out == APNS_OK) self->closed = true;
  return session_run_deferred(self, &deferred);
}

/* Closes the session while an exception is set, and keeps the exception. */
static void close_at_once(session_t *self) {
  PyObject *failure, *trouble, *place;
  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status;
  PyErr_Fetch(&failure, &trouble, &place);
  if (!close_slice(self, 0, &status, &error)) PyErr_Clear();
  PyErr_Restore(failure, trouble, place);
}

static bool close_session(session_t *self, int32_t timeout_ms) {
  int64_t deadline = session_deadline(self, timeout_ms);
  for (;;) {
    apns_error_t error = APNS_ERROR_INIT;
    apns_status_t status;
    int64_t left = timeout_ms == 0 ? 0 : deadline - clock_ms();
    if (!close_slice(self, left < 0 ? 0 : (int32_t)left, &status, &error)) return false;
    if (status == APNS_OK) return true;
    if (status != APNS_ERR_TIMEOUT) {
      raise_error(self->state, &error);
      return false;
    }
    if (PyErr_CheckSignals()) {
      close_at_once(self);
      return false;
    }
  }
}

PyObject *session_close(PyObject *object, PyObject *args, PyObject *keywords) {
  int32_t timeout_ms;
  if (!session_timeout(args, keywords, "|O:close", -1, &timeout_ms)) return NULL;
  if (!close_session((session_t *)object, timeout_ms)) return NULL;
  Py_RETURN_NONE;
}

PyObject *session_exit(PyObject *object, PyObject *args) {
  session_t *self = (session_t *)object;
  PyObject *kind = NULL, *value, *trace;
  if (!PyArg_ParseTuple(args, "OOO:__exit__", &kind, &value, &trace)) return NULL;
  /* In a child the session is the parent's, who is still in the block. */
  if (self->closed || !object_lock_is_of_this_process(&self->lock)) Py_RETURN_FALSE;
  if (kind != Py_None || self->never_waits) {
    if (!close_session(self, 0)) PyErr_Clear();
    Py_RETURN_FALSE;
  }
  if (drain(self, -1)) {
    if (!close_session(self, 1000)) return NULL;
    Py_RETURN_FALSE;
  }
  close_at_once(self);
  return NULL;
}
