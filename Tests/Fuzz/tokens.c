/* Device tokens as text, hex and base64, compared with other parsers here. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

typedef apns_status_t (*reader_t)(const char *, size_t, uint8_t *, size_t, size_t *,
                                  apns_error_t *);
typedef apns_status_t (*writer_t)(const void *, size_t, char *, size_t, size_t *, apns_error_t *);

static int digit_of(char character, const char *digits) {
  const char *found = character ? strchr(digits, character) : NULL;
  return found ? (int)(found - digits) : -1;
}

/* The number of bytes, -1 if it is not a token. */
static long read_hex(const char *text, size_t length, uint8_t *token) {
  size_t digits = 0;
  for (size_t i = 0; i < length; i++) {
    if (text[i] == ' ' || text[i] == '<' || text[i] == '>') continue;
    int digit = digit_of(text[i] >= 'A' && text[i] <= 'F' ? (char)(text[i] + 32) : text[i],
                         "0123456789abcdef");
    if (digit < 0) return -1;
    if (digits / 2 < APNS_TOKEN_MAX)
      token[digits / 2] = (uint8_t)(digits % 2 ? token[digits / 2] | digit : digit << 4);
    digits++;
  }
  return digits == 0 || digits % 2 || digits / 2 > APNS_TOKEN_MAX ? -1 : (long)(digits / 2);
}

static long read_base64(const char *text, size_t length, uint8_t *token) {
  size_t padding = 0, digits = length, count = 0;
  while (padding < 2 && digits > 0 && text[digits - 1] == '=') padding++, digits--;
  if (digits == 0 || digits % 4 == 1) return -1;
  if (padding > 0 && (digits + padding) % 4) return -1;
  uint32_t bits = 0;
  for (size_t i = 0; i < digits; i++) {
    int digit =
        digit_of(text[i], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
    if (digit < 0) return -1;
    bits = bits << 6 | (uint32_t)digit;
    if (i % 4 == 0) continue;
    size_t left = i % 4 == 1 ? 4 : i % 4 == 2 ? 2 : 0;
    if (count < APNS_TOKEN_MAX) token[count] = (uint8_t)(bits >> left);
    count++;
    if (i + 1 == digits && bits & ((1u << left) - 1)) return -1;
  }
  return count > APNS_TOKEN_MAX ? -1 : (long)count;
}

static void check_text(const char *text, size_t length, reader_t read, writer_t write,
                       long (*read_here)(const char *, size_t, uint8_t *)) {
  uint8_t token[APNS_TOKEN_MAX] = {0}, expected[APNS_TOKEN_MAX] = {0};
  size_t count = 0;
  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status = read(text, length, token, sizeof token, &count, &error);
  fuzz_check_refusal(status, &error);
  long known = read_here(text, length, expected);
  REQUIRE((status == APNS_OK) == (known > 0));
  if (status != APNS_OK) return;
  REQUIRE(count == (size_t)known && memcmp(token, expected, count) == 0);

  /* A buffer of exactly the size works; one byte less fails and returns the size. */
  uint8_t *exact = fuzz_memory(count);
  size_t told = 0;
  REQUIRE(read(text, length, exact, count, &told, NULL) == APNS_OK && told == count);
  REQUIRE(memcmp(exact, token, count) == 0);
  REQUIRE(read(text, length, exact, count - 1, &told, NULL) == APNS_ERR_BUFFER_SMALL);
  REQUIRE(told == count);
  REQUIRE(read(text, length, NULL, 0, &told, NULL) == APNS_ERR_BUFFER_SMALL && told == count);
  free(exact);

  /* Writing and reading it again gives the same. */
  REQUIRE(write(token, count, NULL, 0, &told, NULL) == APNS_ERR_BUFFER_SMALL);
  char *written = fuzz_memory(told);
  size_t room = told;
  REQUIRE(write(token, count, written, room, &told, NULL) == APNS_OK && told == room - 1);
  REQUIRE(strlen(written) == told);
  uint8_t again[APNS_TOKEN_MAX];
  REQUIRE(read(written, told, again, sizeof again, &room, NULL) == APNS_OK);
  REQUIRE(room == count && memcmp(again, token, count) == 0);
  free(written);
}

/* Any bytes can be written as a token. */
static void check_bytes(const uint8_t *token, size_t length, reader_t read, writer_t write) {
  size_t room = 0, told = 0;
  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status = write(token, length, NULL, 0, &room, &error);
  fuzz_check_error(status, &error);
  REQUIRE(status == (length ? APNS_ERR_BUFFER_SMALL : APNS_ERR_ARGUMENT));
  if (status != APNS_ERR_BUFFER_SMALL) return;
  char *text = fuzz_memory(room);
  REQUIRE(write(token, length, text, room - 1, &told, NULL) == APNS_ERR_BUFFER_SMALL);
  REQUIRE(told == room);
  REQUIRE(write(token, length, text, room, &told, NULL) == APNS_OK && told == room - 1);
  uint8_t again[APNS_TOKEN_MAX];
  status = read(text, told, again, sizeof again, &room, NULL);
  REQUIRE((status == APNS_OK) == (length <= APNS_TOKEN_MAX));
  if (status == APNS_OK) REQUIRE(room == length && memcmp(again, token, length) == 0);
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > 0xFFFF) return 0;
  const char *text = (const char *)data;
  if (!text) text = "";
  check_text(text, size, apns_token_from_hex, apns_token_to_hex, read_hex);
  check_text(text, size, apns_token_from_base64, apns_token_to_base64, read_base64);
  check_bytes((const uint8_t *)text, size, apns_token_from_hex, apns_token_to_hex);
  check_bytes((const uint8_t *)text, size, apns_token_from_base64, apns_token_to_base64);
  return 0;
}
