#include <unistd.h>

#include "core.h"

bool gate_init(gate_t *gate) {
  gate->owner = getpid();
  gate->lock = PyThread_allocate_lock();
  gate->door = PyThread_allocate_lock();
  if (!gate->lock || !gate->door) PyErr_NoMemory();
  return gate->lock && gate->door;
}

void gate_free(gate_t *gate) {
  if (gate->lock) PyThread_free_lock(gate->lock);
  if (gate->door) PyThread_free_lock(gate->door);
}

bool gate_is_home(const gate_t *gate) { return gate->owner == getpid(); }

/* Waits for it, and sees to signals meanwhile; false with the exception of one. */
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

bool gate_enter(gate_t *gate, const char *what) {
  /* In a child the lock may be held for ever, by a thread that is not there. */
  if (!gate_is_home(gate)) {
    apns_error_t error = APNS_ERROR_INIT;
    error.status = APNS_ERR_FORKED;
    PyOS_snprintf(error.message, sizeof error.message, "the %s was made by the parent process",
                  what);
    raise_error(&error);
    return false;
  }
  int is_next = PyThread_acquire_lock(gate->door, NOWAIT_LOCK);
  if (!is_next || !PyThread_acquire_lock(gate->lock, NOWAIT_LOCK)) {
    if (!is_next && !acquire(gate->door)) return false;
    if (!acquire(gate->lock)) {
      PyThread_release_lock(gate->door);
      return false;
    }
  }
  PyThread_release_lock(gate->door);
  return true;
}

void gate_leave(gate_t *gate) { PyThread_release_lock(gate->lock); }
