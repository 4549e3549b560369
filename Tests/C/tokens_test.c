/* Device tokens as text and back. */
#include <ctype.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "provider.h"
#include "vectors.h"

TEST(every_valid_vector) {
  vectors_each("tokens.json", vector) {
    if (!vector_is(vector, "result", "valid")) continue;
    size_t text_length, expected_length, length = 999;
    owned(bytes) text = vector_bytes(vector, "hex", &text_length);
    owned(bytes) expected = vector_bytes(vector, "token", &expected_length);
    uint8_t token[APNS_TOKEN_MAX];
    memset(token, 0xA5, sizeof token);
    /* The capacity is exact. */
    assert_ok(apns_token_from_hex((const char *)text, text_length, token, expected_length, &length,
                                  &error));
    assert_int_equal(length, expected_length);
    assert_memory_equal(token, expected, length);
    for (size_t rest = length; rest < sizeof token; rest++) assert_int_equal(token[rest], 0xA5);
  }
}

TEST(every_invalid_vector) {
  vectors_each("tokens.json", vector) {
    FORGET_ERROR();
    if (!vector_is(vector, "result", "invalid")) continue;
    size_t text_length, length = 999;
    owned(bytes) text = vector_bytes(vector, "hex", &text_length);
    uint8_t token[APNS_TOKEN_MAX];
    assert_status(APNS_ERR_ARGUMENT, apns_token_from_hex((const char *)text, text_length, token,
                                                         sizeof token, &length, &error));
    assert_int_equal(error.status, APNS_ERR_ARGUMENT);
    const json_t *fault = json_object_get(vector, "error");
    if (vector_is(fault, "reason", "character")) {
      int byte = (int)json_integer_value(json_object_get(fault, "byte"));
      char expected[80], shown[16];
      snprintf(shown, sizeof shown, isgraph(byte) && byte < 127 ? "'%c'" : "0x%02x", byte);
      snprintf(expected, sizeof expected, "character %s at %d is not hex", shown,
               (int)json_integer_value(json_object_get(fault, "position")));
      assert_string_equal(error.message, expected);
    } else if (vector_is(fault, "reason", "oddDigits")) {
      assert_contains(error.message, "odd number of hex digits");
    } else if (vector_is(fault, "reason", "noDigits")) {
      assert_contains(error.message, "no hex digit");
    } else if (vector_is(fault, "reason", "description")) {
      assert_string_equal(
          error.message,
          "this is how Swift and iOS 13 print Data, and not the token: the app has "
          "to send each byte in hex, map { String(format: \"%02x\", $0) }.joined()");
      assert_int_equal(error.reject, APNS_REJECT_INVALID_TOKEN);
    } else {
      assert_true(vector_is(fault, "reason", "tooLong"));
      assert_contains(error.message, "more than 100");
    }
  }
}

/* What Apple's listings would make of a text: digit by digit. -1: not a token. */
static int plainly(const char *text, size_t length, uint8_t *token) {
  int digits = 0, high = 0;
  for (size_t at = 0; at < length; at++) {
    unsigned char byte = (unsigned char)text[at];
    if (byte == ' ' || byte == '<' || byte == '>') continue;
    if (byte > 127 || !isxdigit(byte)) return -1;
    int value = isdigit(byte) ? byte - '0' : tolower(byte) - 'a' + 10;
    if (digits & 1) token[digits / 2] = (uint8_t)(high << 4 | value);
    high = value;
    digits++;
  }
  return digits && !(digits & 1) ? digits / 2 : -1;
}

/* The library reads eight digits at a time if it can; the result is the same for any text. */
TEST(any_text_is_read_as_digit_by_digit) {
  static const char characters[] = "0123456789abcdefABCDEF<> gG@`/:pqxX\x10\x19\x7f\xc1";
  unsigned seed = 20260101;
  size_t tokens = 0;
  for (size_t round = 0; round < as_many_as(300000, 5000); round++) {
    char text[48];
    uint8_t expected[24], token[48];
    size_t length = (size_t)rand_r(&seed) % 40, found = 999;
    size_t kinds = rand_r(&seed) % 3 ? 22 : sizeof characters - 1;
    for (size_t at = 0; at < length; at++) text[at] = characters[(size_t)rand_r(&seed) % kinds];
    if (length && rand_r(&seed) % 8 == 0)
      text[(size_t)rand_r(&seed) % length] = (char)rand_r(&seed);
    size_t capacity = rand_r(&seed) % 2 ? 24 : (size_t)rand_r(&seed) % 24;
    int count = plainly(text, length, expected);
    memset(token, 0xA5, sizeof token);
    apns_status_t status = apns_token_from_hex(text, length, token, capacity, &found, NULL);
    if (count < 0) {
      assert_int_equal(status, APNS_ERR_ARGUMENT);
    } else {
      assert_int_equal(status, (size_t)count <= capacity ? APNS_OK : APNS_ERR_BUFFER_SMALL);
      assert_int_equal(found, count);
      if (status == APNS_OK) assert_memory_equal(token, expected, found);
      tokens++;
    }
    for (size_t at = capacity; at < sizeof token; at++) assert_int_equal(token[at], 0xA5);
  }
  assert_true(tokens > 100);
}

