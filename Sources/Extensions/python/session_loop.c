/* A session in the program's event loop, made with the option `nonblocking`. */
#include "session.h"

static void *raise_misuse(const session_t *self, apns_status_t status) {
  return raise_status(self->state, status,
                      status == APNS_ERR_FORKED ? "the session was made by the parent process"
                                                : "the session was made without nonblocking");
}

/* Raises unless the session is nonblocking and of this process. */
static bool require_never_waits(const session_t *self) {
  if (!object_lock_is_of_this_process(&self->lock)) {
    raise_misuse(self, APNS_ERR_FORKED);
  } else if (!self->never_waits) {
    raise_misuse(self, APNS_ERR_ARGUMENT);
  } else {
    return true;
  }
  return false;
}

PyObject *session_fileno(PyObject *object, PyObject *none) {
  session_t *self = (session_t *)object;
  (void)none;
  /* It never changes, so no lock is needed. */
  return require_never_waits(self) ? PyLong_FromLong(apns_session_fd(self->session)) : NULL;
}

PyObject *session_process(PyObject *object, PyObject *none) {
  session_t *self = (session_t *)object;
  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status;
  deferred_t deferred;
  (void)none;
  if (!require_never_waits(self) || !object_lock_acquire(&self->lock, "session")) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = apns_session_process(self->session, &error);
  session_collect(self);
  session_unlock(self, &deferred);
  Py_END_ALLOW_THREADS;
  if (status == APNS_DONE) self->closed = true;
  if (!session_run_deferred(self, &deferred)) return NULL;
  if (status == APNS_OK) Py_RETURN_TRUE;
  if (status == APNS_DONE) Py_RETURN_FALSE;
  return raise_error(self->state, &error);
}

PyObject *session_wake(PyObject *object, PyObject *none) {
  session_t *self = (session_t *)object;
  (void)none;
  apns_status_t status = apns_session_wake(self->session);
  if (status) return raise_misuse(self, status);
  Py_RETURN_NONE;
}

PyObject *session_get_timeout(PyObject *object, void *closure) {
  session_t *self = (session_t *)object;
  (void)closure;
  /* A property raises nothing. */
  if (!self->never_waits || !object_lock_is_of_this_process(&self->lock)) Py_RETURN_NONE;
  if (!object_lock_acquire(&self->lock, "session")) return NULL;
  int32_t ms = apns_session_timeout_ms(self->session);
  object_lock_release(&self->lock);
  if (ms < 0) Py_RETURN_NONE;
  return PyFloat_FromDouble(ms / 1000.0);
}
