/* apns_payload_check() on any bytes, compared with apns_payload_add_json(). */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { LIMIT = 1 << 20, CAPACITY = 64 };

/* Line and column in an editor, counted here. */
static void check_place(const uint8_t *json, size_t length, const apns_payload_finding_t *finding) {
  uint32_t line = 1, column = 1;
  for (size_t i = 0; i < finding->offset; i++) {
    bool ends_line =
        json[i] == '\n' || (json[i] == '\r' && !(i + 1 < length && json[i + 1] == '\n'));
    if (ends_line) {
      line++;
      column = 1;
    } else if (i + 1 == length || (json[i + 1] & 0xC0) != 0x80) {
      column++;
    }
  }
  REQUIRE(finding->line == line);
  REQUIRE(finding->column == column);
}

/* The depth of well-formed JSON. */
static size_t depth_of(const uint8_t *json, size_t length) {
  size_t depth = 0, deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < length; i++) {
    if (in_string && json[i] == '\\') {
      i++;
    } else if (json[i] == '"') {
      in_string = !in_string;
    } else if (!in_string && (json[i] == '{' || json[i] == '[')) {
      if (++depth > deepest) deepest = depth;
    } else if (!in_string && (json[i] == '}' || json[i] == ']')) {
      depth--;
    }
  }
  return deepest;
}

/* The value written as a custom key; NULL if it is refused. */
static char *compact(const char *json, size_t length, size_t *length_out) {
  apns_payload_options_t options = APNS_PAYLOAD_OPTIONS_INIT;
  options.limit = 2 * LIMIT;
  apns_payload_t *payload = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  REQUIRE(apns_payload_new(&options, &payload, NULL) == APNS_OK);
  apns_status_t status = apns_payload_add_json(payload, "k", 1, json, length, &error);
  fuzz_check_refusal(status, &error);
  char *written = NULL;
  if (status == APNS_OK) {
    REQUIRE(apns_payload_write(payload, NULL, 0, length_out, NULL, NULL) == APNS_ERR_BUFFER_SMALL);
    written = fuzz_memory(*length_out);
    size_t again = 0;
    REQUIRE(apns_payload_write(payload, written, *length_out, &again, NULL, NULL) == APNS_OK);
    REQUIRE(again == *length_out);
  }
  apns_payload_free(payload);
  return written;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static apns_payload_finding_t findings[CAPACITY], again[CAPACITY];
  memset(findings, 0, sizeof findings);
  memset(again, 0, sizeof again);
  findings[0].size = again[0].size = sizeof findings[0];
  size_t count = 0, count_again = 0;
  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status = apns_payload_check(data, size, LIMIT, findings, CAPACITY, &count, &error);
  fuzz_check_refusal(status, &error);

  REQUIRE(apns_payload_check(data, size, LIMIT, again, CAPACITY, &count_again, NULL) == status);
  REQUIRE(count == count_again && memcmp(findings, again, sizeof findings) == 0);
  /* With room for only one finding, the first is returned and all are counted. */
  apns_payload_finding_t first = APNS_PAYLOAD_FINDING_INIT;
  REQUIRE(apns_payload_check(data, size, LIMIT, &first, 1, &count_again, NULL) == status);
  REQUIRE(count == count_again);
  if (count > 0) REQUIRE(memcmp(&first, &findings[0], sizeof first) == 0);

  bool has_error = false;
  size_t told = count < CAPACITY ? count : CAPACITY;
  for (size_t i = 0; i < told; i++) {
    REQUIRE(findings[i].size == sizeof findings[i]);
    REQUIRE(findings[i].severity == APNS_FINDING_ERROR ||
            findings[i].severity == APNS_FINDING_WARNING);
    REQUIRE(findings[i].offset <= size);
    check_place(data, size, &findings[i]);
    const char *end = memchr(findings[i].message, 0, sizeof findings[i].message);
    REQUIRE(end && end > findings[i].message);
    REQUIRE(fuzz_is_utf8(findings[i].message, (size_t)(end - findings[i].message)));
    has_error = has_error || findings[i].severity == APNS_FINDING_ERROR;
  }
  if (count <= CAPACITY) REQUIRE(has_error == (status != APNS_OK));

  /* One byte over the limit adds one error. */
  if (size > 1) {
    apns_status_t shorter = apns_payload_check(data, size, size - 1, NULL, 0, &count_again, NULL);
    REQUIRE(shorter == APNS_ERR_ARGUMENT && count_again == count + 1);
    REQUIRE(apns_payload_check(data, size, size, NULL, 0, &count_again, NULL) == status);
    REQUIRE(count_again == count);
  }

  /* A valid payload is a JSON value unless it is one level too deep; any value makes a payload. */
  size_t length = 0;
  char *written = compact((const char *)data, size, &length);
  if (!written && status == APNS_OK) REQUIRE(depth_of(data, size) == 512);
  if (written) {
    REQUIRE(length <= size + 15);
    REQUIRE(apns_payload_check(written, length, 2 * LIMIT, NULL, 0, NULL, NULL) == APNS_OK);
    /* Skips `{"aps":{},"k":` before it and the brace after it. */
    size_t length_again = 0;
    char *written_again = compact(written + 14, length - 15, &length_again);
    REQUIRE(written_again && length_again == length);
    REQUIRE(memcmp(written, written_again, length) == 0);
    free(written_again);
  }
  free(written);
  return 0;
}