TEST(too_small_a_buffer_says_how_much) {
  vectors_each("tokens.json", vector) {
    if (!vector_is(vector, "result", "valid")) continue;
    size_t text_length, expected_length;
    owned(bytes) text = vector_bytes(vector, "hex", &text_length);
    free(vector_bytes(vector, "token", &expected_length));
    size_t length = 999;
    assert_status(APNS_ERR_BUFFER_SMALL,
                  apns_token_from_hex((const char *)text, text_length, NULL, 0, &length, &error));
    assert_int_equal(length, expected_length);
    /* Has exactly the size that may be written, so that valgrind detects more. */
    owned(bytes) small = malloc(expected_length);
    length = 999;
    assert_status(APNS_ERR_BUFFER_SMALL, apns_token_from_hex((const char *)text, text_length, small,
                                                             expected_length - 1, &length, &error));
    assert_int_equal(length, expected_length);
  }
}

TEST(there_and_back) {
  for (size_t count = 1; count <= APNS_TOKEN_MAX; count++) {
    uint8_t token[APNS_TOKEN_MAX], again[APNS_TOKEN_MAX];
    char text[2 * APNS_TOKEN_MAX + 1];
    for (size_t index = 0; index < count; index++) token[index] = (uint8_t)(index * 37 + count);
    size_t length = 0;
    assert_ok(apns_token_to_hex(token, count, text, 2 * count + 1, &length, &error));
    assert_int_equal(length, 2 * count);
    assert_int_equal(strlen(text), 2 * count);
    for (size_t index = 0; index < length; index++)
      assert_true(isdigit(text[index]) || (text[index] >= 'a' && text[index] <= 'f'));
    assert_ok(apns_token_from_hex(text, length, again, sizeof again, &length, &error));
    assert_int_equal(length, count);
    assert_memory_equal(token, again, count);
  }
}

TEST(to_hex_with_too_small_a_buffer) {
  const uint8_t token[4] = {0xDE, 0xAD, 0xBE, 0xEF};
  for (size_t capacity = 0; capacity < 9; capacity++) {
    char text[16];
    memset(text, '?', sizeof text);
    size_t length = 999;
    assert_status(APNS_ERR_BUFFER_SMALL,
                  apns_token_to_hex(token, 4, text, capacity, &length, &error));
    assert_int_equal(length, 9);
    for (size_t index = 0; index < sizeof text; index++) assert_int_equal(text[index], '?');
  }
  char text[9];
  assert_ok(apns_token_to_hex(token, 4, text, sizeof text, NULL, &error));
  assert_string_equal(text, "deadbeef");
  assert_status(APNS_ERR_BUFFER_SMALL, apns_token_to_hex(token, 4, NULL, 0, NULL, NULL));
  size_t length = 0;
  assert_status(APNS_ERR_BUFFER_SMALL, apns_token_to_hex(token, 4, NULL, 99, &length, &error));
  assert_int_equal(length, 9);
}

/* ---- Base64 ------------------------------------------------------------- */

TEST(every_valid_base64_vector) {
  vectors_each("tokens-base64.json", vector) {
    if (!vector_is(vector, "result", "valid")) continue;
    size_t text_length, expected_length, length = 999;
    owned(bytes) text = vector_bytes(vector, "hex", &text_length);
    owned(bytes) expected = vector_bytes(vector, "token", &expected_length);
    /* Has exactly the size that may be written, so that valgrind detects more. */
    owned(bytes) token = malloc(expected_length);
    assert_status(APNS_ERR_BUFFER_SMALL,
                  apns_token_from_base64((const char *)text, text_length, token,
                                         expected_length - 1, &length, &error));
    assert_int_equal(length, expected_length);
    assert_status(APNS_ERR_BUFFER_SMALL, apns_token_from_base64((const char *)text, text_length,
                                                                NULL, 0, &length, &error));
    assert_int_equal(length, expected_length);
    length = 999;
    assert_ok(apns_token_from_base64((const char *)text, text_length, token, expected_length,
                                     &length, &error));
    assert_int_equal(length, expected_length);
    assert_memory_equal(token, expected, length);
    /* And back, which is with padding. */
    char again[200];
    assert_ok(apns_token_to_base64(token, length, again, sizeof again, &length, &error));
    assert_int_equal(length, (expected_length + 2) / 3 * 4);
    assert_int_equal(strlen(again), length);
    assert_memory_equal(again, text, text_length);
    for (size_t rest = text_length; rest < length; rest++) assert_int_equal(again[rest], '=');
  }
}

