#include <unistd.h>

#include "core.h"

bool gate_init(gate_t *gate) {
  gate->owner = getpid();
  gate->lock = PyThread_allocate_lock();
  if (!gate->lock) PyErr_NoMemory();
  return gate->lock != NULL;
}

void gate_free(gate_t *gate) {
  if (gate->lock) PyThread_free_lock(gate->lock);
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
  if (PyThread_acquire_lock(gate->lock, NOWAIT_LOCK)) return true;
  /* Whoever is inside leaves without the interpreter lock. */
  Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(gate->lock, WAIT_LOCK);
  Py_END_ALLOW_THREADS return true;
}

void gate_leave(gate_t *gate) { PyThread_release_lock(gate->lock); }
