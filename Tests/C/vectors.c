#include "vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The file that is being gone through. */
static json_t *vectors;
static size_t next;

json_t *vectors_next(void) {
  json_t *vector = json_array_get(json_object_get(vectors, "tests"), next++);
  if (!vector) json_decref(vectors), vectors = NULL;
  return vector;
}

json_t *vectors_first(const char *file) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", VECTORS, file);
  json_error_t error;
  json_decref(vectors);
  vectors = json_load_file(path, JSON_ALLOW_NUL, &error);
  next = 0;
  if (!vectors || json_array_size(json_object_get(vectors, "tests")) == 0) {
    fprintf(stderr, "no vectors in %s: %s\n", path, error.text);
    abort();
  }
  return vectors_next();
}

const char *vector_text(const json_t *vector, const char *key) {
  return json_string_value(json_object_get(vector, key));
}

bool vector_is(const json_t *vector, const char *key, const char *value) {
  const char *text = vector_text(vector, key);
  return text && strcmp(text, value) == 0;
}

static int digit(char character) {
  return character <= '9' ? character - '0' : character - 'a' + 10;
}

uint8_t *vector_bytes(const json_t *vector, const char *key, size_t *length_out) {
  const char *hex = vector_text(vector, key);
  size_t length = hex ? strlen(hex) / 2 : 0;
  /* Has exactly that size, so that valgrind detects a read beyond it. */
  uint8_t *bytes = malloc(length ? length : 1);
  for (size_t index = 0; index < length; index++)
    bytes[index] = (uint8_t)(digit(hex[2 * index]) << 4 | digit(hex[2 * index + 1]));
  *length_out = length;
  return bytes;
}