TEST(every_invalid_base64_vector) {
  static const struct {
    const char *reason, *words;
  } said[] = {
      {"character", "is not base64"},
      {"padding", "is padding out of place"},
      {"behindPadding", "follows the padding"},
      {"halfPadding", "one '=' instead of two"},
      {"looseBits", "bits that the last byte has no room for"},
      {"cutShort", "one base64 digit is left over"},
      {"noDigits", "no base64 digit"},
      {"tooLong", "more than 100"},
  };
  vectors_each("tokens-base64.json", vector) {
    FORGET_ERROR();
    if (!vector_is(vector, "result", "invalid")) continue;
    size_t text_length, length = 999, reason = 0;
    owned(bytes) text = vector_bytes(vector, "hex", &text_length);
    uint8_t token[APNS_TOKEN_MAX];
    assert_status(APNS_ERR_ARGUMENT, apns_token_from_base64((const char *)text, text_length, token,
                                                            sizeof token, &length, &error));
    const json_t *fault = json_object_get(vector, "error");
    while (!vector_is(fault, "reason", said[reason].reason))
      assert_true(++reason < sizeof said / sizeof *said);
    assert_contains(error.message, said[reason].words);
    if (json_object_get(fault, "position")) {
      int byte = (int)json_integer_value(json_object_get(fault, "byte"));
      char expected[80], shown[16];
      snprintf(shown, sizeof shown, isgraph(byte) && byte < 127 ? "'%c'" : "0x%02x", byte);
      snprintf(expected, sizeof expected, "character %s at %d %s", shown,
               (int)json_integer_value(json_object_get(fault, "position")), said[reason].words);
      if (!strcmp(said[reason].reason, "looseBits"))
        assert_contains(error.message, "has bits that the last byte has no room for");
      else
        assert_string_equal(error.message, expected);
    }
  }
}

/* What RFC 4648 makes of a text, digit by digit. -1: not a token. */
static int base64_plainly(const char *text, size_t length, uint8_t *token) {
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t padding = 0;
  while (length && padding < 2 && text[length - 1] == '=') length--, padding++;
  unsigned bits = 0;
  int count = 0;
  for (size_t at = 0; at < length; at++) {
    const char *digit = text[at] ? strchr(alphabet, text[at]) : NULL;
    if (!digit) return -1;
    bits = bits << 6 | (unsigned)(digit - alphabet);
    if (at % 4) token[count++] = (uint8_t)(bits >> (6 - 2 * (at % 4)));
  }
  const size_t left = length % 4;
  if (!length || left == 1 || (padding && (!left || left + padding != 4))) return -1;
  if ((left == 2 && bits & 15) || (left == 3 && bits & 3)) return -1;
  return count <= APNS_TOKEN_MAX ? count : -1;
}

/* The library reads eight digits at a time if it can. The result is the same for any text, even at
   the end of a page, and for any size of the output buffer. */
