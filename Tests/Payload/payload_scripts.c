/*
 * Builds payloads by byte-coded scripts and writes the results.
 *
 * Input, all numbers little-endian: for each script u32 length, u32 limit, u8
 * truncate, and its steps. A step is a code and what it needs; text is u32
 * length and bytes. Output: for each script u32 number of steps, a status of
 * i8 for each, i8 status of the writing, u32 bytes cut, u32 length and the
 * payload. One payload serves for all scripts of the same limit.
 */
#include <apns/apns.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct cursor {
  const uint8_t *at, *end;
} cursor_t;

static const void *take(cursor_t *cursor, size_t count) {
  if ((size_t)(cursor->end - cursor->at) < count) {
    fprintf(stderr, "a script ends within a step\n");
    exit(2);
  }
  cursor->at += count;
  return cursor->at - count;
}

#define TAKE(type, name, cursor) \
  type name;                     \
  memcpy(&name, take(cursor, sizeof name), sizeof name)

typedef struct text {
  const char *bytes;
  size_t length;
} text_t;

/* In memory of exactly its size, so that a sanitizer detects a read beyond it. */
static text_t take_text(cursor_t *cursor) {
  TAKE(uint32_t, length, cursor);
  char *bytes = malloc(length ? length : 1);
  if (!bytes) abort();
  memcpy(bytes, take(cursor, length), length);
  return (text_t){bytes, length};
}

enum {
  SET_STRING,
  SET_STRINGS,
  SET_INTEGER,
  SET_DOUBLE,
  SET_CRITICAL_SOUND,
  SET_NULL,
  REMOVE,
  ADD_STRING,
  ADD_INTEGER,
  ADD_DOUBLE,
  ADD_BOOLEAN,
  ADD_NULL,
  ADD_JSON,
  REMOVE_CUSTOM,
  SET_JSON
};

static apns_status_t set(apns_payload_t *payload, int code, cursor_t *cursor) {
  apns_status_t status = APNS_OK;
  if (code == SET_CRITICAL_SOUND) {
    text_t name = take_text(cursor);
    TAKE(double, volume, cursor);
    status = apns_payload_set_critical_sound(payload, name.bytes, name.length, volume, NULL);
    free((void *)name.bytes);
    return status;
  }
  TAKE(uint8_t, number, cursor);
  apns_payload_key_t key = (apns_payload_key_t)number;
  if (code == SET_STRING || code == SET_JSON) {
    text_t text = take_text(cursor);
    status = code == SET_STRING
                 ? apns_payload_set_string(payload, key, text.bytes, text.length, NULL)
                 : apns_payload_set_json(payload, key, text.bytes, text.length, NULL);
    free((void *)text.bytes);
  } else if (code == SET_STRINGS) {
    TAKE(uint8_t, count, cursor);
    const char *texts[256];
    size_t lengths[256];
    for (int i = 0; i < count; i++) {
      text_t text = take_text(cursor);
      texts[i] = text.bytes;
      lengths[i] = text.length;
    }
    status = apns_payload_set_strings(payload, key, texts, lengths, count, NULL);
    for (int i = 0; i < count; i++) free((void *)texts[i]);
  } else if (code == SET_INTEGER) {
    TAKE(int64_t, value, cursor);
    status = apns_payload_set_integer(payload, key, value, NULL);
  } else if (code == SET_DOUBLE) {
    TAKE(double, value, cursor);
    status = apns_payload_set_double(payload, key, value, NULL);
  } else if (code == SET_NULL) {
    status = apns_payload_set_string(payload, key, NULL, 0, NULL);
  } else {
    status = apns_payload_remove(payload, key, NULL);
  }
  return status;
}

static apns_status_t add(apns_payload_t *payload, int code, cursor_t *cursor) {
  apns_status_t status = APNS_OK;
  text_t name = take_text(cursor);
  const char *n = name.bytes;
  if (code == ADD_STRING || code == ADD_JSON) {
    text_t text = take_text(cursor);
    status = code == ADD_STRING
                 ? apns_payload_add_string(payload, n, name.length, text.bytes, text.length, NULL)
                 : apns_payload_add_json(payload, n, name.length, text.bytes, text.length, NULL);
    free((void *)text.bytes);
  } else if (code == ADD_INTEGER) {
    TAKE(int64_t, value, cursor);
    status = apns_payload_add_integer(payload, n, name.length, value, NULL);
  } else if (code == ADD_DOUBLE) {
    TAKE(double, value, cursor);
    status = apns_payload_add_double(payload, n, name.length, value, NULL);
  } else if (code == ADD_BOOLEAN) {
    TAKE(uint8_t, value, cursor);
    status = apns_payload_add_boolean(payload, n, name.length, value, NULL);
  } else {
    status = apns_payload_add_null(payload, n, name.length, NULL);
  }
  free((void *)name.bytes);
  return status;
}

static void run(apns_payload_t *payload, cursor_t *cursor) {
  int8_t statuses[4096];
  uint32_t steps = 0;
  for (; cursor->at < cursor->end && steps < sizeof statuses; steps++) {
    TAKE(uint8_t, code, cursor);
    if (code > SET_JSON) {
      fprintf(stderr, "unknown step code %d\n", code);
      exit(2);
    }
    apns_status_t status = APNS_OK;
    if (code == REMOVE_CUSTOM)
      apns_payload_remove_custom(payload);
    else
      status = code < ADD_STRING || code == SET_JSON ? set(payload, code, cursor)
                                                     : add(payload, code, cursor);
    statuses[steps] = (int8_t)status;
  }
  fwrite(&steps, sizeof steps, 1, stdout);
  fwrite(statuses, 1, steps, stdout);

  /* First ask for the size, then provide exactly that. */
  size_t length = 0, cut = 0;
  char *buffer = NULL;
  apns_status_t status = apns_payload_write(payload, NULL, 0, &length, NULL, NULL);
  if (status == APNS_ERR_BUFFER_SMALL) {
    buffer = malloc(length);
    if (!buffer) abort();
    status = apns_payload_write(payload, buffer, length, &length, &cut, NULL);
  }
  int8_t told = (int8_t)status;
  uint32_t numbers[2] = {(uint32_t)cut, (uint32_t)length};
  fwrite(&told, 1, 1, stdout);
  fwrite(numbers, sizeof numbers, 1, stdout);
  if (buffer) fwrite(buffer, 1, length, stdout);
  free(buffer);
}

int main(void) {
  struct {
    uint32_t length, limit;
    uint8_t truncate;
  } head;
  apns_payload_t *payload = NULL;
  apns_payload_options_t options = APNS_PAYLOAD_OPTIONS_INIT;
  while (fread(&head.length, 4, 1, stdin) == 1 && fread(&head.limit, 4, 1, stdin) == 1 &&
         fread(&head.truncate, 1, 1, stdin) == 1) {
    uint8_t *script = malloc(head.length ? head.length : 1);
    if (!script || fread(script, 1, head.length, stdin) != head.length) return 2;
    if (!payload || options.limit != head.limit || options.truncate != head.truncate) {
      apns_payload_free(payload);
      options.limit = head.limit;
      options.truncate = head.truncate;
      if (apns_payload_new(&options, &payload, NULL)) return 2;
    }
    apns_payload_reset(payload);
    cursor_t cursor = {script, script + head.length};
    run(payload, &cursor);
    free(script);
  }
  apns_payload_free(payload);
  return ferror(stdin) || fflush(stdout) ? 2 : 0;
}
