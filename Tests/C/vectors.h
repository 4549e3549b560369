/*
 * The vectors of Tests/Vectors, which the tests in every language read.
 */
#ifndef TESTS_VECTORS_H
#define TESTS_VECTORS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A file of vectors, such as "tokens.json"; json_decref() it. */
json_t *vectors_read(const char *file);

/** Goes through the vectors of a file, each with its index. */
#define vectors_each(file, index, vector) \
  json_array_foreach(json_object_get((file), "tests"), index, vector)

const char *vector_text(const json_t *vector, const char *key);
bool vector_is(const json_t *vector, const char *key, const char *value);

/** The bytes of a key's value in hex; the caller frees. */
uint8_t *vector_bytes(const json_t *vector, const char *key, size_t *length_out);

#endif
