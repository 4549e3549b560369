#include <stdlib.h>

#include "core.h"

/* The list of free places ends with 0. */
static uintptr_t free_place(uintptr_t next) { return next << 1 | 1; }

static bool grow(keepsakes_t *keepsakes) {
  size_t capacity = keepsakes->capacity ? keepsakes->capacity * 2 : 64;
  if (capacity > SIZE_MAX / sizeof *keepsakes->places / 2) return false;
  keepsake_t *places = PyMem_Realloc(keepsakes->places, capacity * sizeof *places);
  if (!places) return false;
  for (size_t i = capacity; i > keepsakes->capacity; i--) {
    places[i - 1].object = free_place(keepsakes->free);
    keepsakes->free = i;
  }
  keepsakes->places = places;
  keepsakes->capacity = capacity;
  return true;
}

uintptr_t keepsakes_put(keepsakes_t *keepsakes, PyObject *object, const void *token,
                        size_t token_length) {
  uint8_t *outside = NULL;
  if (token_length > KEEPSAKE_TOKEN) {
    outside = malloc(token_length);
    if (!outside) return 0;
    memcpy(outside, token, token_length);
  }
  if (!keepsakes->free && !grow(keepsakes)) {
    free(outside);
    return 0;
  }
  uintptr_t number = keepsakes->free;
  keepsake_t *place = &keepsakes->places[number - 1];
  keepsakes->free = place->object >> 1;
  Py_XINCREF(object);
  place->object = (uintptr_t)object;
  place->token_length = (uint8_t)token_length;
  if (outside) {
    memcpy(place->token, &outside, sizeof outside);
  } else {
    memcpy(place->token, token, token_length);
  }
  return number;
}

/* NULL where nobody has it. */
static keepsake_t *find(const keepsakes_t *keepsakes, uintptr_t number) {
  if (number == 0 || number > keepsakes->capacity) return NULL;
  keepsake_t *place = &keepsakes->places[number - 1];
  return place->object & 1 ? NULL : place;
}

static void give_back(keepsakes_t *keepsakes, uintptr_t number) {
  keepsakes->places[number - 1].object = free_place(keepsakes->free);
  keepsakes->free = number;
}

bool keepsakes_take(keepsakes_t *keepsakes, uintptr_t number, keepsake_t *keepsake_out) {
  keepsake_t *place = find(keepsakes, number);
  if (!place) return false;
  *keepsake_out = *place;
  give_back(keepsakes, number);
  return true;
}

const uint8_t *keepsake_token(const keepsake_t *keepsake) {
  uint8_t *outside;
  if (keepsake->token_length <= KEEPSAKE_TOKEN) return keepsake->token;
  memcpy(&outside, keepsake->token, sizeof outside);
  return outside;
}

void keepsake_free(keepsake_t *keepsake) {
  if (keepsake->token_length > KEEPSAKE_TOKEN) free((void *)keepsake_token(keepsake));
  Py_XDECREF((PyObject *)keepsake->object);
}

void keepsakes_drop(keepsakes_t *keepsakes, uintptr_t number) {
  keepsake_t *place = find(keepsakes, number);
  if (!place) return;
  PyObject *object = (PyObject *)place->object;
  if (place->token_length > KEEPSAKE_TOKEN) free((void *)keepsake_token(place));
  give_back(keepsakes, number);
  /* Last: it may run Python code that comes back here. */
  Py_XDECREF(object);
}

int keepsakes_traverse(const keepsakes_t *keepsakes, visitproc visit, void *arg) {
  for (size_t i = 0; i < keepsakes->capacity; i++) {
    if (!(keepsakes->places[i].object & 1)) Py_VISIT((PyObject *)keepsakes->places[i].object);
  }
  return 0;
}

void keepsakes_clear(keepsakes_t *keepsakes) {
  /* Each end may run Python code that comes back here: never two steps at once. */
  for (size_t i = 0; i < keepsakes->capacity; i++) {
    uintptr_t object = keepsakes->places[i].object;
    if (object & 1) continue;
    /* The library still has the number: the place is not for others. */
    keepsakes->places[i].object = 0;
    Py_XDECREF((PyObject *)object);
  }
}

void keepsakes_free(keepsakes_t *keepsakes) {
  keepsakes_clear(keepsakes);
  for (uintptr_t number = 1; number <= keepsakes->capacity; number++) {
    keepsakes_drop(keepsakes, number);
  }
  PyMem_Free(keepsakes->places);
  *keepsakes = (keepsakes_t){0};
}
