/* The parts of libapns that need neither OpenSSL nor a network, with another libc:
   Tests/Shape/musl. The C libraries differ in numbers, system errors and files. */
#include <apns/apns.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int failures;

static void expect(int holds, const char *what, const char *said) {
  if (!holds) failures++, printf("FAILED: %s: %s\n", what, said);
}

static void tokens(void) {
  const char *hex = "5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412";
  apns_error_t error = APNS_ERROR_INIT;
  uint8_t token[APNS_TOKEN_MAX];
  size_t length = 0;
  expect(!apns_token_from_hex(hex, strlen(hex), token, sizeof token, &length, &error) &&
             length == 32 && token[0] == 0x5f && token[31] == 0x12,
         "a token", error.message);
  expect(apns_token_from_hex("5g", 2, token, sizeof token, &length, &error) == APNS_ERR_ARGUMENT,
         "an invalid token", error.message);
}

static void payloads(void) {
  const char *wanted =
      "{\"aps\":{\"alert\":\"Fu\xc3\x9f\",\"badge\":9,\"relevance-score\":0.1},"
      "\"least\":5e-324,\"most\":1.7976931348623157e308}";
  apns_error_t error = APNS_ERROR_INIT;
  apns_payload_t *payload = NULL;
  char json[256] = "";
  size_t length = 0;
  expect(!apns_payload_new(NULL, &payload, &error) &&
             !apns_payload_set_string(payload, APNS_KEY_ALERT, "Fu\xc3\x9f", 4, &error) &&
             !apns_payload_set_integer(payload, APNS_KEY_BADGE, 9, &error) &&
             !apns_payload_set_double(payload, APNS_KEY_RELEVANCE_SCORE, 0.1, &error) &&
             !apns_payload_add_double(payload, "least", 5, 4.9406564584124654e-324, &error) &&
             !apns_payload_add_double(payload, "most", 4, 1.7976931348623157e308, &error) &&
             !apns_payload_write(payload, json, sizeof json - 1, &length, NULL, &error),
         "a payload", error.message);
  expect(length == strlen(wanted) && !memcmp(json, wanted, length), "its numbers", json);
  apns_payload_free(payload);
}

static void files(const char *file) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_strings_t *strings = NULL;
  const char *const name[] = {"Bob"};
  char text[64] = "";
  expect(apns_strings_open("/nonexistent/file", &strings, &error) != APNS_OK &&
             error.sys_errno == ENOENT && strstr(error.message, strerror(ENOENT)),
         "a missing file", error.message);
  expect(
      !apns_strings_open(file, &strings, &error) &&
          !apns_strings_format(strings, "GREETING", 8, name, 1, text, sizeof text, NULL, &error) &&
          !strcmp(text, "Hello Bob"),
      "a strings file", error.message);
  apns_strings_free(strings);
}

int main(int count, char **arguments) {
  if (count != 2) return 2;
  tokens();
  payloads();
  files(arguments[1]);
  expect(!strcmp(apns_version(), APNS_VERSION_STRING), "the version", apns_version());
  return failures > 0;
}
