/*
 * The vectors of Tests/Vectors, which the tests in every language read.
 */
#ifndef TESTS_VECTORS_H
#define TESTS_VECTORS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "owned.h"

OWNED(json, json_t, json_decref)

/** Goes through the vectors of a file such as "tokens.json", one file at a time. */
#define vectors_each(file, vector) \
  for (json_t *vector = vectors_first(file); vector; vector = vectors_next())
json_t *vectors_first(const char *file);
json_t *vectors_next(void);

const char *vector_text(const json_t *vector, const char *key);
bool vector_is(const json_t *vector, const char *key, const char *value);

/** The bytes of a key's value in hex; the caller frees. */
uint8_t *vector_bytes(const json_t *vector, const char *key, size_t *length_out);

#endif