TEST(any_base64_is_read_as_digit_by_digit) {
  static const char characters[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
      "=-_*,.:@[`{ \n\x7f\x80\xaf\xc1\xff";
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(pages != MAP_FAILED && !mprotect(pages + page, page, PROT_NONE));
  unsigned seed = 20260202;
  size_t tokens = 0;
  for (size_t round = 0; round < as_many_as(400000, 5000); round++) {
    uint8_t expected[128], token[128];
    size_t length = (size_t)rand_r(&seed) % 60, found = 999;
    if (rand_r(&seed) % 64 == 0) length = 120 + (size_t)rand_r(&seed) % 24;
    char *text = pages + page - length;
    for (size_t at = 0; at < length; at++) text[at] = characters[(size_t)rand_r(&seed) % 64];
    if (length >= 2 && rand_r(&seed) % 2) text[length - 1] = '=';
    if (length >= 2 && text[length - 1] == '=' && rand_r(&seed) % 2) text[length - 2] = '=';
    /* The last digit may not have more bits than the last byte takes. */
    for (size_t at = length; at-- && rand_r(&seed) % 4;)
      if (text[at] != '=') {
        text[at] = 'A';
        break;
      }
    if (length && rand_r(&seed) % 4 == 0)
      text[(size_t)rand_r(&seed) % length] =
          rand_r(&seed) % 2 ? (char)rand_r(&seed)
                            : characters[64 + (size_t)rand_r(&seed) % (sizeof characters - 65)];
    size_t capacity = rand_r(&seed) % 2 ? 108 : (size_t)rand_r(&seed) % 50;
    int count = base64_plainly(text, length, expected);
    memset(token, 0xA5, sizeof token);
    apns_status_t status = apns_token_from_base64(text, length, token, capacity, &found, NULL);
    if (count < 0) {
      assert_int_equal(status, APNS_ERR_ARGUMENT);
    } else {
      assert_int_equal(status, (size_t)count <= capacity ? APNS_OK : APNS_ERR_BUFFER_SMALL);
      assert_int_equal(found, count);
      if (status == APNS_OK) assert_memory_equal(token, expected, found);
      tokens++;
    }
    for (size_t at = capacity; at < sizeof token; at++) assert_int_equal(token[at], 0xA5);
  }
  assert_true(tokens > 100);
  /* And each character in each of the eight places, among digits. */
  for (int byte = 0; byte < 256; byte++)
    for (size_t place = 0; place < 8; place++) {
      uint8_t expected[128], token[128];
      char *text = pages + page - 16;
      memset(text, 'Q', 16);
      text[place] = (char)byte;
      size_t found = 999;
      int count = base64_plainly(text, 16, expected);
      apns_status_t status = apns_token_from_base64(text, 16, token, sizeof token, &found, NULL);
      assert_int_equal(status, count < 0 ? APNS_ERR_ARGUMENT : APNS_OK);
      if (status == APNS_OK) assert_memory_equal(token, expected, found);
    }
  munmap(pages, 2 * page);
}

TEST(base64_there_and_back) {
  for (size_t count = 1; count <= APNS_TOKEN_MAX; count++) {
    uint8_t token[APNS_TOKEN_MAX], again[APNS_TOKEN_MAX];
    const size_t characters = (count + 2) / 3 * 4;
    for (size_t index = 0; index < count; index++) token[index] = (uint8_t)(index * 91 + count);
    size_t length = 0;
    owned(text) text = malloc(characters + 1);
    memset(text, '?', characters);
    assert_status(APNS_ERR_BUFFER_SMALL,
                  apns_token_to_base64(token, count, text, characters, &length, &error));
    assert_int_equal(length, characters + 1);
    for (size_t index = 0; index < characters; index++) assert_int_equal(text[index], '?');
    assert_ok(apns_token_to_base64(token, count, text, characters + 1, NULL, &error));
    assert_int_equal(strlen(text), characters);
    assert_ok(apns_token_from_base64(text, characters, again, sizeof again, &length, &error));
    assert_int_equal(length, count);
    assert_memory_equal(token, again, count);
  }
}

TEST(arguments_that_cannot_be) {
  uint8_t token[4] = {1, 2, 3, 4};
  char text[16];
  size_t length;
  assert_invalid(apns_token_from_hex(NULL, 4, token, 4, &length, &error), "text is NULL");
  assert_invalid(apns_token_from_hex("0a", 2, token, 4, NULL, &error), "length_out is NULL");
  assert_status(APNS_ERR_ARGUMENT, apns_token_from_hex("0a", SIZE_MAX, token, 4, &length, &error));
  assert_invalid(apns_token_to_hex(NULL, 4, text, 16, &length, &error), "token is NULL");
  assert_invalid(apns_token_to_hex(token, 0, text, 16, &length, &error), "token_length");
  assert_status(APNS_ERR_ARGUMENT, apns_token_to_hex(token, SIZE_MAX, text, 16, &length, &error));
  assert_invalid(apns_token_from_base64(NULL, 4, token, 4, &length, &error), "text is NULL");
  assert_invalid(apns_token_from_base64("Zg==", 4, token, 4, NULL, &error), "length_out is NULL");
  assert_status(APNS_ERR_ARGUMENT,
                apns_token_from_base64("Zg", SIZE_MAX, token, 4, &length, &error));
  assert_status(APNS_ERR_ARGUMENT, apns_token_to_base64(NULL, 4, text, 16, &length, &error));
  assert_invalid(apns_token_to_base64(token, 65536, text, 16, &length, &error), "token_length");
}
