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
    Py_BEGIN_ALLOW_THREADS;
    if (!is_next) PyThread_acquire_lock(gate->door, WAIT_LOCK);
    PyThread_acquire_lock(gate->lock, WAIT_LOCK);
    Py_END_ALLOW_THREADS;
  }
  PyThread_release_lock(gate->door);
  return true;
}

void gate_leave(gate_t *gate) { PyThread_release_lock(gate->lock); }
