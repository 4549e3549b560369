#include <stdlib.h>

#include "core.h"

/* The list of free entries ends with 0. */
static uintptr_t free_entry(uintptr_t next) { return next << 1 | 1; }

static bool grow(pending_table_t *table) {
  size_t capacity = table->capacity ? table->capacity * 2 : 64;
  if (capacity > SIZE_MAX / sizeof *table->entries / 2) return false;
  pending_t *entries = PyMem_Realloc(table->entries, capacity * sizeof *entries);
  if (!entries) return false;
  for (size_t i = capacity; i > table->capacity; i--) {
    entries[i - 1].object = free_entry(table->free);
    table->free = i;
  }
  table->entries = entries;
  table->capacity = capacity;
  return true;
}

uintptr_t pending_add(pending_table_t *table, PyObject *object, const void *token,
                      size_t token_length) {
  uint8_t *outside = NULL;
  if (token_length > PENDING_TOKEN_INLINE) {
    outside = malloc(token_length);
    if (!outside) return 0;
    memcpy(outside, token, token_length);
  }
  if (!table->free && !grow(table)) {
    free(outside);
    return 0;
  }
  uintptr_t number = table->free;
  pending_t *entry = &table->entries[number - 1];
  table->free = entry->object >> 1;
  Py_XINCREF(object);
  entry->object = (uintptr_t)object;
  entry->owner = 0;
  entry->token_length = (uint8_t)token_length;
  if (outside) {
    memcpy(entry->token, &outside, sizeof outside);
  } else if (token_length > 0) {
    memcpy(entry->token, token, token_length);
  }
  return number;
}

/* NULL: it is not in use. */
static pending_t *find(const pending_table_t *table, uintptr_t number) {
  if (number == 0 || number > table->capacity) return NULL;
  pending_t *entry = &table->entries[number - 1];
  return entry->object & 1 ? NULL : entry;
}

static void give_back(pending_table_t *table, uintptr_t number) {
  table->entries[number - 1].object = free_entry(table->free);
  table->free = number;
}

bool pending_take(pending_table_t *table, uintptr_t number, pending_t *entry_out) {
  pending_t *entry = find(table, number);
  if (!entry) return false;
  *entry_out = *entry;
  give_back(table, number);
  return true;
}

uint32_t pending_owner(const pending_table_t *table, uintptr_t number) {
  const pending_t *entry = find(table, number);
  return entry ? entry->owner : 0;
}

void pending_own(pending_table_t *table, uintptr_t number, uint32_t owner) {
  pending_t *entry = find(table, number);
  if (entry) entry->owner = owner;
}

void pending_disown(pending_table_t *table, uint32_t owner) {
  for (uintptr_t number = 1; number <= table->capacity; number++) {
    pending_t *entry = find(table, number);
    if (entry && entry->owner == owner) entry->owner = 0;
  }
}

bool pending_tell(pending_table_t *table, uintptr_t number, pending_t *entry_out) {
  pending_t *entry = find(table, number);
  if (!entry) return false;
  *entry_out = *entry;
  *entry = (pending_t){.owner = OWNER_TOLD};
  return true;
}

const uint8_t *pending_token(const pending_t *entry) {
  uint8_t *outside;
  if (entry->token_length <= PENDING_TOKEN_INLINE) return entry->token;
  memcpy(&outside, entry->token, sizeof outside);
  return outside;
}

void pending_free(pending_t *entry) {
  if (entry->token_length > PENDING_TOKEN_INLINE) free((void *)pending_token(entry));
  Py_XDECREF((PyObject *)entry->object);
}

void pending_drop(pending_table_t *table, uintptr_t number) {
  pending_t *entry = find(table, number);
  if (!entry) return;
  PyObject *object = (PyObject *)entry->object;
  if (entry->token_length > PENDING_TOKEN_INLINE) free((void *)pending_token(entry));
  give_back(table, number);
  /* Last, as it may run Python code that changes the table. */
  Py_XDECREF(object);
}

int pending_traverse(const pending_table_t *table, visitproc visit, void *arg) {
  for (size_t i = 0; i < table->capacity; i++) {
    if (!(table->entries[i].object & 1)) Py_VISIT((PyObject *)table->entries[i].object);
  }
  return 0;
}

void pending_clear(pending_table_t *table) {
  /* Each release may run Python code that changes the table, so read it again each time. */
  for (size_t i = 0; i < table->capacity; i++) {
    uintptr_t object = table->entries[i].object;
    if (object & 1) continue;
    /* The library still has the number, so the entry stays in use. */
    table->entries[i].object = 0;
    Py_XDECREF((PyObject *)object);
  }
}

void pending_table_free(pending_table_t *table) {
  pending_clear(table);
  for (uintptr_t number = 1; number <= table->capacity; number++) {
    pending_drop(table, number);
  }
  PyMem_Free(table->entries);
  *table = (pending_table_t){0};
}
