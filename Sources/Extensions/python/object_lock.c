#include <unistd.h>

#include "core.h"

bool object_lock_init(object_lock_t *lock, const module_state_t *state) {
  lock->state = state;
  lock->process = getpid();
  lock->lock = PyThread_allocate_lock();
  lock->next = PyThread_allocate_lock();
  if (!lock->lock || !lock->next) PyErr_NoMemory();
  return lock->lock && lock->next;
}

void object_lock_free(object_lock_t *lock) {
  if (lock->lock) PyThread_free_lock(lock->lock);
  if (lock->next) PyThread_free_lock(lock->next);
}

bool object_lock_is_of_this_process(const object_lock_t *lock) { return lock->process == getpid(); }

/* Waits for the lock and handles signals; false with the exception of a handler. */
static bool acquire(PyThread_type_lock lock) {
  for (;;) {
    PyLockStatus status;
    Py_BEGIN_ALLOW_THREADS;
    status = PyThread_acquire_lock_timed(lock, SLICE_MS * 1000, 1);
    Py_END_ALLOW_THREADS;
    if (status == PY_LOCK_ACQUIRED) return true;
    if (PyErr_CheckSignals()) return false;
  }
}

bool object_lock_acquire(object_lock_t *lock, const char *what) {
  /* A child has no copy of the thread that may hold the lock. */
  if (!object_lock_is_of_this_process(lock)) {
    raise_status(lock->state, APNS_ERR_FORKED, "the %s was made by the parent process", what);
    return false;
  }
  int is_next = PyThread_acquire_lock(lock->next, NOWAIT_LOCK);
  if (!is_next || !PyThread_acquire_lock(lock->lock, NOWAIT_LOCK)) {
    if (!is_next && !acquire(lock->next)) return false;
    if (!acquire(lock->lock)) {
      PyThread_release_lock(lock->next);
      return false;
    }
  }
  PyThread_release_lock(lock->next);
  return true;
}

bool object_lock_acquire_in_time(object_lock_t *lock, int64_t ms) {
  PyLockStatus status;
  if (!object_lock_is_of_this_process(lock)) return false;
  if (PyThread_acquire_lock(lock->lock, NOWAIT_LOCK)) return true;
  Py_BEGIN_ALLOW_THREADS;
  status = PyThread_acquire_lock_timed(lock->lock, ms * 1000, 0);
  Py_END_ALLOW_THREADS;
  return status == PY_LOCK_ACQUIRED;
}

void object_lock_release(object_lock_t *lock) { PyThread_release_lock(lock->lock); }
