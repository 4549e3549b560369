/*
 * Builds a payload by a byte-coded script. Any bytes are a script: two for the limit and whether to
 * truncate, then steps, each a code and its arguments.
 */
#define _GNU_SOURCE /* memmem() */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum step {
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
  RESET,
  SET_JSON,
  STEPS
};

typedef struct written {
  apns_status_t status;
  size_t length, cut;
  char *bytes; /* NULL if it is too long */
} written_t;

static bool holds(const written_t *written, const char *text) {
  return memmem(written->bytes, written->length, text, strlen(text)) != NULL;
}

static written_t write_payload(const apns_payload_t *payload, size_t limit, bool truncates) {
  written_t written = {.status = APNS_OK};
  apns_error_t error = APNS_ERROR_INIT;
  written.status = apns_payload_write(payload, NULL, 0, &written.length, NULL, &error);
  fuzz_check_error(written.status, &error);
  if (written.status != APNS_ERR_BUFFER_SMALL) {
    REQUIRE(written.status == APNS_ERR_ARGUMENT && written.length > limit);
    return written;
  }
  REQUIRE(written.length <= limit);
  /* A buffer one byte smaller is refused and not written. */
  size_t again = 0;
  char *small = fuzz_memory(written.length - 1);
  memset(small, 0x5A, written.length - 1);
  REQUIRE(apns_payload_write(payload, small, written.length - 1, &again, NULL, NULL) ==
          APNS_ERR_BUFFER_SMALL);
  for (size_t i = 0; i + 1 < written.length; i++) REQUIRE(small[i] == 0x5A);
  free(small);
  written.bytes = fuzz_memory(written.length);
  written.status =
      apns_payload_write(payload, written.bytes, written.length, &again, &written.cut, &error);
  REQUIRE(written.status == APNS_OK && again == written.length);
  REQUIRE(truncates || written.cut == 0);
  apns_error_t found = APNS_ERROR_INIT;
  /* Only a Live Activity may have an object as title or body. */
  if (apns_payload_check(written.bytes, written.length, limit, NULL, 0, NULL, &found) != APNS_OK &&
      !(strstr(found.message, "'title' is not a string") && holds(&written, "\"title\":{")) &&
      !(strstr(found.message, "'body' is not a string") && holds(&written, "\"body\":{")) &&
      /* The builder writes any number. */
      !strstr(found.message, "a device reads UNIX seconds") && !strstr(found.message, "'badge' is"))
    fuzz_fail(__FILE__, __LINE__, found.message);
  return written;
}

static bool is_same(const written_t *a, const written_t *b) {
  return a->status == b->status && a->length == b->length && a->cut == b->cut &&
         !a->bytes == !b->bytes && (!a->bytes || memcmp(a->bytes, b->bytes, a->length) == 0);
}

static apns_status_t set(apns_payload_t *payload, enum step step, fuzz_input_t *input,
                         apns_error_t *error) {
  apns_payload_key_t key = (apns_payload_key_t)(fuzz_take_byte(input) % 36);
  size_t length = 0;
  char *text = NULL;
  apns_status_t status = APNS_OK;
  int64_t integer = 0;
  double number = 0;
  switch (step) {
    case SET_STRING:
      text = fuzz_take_text(input, fuzz_take_byte(input), &length);
      status = apns_payload_set_string(payload, key, text, length, error);
      REQUIRE(status != APNS_OK || fuzz_is_utf8(text, length));
      break;
    case SET_STRINGS: {
      char *texts[8];
      size_t lengths[8], count = fuzz_take_byte(input) % 8;
      bool are_utf8 = true;
      for (size_t i = 0; i < count; i++) {
        texts[i] = fuzz_take_text(input, fuzz_take_byte(input), &lengths[i]);
        are_utf8 = are_utf8 && fuzz_is_utf8(texts[i], lengths[i]);
      }
      status =
          apns_payload_set_strings(payload, key, (const char *const *)texts, lengths, count, error);
      REQUIRE(status != APNS_OK || are_utf8);
      for (size_t i = 0; i < count; i++) free(texts[i]);
      break;
    }
    case SET_INTEGER:
      fuzz_take_number(input, &integer, sizeof integer);
      status = apns_payload_set_integer(payload, key, integer, error);
      break;
    case SET_DOUBLE:
      fuzz_take_number(input, &number, sizeof number);
      status = apns_payload_set_double(payload, key, number, error);
      REQUIRE(status != APNS_OK || isfinite(number));
      break;
    case SET_CRITICAL_SOUND:
      text = fuzz_take_text(input, fuzz_take_byte(input), &length);
      fuzz_take_number(input, &number, sizeof number);
      if (key & 1) number = (double)key / 36;
      status = apns_payload_set_critical_sound(payload, text, length, number, error);
      REQUIRE((status == APNS_OK) == (number >= 0 && number <= 1 && fuzz_is_utf8(text, length)));
      break;
    case SET_JSON:
      text = fuzz_take_text(input, fuzz_take_byte(input), &length);
      status = apns_payload_set_json(payload, key, text, length, error);
      REQUIRE(status != APNS_OK || (fuzz_is_utf8(text, length) && memchr(text, '{', length)));
      break;
    case SET_NULL:
      status = apns_payload_set_string(payload, key, NULL, 0, error);
      break;
    default:
      status = apns_payload_remove(payload, key, error);
      REQUIRE((status == APNS_OK) == (key >= APNS_KEY_ALERT && key <= APNS_KEY_CONTENT_CHANGED));
  }
  free(text);
  return status;
}

