#include "core.h"

/* Objects are aligned, so that bit 0 tells a free place; the list of them ends with 0. */
static uintptr_t free_place(uintptr_t next) { return next << 1 | 1; }

static bool grow(keepsakes_t *keepsakes) {
  size_t capacity = keepsakes->capacity ? keepsakes->capacity * 2 : 64;
  if (capacity > SIZE_MAX / sizeof *keepsakes->places / 2) return false;
  uintptr_t *places = PyMem_Realloc(keepsakes->places, capacity * sizeof *places);
  if (!places) return false;
  for (size_t i = capacity; i > keepsakes->capacity; i--) {
    places[i - 1] = free_place(keepsakes->free);
    keepsakes->free = i;
  }
  keepsakes->places = places;
  keepsakes->capacity = capacity;
  return true;
}

uintptr_t keepsakes_put(keepsakes_t *keepsakes, PyObject *object) {
  if (!keepsakes->free && !grow(keepsakes)) return 0;
  uintptr_t number = keepsakes->free;
  keepsakes->free = keepsakes->places[number - 1] >> 1;
  Py_INCREF(object);
  keepsakes->places[number - 1] = (uintptr_t)object;
  return number;
}

PyObject *keepsakes_take(keepsakes_t *keepsakes, uintptr_t number) {
  if (number == 0 || number > keepsakes->capacity) return NULL;
  uintptr_t place = keepsakes->places[number - 1];
  if (place & 1) return NULL;
  keepsakes->places[number - 1] = free_place(keepsakes->free);
  keepsakes->free = number;
  return (PyObject *)place;
}

void keepsakes_drop(keepsakes_t *keepsakes, uintptr_t number) {
  PyObject *object = keepsakes_take(keepsakes, number);
  Py_XDECREF(object);
}

int keepsakes_traverse(const keepsakes_t *keepsakes, visitproc visit, void *arg) {
  for (size_t i = 0; i < keepsakes->capacity; i++) {
    if (!(keepsakes->places[i] & 1)) Py_VISIT((PyObject *)keepsakes->places[i]);
  }
  return 0;
}

void keepsakes_clear(keepsakes_t *keepsakes) {
  /* Each end may run Python code that comes back here: never two steps at once. */
  for (size_t i = 0; i < keepsakes->capacity; i++) {
    uintptr_t place = keepsakes->places[i];
    if (place & 1) continue;
    /* The library still has the number: the place is not for others. */
    keepsakes->places[i] = 1;
    Py_DECREF((PyObject *)place);
  }
}

void keepsakes_free(keepsakes_t *keepsakes) {
  keepsakes_clear(keepsakes);
  PyMem_Free(keepsakes->places);
  *keepsakes = (keepsakes_t){0};
}
