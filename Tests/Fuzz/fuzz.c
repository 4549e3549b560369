#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_fail(const char *file, int line, const char *condition) {
  fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
  abort();
}

bool fuzz_is_utf8(const void *bytes, size_t length) {
  const uint8_t *at = bytes, *end = at + length;
  while (at < end) {
    uint32_t lead = *at++;
    if (lead < 0x80) continue;
    int more = lead >= 0xC2 && lead < 0xE0   ? 1
               : lead >= 0xE0 && lead < 0xF0 ? 2
               : lead >= 0xF0 && lead < 0xF5 ? 3
                                             : -1;
    if (more < 0 || end - at < more) return false;
    uint32_t character = lead & (0x3Fu >> more);
    for (int i = 0; i < more; i++, at++) {
      if ((*at & 0xC0) != 0x80) return false;
      character = character << 6 | (*at & 0x3Fu);
    }
    if (more == 2 && (character < 0x800 || (character >= 0xD800 && character < 0xE000)))
      return false;
    if (more == 3 && (character < 0x10000 || character > 0x10FFFF)) return false;
  }
  return true;
}

void fuzz_check_error(apns_status_t status, const apns_error_t *error) {
  REQUIRE(strcmp(apns_status_name(status), "unknown status") != 0);
  REQUIRE(error->status == (int32_t)status);
  const char *end = memchr(error->message, 0, sizeof error->message);
  REQUIRE(end != NULL);
  REQUIRE((end > error->message) == (status != APNS_OK));
  REQUIRE(fuzz_is_utf8(error->message, (size_t)(end - error->message)));
  for (const char *at = error->message; at < end; at++)
    REQUIRE((uint8_t)*at >= 0x20 && *at != 0x7F);
}

void fuzz_check_refusal(apns_status_t status, const apns_error_t *error) {
  REQUIRE(status == APNS_OK || status == APNS_ERR_ARGUMENT);
  fuzz_check_error(status, error);
}

uint8_t fuzz_take_byte(fuzz_input_t *input) {
  if (input->left == 0) return 0;
  input->left--;
  return *input->at++;
}

void fuzz_take_number(fuzz_input_t *input, void *number, size_t size) {
  for (size_t i = 0; i < size; i++) ((uint8_t *)number)[i] = fuzz_take_byte(input);
}

char *fuzz_take_text(fuzz_input_t *input, size_t length, size_t *length_out) {
  if (length > input->left) length = input->left;
  char *text = fuzz_memory(length);
  if (length) memcpy(text, input->at, length);
  input->at += length;
  input->left -= length;
  *length_out = length;
  return text;
}

void *fuzz_memory(size_t size) {
  /* malloc(0) may return NULL, which the library treats differently. */
  void *memory = malloc(size ? size : 1);
  if (!memory) abort();
  return memory;
}