static apns_status_t add(apns_payload_t *payload, enum step step, fuzz_input_t *input,
                         apns_error_t *error) {
  size_t name_length = 0, length = 0;
  char *name = fuzz_take_text(input, fuzz_take_byte(input) % 32, &name_length), *text = NULL;
  apns_status_t status = APNS_OK;
  int64_t integer = 0;
  double number = 0;
  switch (step) {
    case ADD_STRING:
      text = fuzz_take_text(input, fuzz_take_byte(input), &length);
      status = apns_payload_add_string(payload, name, name_length, text, length, error);
      REQUIRE(status != APNS_OK || fuzz_is_utf8(text, length));
      break;
    case ADD_JSON:
      text = fuzz_take_text(input, fuzz_take_byte(input), &length);
      status = apns_payload_add_json(payload, name, name_length, text, length, error);
      REQUIRE(status != APNS_OK || fuzz_is_utf8(text, length));
      break;
    case ADD_INTEGER:
      fuzz_take_number(input, &integer, sizeof integer);
      status = apns_payload_add_integer(payload, name, name_length, integer, error);
      break;
    case ADD_DOUBLE:
      fuzz_take_number(input, &number, sizeof number);
      status = apns_payload_add_double(payload, name, name_length, number, error);
      REQUIRE(status != APNS_OK || isfinite(number));
      break;
    case ADD_BOOLEAN:
      status = apns_payload_add_boolean(payload, name, name_length, fuzz_take_byte(input), error);
      break;
    default:
      status = apns_payload_add_null(payload, name, name_length, error);
  }
  if (status == APNS_OK) {
    REQUIRE(fuzz_is_utf8(name, name_length));
    REQUIRE(name_length != 3 || memcmp(name, "aps", 3) != 0);
    /* The key exists now, so adding it again fails. */
    REQUIRE(apns_payload_add_null(payload, name, name_length, NULL) == APNS_ERR_ARGUMENT);
  }
  free(name);
  free(text);
  return status;
}

/* `watches`: writes and checks the payload after each step, not only at the end. */
static void run(apns_payload_t *payload, fuzz_input_t input, size_t limit, bool truncates,
                bool watches) {
  written_t last = {.status = APNS_OK};
  if (watches) last = write_payload(payload, limit, truncates);
  while (input.left > 0) {
    enum step step = (enum step)(fuzz_take_byte(&input) % STEPS);
    apns_status_t status = APNS_OK;
    if (step == REMOVE_CUSTOM) {
      apns_payload_remove_custom(payload);
    } else if (step == RESET) {
      apns_payload_reset(payload);
    } else {
      apns_error_t error = APNS_ERROR_INIT;
      status = step < ADD_STRING || step == SET_JSON ? set(payload, step, &input, &error)
                                                     : add(payload, step, &input, &error);
      fuzz_check_refusal(status, &error);
    }
    if (!watches) continue;
    written_t written = write_payload(payload, limit, truncates);
    /* A failed call changes nothing. */
    if (status != APNS_OK) REQUIRE(is_same(&last, &written));
    free(last.bytes);
    last = written;
  }
  free(last.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input_t input = {data, size < 600 ? size : 600};
  apns_payload_options_t options = APNS_PAYLOAD_OPTIONS_INIT;
  uint8_t first = fuzz_take_byte(&input);
  options.truncate = first & 1;
  options.limit = (size_t)(first >> 1) * 16 + fuzz_take_byte(&input) % 16 + 12;
  apns_payload_t *payload = NULL, *other = NULL;
  REQUIRE(apns_payload_new(&options, &payload, NULL) == APNS_OK);
  run(payload, input, options.limit, options.truncate, true);
  written_t written = write_payload(payload, options.limit, options.truncate);

  /* A reset payload and a new one give the same bytes. */
  apns_payload_reset(payload);
  REQUIRE(apns_payload_new(&options, &other, NULL) == APNS_OK);
  apns_payload_t *both[] = {payload, other};
  for (int i = 0; i < 2; i++) {
    run(both[i], input, options.limit, options.truncate, false);
    written_t again = write_payload(both[i], options.limit, options.truncate);
    REQUIRE(is_same(&written, &again));
    free(again.bytes);
    apns_payload_free(both[i]);
  }
  free(written.bytes);
  return 0;
}
