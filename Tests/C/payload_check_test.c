/* Payloads that somebody else made, judged. */
#include <stdio.h>
#include <time.h>

#include "provider.h"
#include "vectors.h"

#define FINDINGS 16

/* What a check told; the array is of exactly that many, so that valgrind sees one too many. */
typedef struct told {
  apns_status_t status;
  apns_error_t error;
  size_t count;
  apns_payload_finding_t findings[FINDINGS];
} told_t;

static told_t check_bytes(const char *json, size_t length, size_t limit) {
  told_t told = {.error = APNS_ERROR_INIT, .findings = {APNS_PAYLOAD_FINDING_INIT}};
  /* Of exactly its size. */
  char *copy = malloc(length ? length : 1);
  memcpy(copy, json, length);
  told.status =
      apns_payload_check(copy, length, limit, told.findings, FINDINGS, &told.count, &told.error);
  free(copy);
  return told;
}

#define check(json) check_bytes((json), sizeof(json) - 1, 0)

#define assert_found(told, index, severity, offset, line, column, message) \
  check_found(&(told), (index), (severity), (offset), (line), (column), (message), __LINE__)
static void check_found(const told_t *told, size_t index, apns_finding_severity_t severity,
                        size_t offset, uint32_t line, uint32_t column, const char *message,
                        int at) {
  const apns_payload_finding_t *found = &told->findings[index];
  if (index >= told->count || found->severity != (int32_t)severity || found->offset != offset ||
      found->line != line || found->column != column || strcmp(found->message, message)) {
    print_error("%zu findings; %zu: severity %d, byte %zu, line %u, column %u: %s\n", told->count,
                index, found->severity, found->offset, found->line, found->column, found->message);
    _fail(__FILE__, at);
  }
  _assert_int_equal(found->size, sizeof *found, __FILE__, at);
}

/* One finding and no other. */
#define assert_one(json, severity, offset, message)                                   \
  do {                                                                                \
    told_t told_ = check(json);                                                       \
    assert_found(told_, 0, (severity), (offset), 1, (offset) + 1, (message));         \
    assert_int_equal(told_.count, 1);                                                 \
    assert_int_equal(told_.status,                                                    \
                     (severity) == APNS_FINDING_ERROR ? APNS_ERR_ARGUMENT : APNS_OK); \
  } while (0)
#define ERROR APNS_FINDING_ERROR
#define WARNING APNS_FINDING_WARNING

#define assert_clean(json)                                           \
  do {                                                               \
    told_t told_ = check(json);                                      \
    if (told_.count) print_error("%s\n", told_.findings[0].message); \
    assert_int_equal(told_.count, 0);                                \
    assert_int_equal(told_.status, APNS_OK);                         \
  } while (0)

static void payloads_that_are_fine(void **state) {
  (void)state;
  assert_clean("{\"aps\":{}}");
  assert_clean("{\"aps\":{\"alert\":\"Message received from Bob\"},\"acme2\":[\"bang\",\"whiz\"]}");
  assert_clean(
      "{ \"aps\" : { \"alert\" : { \"title\":\"t\", \"subtitle\":\"s\", \"body\":\"b\","
      " \"title-loc-key\":\"k\", \"title-loc-args\":[], \"subtitle-loc-key\":\"k\","
      " \"subtitle-loc-args\":[\"a\"], \"loc-key\":\"k\", \"loc-args\":[\"a\",\"b\"],"
      " \"action-loc-key\":null, \"launch-image\":\"i\" }, \"badge\":9, "
      "\"sound\":\"bingbong.aiff\","
      " \"content-available\":1, \"mutable-content\":1, \"category\":\"c\", \"thread-id\":\"t\","
      " \"target-content-id\":\"t\", \"interruption-level\":\"time-sensitive\","
      " \"filter-criteria\":\"f\", \"relevance-score\":0.5, \"url-args\":[\"a\"] } }\n");
  assert_clean("{\"aps\":{\"sound\":{\"critical\":1,\"name\":\"default\",\"volume\":0.5}}}");
  assert_clean("{\"aps\":{\"alert\":{\"action-loc-key\":\"PLAY\"}},\"a\":{\"alert\":[1]}}");
  assert_clean("{\"\\u0061ps\":{\"b\\u0061dge\":3},\"x\":null}");
  assert_clean("{\"aps\":{\"timestamp\":1,\"event\":\"update\",\"content-state\":{\"x\":[]}}}");
  /* A Live Activity's alert has keys of its localization in the place of texts. */
  assert_clean(
      "{\"aps\":{\"alert\":{\"title\":{\"loc-key\":\"a\"},\"body\":{\"loc-key\":\"b\"}},"
      "\"event\":\"update\"}}");
}

static void what_is_no_payload(void **state) {
  (void)state;
  assert_one("[]", ERROR, 0, "a payload is an object, in braces");
  assert_one(" \"aps\"", ERROR, 1, "a payload is an object, in braces");
  assert_one("{\"aps\":[]}", ERROR, 7, "'aps' is not an object");
  assert_one("{\"aps\":{},}", ERROR, 10, "not a key in quotation marks");
  assert_one("{\"aps\":{\"badge\":03}}", ERROR, 17, "not a number as JSON has them");
  assert_one("{\"aps\":{\"alert\":\"\xFF\"}}", ERROR, 17, "not UTF-8");
  assert_one("{\"aps\":{}} x", ERROR, 11, "something follows the end");
  assert_one("{\"aps\":{}}\0", ERROR, 10, "something follows the end");
  assert_one("", ERROR, 0, "the JSON ends too early");
  assert_one("{\"aps\":{\"alert\":\"a\\x\"}}", ERROR, 18, "no escape that JSON has");
  assert_one("{\"aps\":{\"alert\":\"a\tb\"}}", ERROR, 18,
             "a control character in a string is not escaped");
}

static void types_of_every_key(void **state) {
  (void)state;
  assert_one("{\"aps\":{\"alert\":7}}", ERROR, 16, "'alert' is not a string or an object");
  assert_one("{\"aps\":{\"badge\":\"3\"}}", ERROR, 16, "'badge' is not an integer");
  assert_one("{\"aps\":{\"badge\":1.5}}", ERROR, 16, "'badge' is not an integer");
  assert_one("{\"aps\":{\"sound\":true}}", ERROR, 16, "'sound' is not a string or an object");
  assert_one("{\"aps\":{\"sound\":{\"volume\":\"1\"}}}", ERROR, 26, "'volume' is not a number");
  assert_one("{\"aps\":{\"content-available\":true}}", ERROR, 28,
             "'content-available' is not an integer");
  assert_one("{\"aps\":{\"category\":{\"a\":[{}]}}}", ERROR, 19, "'category' is not a string");
  assert_one("{\"aps\":{\"relevance-score\":\"1\"}}", ERROR, 26,
             "'relevance-score' is not a number");
  assert_one("{\"aps\":{\"url-args\":\"a\"}}", ERROR, 19, "'url-args' is not an array of strings");
  assert_one("{\"aps\":{\"alert\":{\"loc-args\":[\"a\",[\"b\"],\"c\"]}}}", ERROR, 33,
             "'loc-args' has an element that is not a string");
  assert_one("{\"aps\":{\"alert\":{\"action-loc-key\":0}}}", ERROR, 34,
             "'action-loc-key' is not a string or null");
  assert_one("{\"aps\":{\"alert\":{\"body\":null}}}", ERROR, 24, "'body' is not a string");
  assert_one("{\"aps\":{\"alert\":{\"body\":{\"loc-key\":\"a\"}}}}", ERROR, 24,
             "'body' is not a string");
}

static void what_a_device_ignores(void **state) {
  (void)state;
  assert_one("{\"aps\":{\"badges\":3}}", WARNING, 8, "'badges' is no key of Apple's; 'badge' is");
  assert_one("{\"aps\":{\"budge\":3}}", WARNING, 8, "'budge' is no key of Apple's; 'badge' is");
  assert_one("{\"aps\":{\"Sound\":\"a\"}}", WARNING, 8, "'Sound' is no key of Apple's; 'sound' is");
  assert_one("{\"aps\":{\"content_available\":1}}", WARNING, 8,
             "'content_available' is no key of Apple's; 'content-available' is");
  assert_one("{\"aps\":{\"alert\":{\"loc_key\":\"k\"}}}", WARNING, 17,
             "'loc_key' is no key of Apple's; 'loc-key' is");
  assert_one("{\"aps\":{\"acme\":[{\"a\":1}]}}", WARNING, 8, "'acme' is no key of Apple's");
  assert_one("{\"aps\":{\"alert\":[\"a\"]}}", WARNING, 16,
             "'alert' is an array, which the device ignores");
  assert_one("{\"aps\":{\"title\":\"t\"}}", WARNING, 8, "'title' belongs in 'alert'");
  assert_one("{\"aps\":{},\"badge\":1}", WARNING, 10, "'badge' belongs in 'aps'");
  assert_one("{\"acme\":1}", WARNING, 0, "there is no 'aps': the device shows nothing by itself");
  assert_one("{\"aps\":{\"badge\":1,\"badge\":2}}", WARNING, 18,
             "'badge' is there twice: devices differ in which they take");
  assert_one("{\"aps\":{},\"a\":1,\"a\":2}", WARNING, 16,
             "'a' is there twice: devices differ in which they take");
  assert_one("{\"aps\":{\"content-available\":0}}", WARNING, 28,
             "'content-available' means something only as 1");
  assert_one("{\"aps\":{\"interruption-level\":\"loud\"}}", WARNING, 29,
             "'interruption-level' is none of passive, active, time-sensitive, critical");
}

static void places_are_those_an_editor_shows(void **state) {
  (void)state;
  told_t told =
      check("{\r\n \"aps\": {\n\t\"badges\": 1,\r\"alert\": \"\xC3\xA9\xF0\x9F\x98\x80\", x}}");
  assert_int_equal(told.count, 2);
  assert_found(told, 0, WARNING, 14, 3, 2, "'badges' is no key of Apple's; 'badge' is");
  assert_found(told, 1, ERROR, 46, 4, 16, "not a key in quotation marks");
  assert_int_equal(told.status, APNS_ERR_ARGUMENT);
  assert_string_equal(told.error.message,
                      "line 4, column 16 (byte 46): not a key in quotation marks");
}

static void all_that_is_found_is_told_in_order(void **state) {
  (void)state;
  told_t told =
      check("{\"aps\":{\"alert\":[],\"badge\":\"1\",\"sounds\":\"s\",\"sound\":1},\"badge\":2,}");
  assert_int_equal(told.count, 6);
  assert_found(told, 0, WARNING, 16, 1, 17, "'alert' is an array, which the device ignores");
  assert_found(told, 1, ERROR, 27, 1, 28, "'badge' is not an integer");
  assert_found(told, 2, WARNING, 31, 1, 32, "'sounds' is no key of Apple's; 'sound' is");
  assert_found(told, 3, ERROR, 52, 1, 53, "'sound' is not a string or an object");
  assert_found(told, 4, WARNING, 55, 1, 56, "'badge' belongs in 'aps'");
  assert_found(told, 5, ERROR, 65, 1, 66, "not a key in quotation marks");
  /* The error is the first, wherever the array ends. */
  assert_string_equal(told.error.message, "line 1, column 28 (byte 27): 'badge' is not an integer");
}

static void more_than_the_array_holds_are_counted(void **state) {
  (void)state;
  static const char json[] = "{\"aps\":{\"x1\":1,\"x2\":1,\"x3\":1,\"badge\":null}}";
  apns_error_t error = APNS_ERROR_INIT;
  apns_payload_finding_t *findings = malloc(2 * sizeof *findings);
  findings[0] = (apns_payload_finding_t)APNS_PAYLOAD_FINDING_INIT;
  size_t count = 0;
  assert_status(APNS_ERR_ARGUMENT,
                apns_payload_check(json, sizeof json - 1, 0, findings, 2, &count, &error), &error);
  assert_int_equal(count, 4);
  assert_string_equal(findings[1].message, "'x2' is no key of Apple's");
  assert_string_equal(error.message, "line 1, column 38 (byte 37): 'badge' is not an integer");
  free(findings);
  assert_int_equal(apns_payload_check(json, sizeof json - 1, 0, NULL, 0, NULL, NULL),
                   APNS_ERR_ARGUMENT);
}

static void a_program_with_a_larger_structure(void **state) {
  (void)state;
  struct {
    apns_payload_finding_t known;
    unsigned char beyond[24];
  } findings[2];
  memset(findings, 0x5A, sizeof findings);
  findings[0].known.size = sizeof findings[0];
  size_t count = 0;
  static const char json[] = "{\"aps\":{\"x1\":1,\"x2\":1}}";
  assert_ok(apns_payload_check(json, sizeof json - 1, 0, &findings[0].known, 2, &count, NULL),
            NULL);
  assert_int_equal(count, 2);
  assert_string_equal(findings[1].known.message, "'x2' is no key of Apple's");
  assert_int_equal(findings[1].known.size, sizeof findings[0]);
  assert_int_equal(findings[1].beyond[23], 0x5A);
}

static void too_long(void **state) {
  (void)state;
  static const char json[] = "{\"aps\":{\"alert\":\"0123456789\"}}";
  told_t told = check_bytes(json, sizeof json - 1, 30);
  assert_int_equal(told.status, APNS_OK);
  told = check_bytes(json, sizeof json - 1, 29);
  assert_int_equal(told.status, APNS_ERR_ARGUMENT);
  assert_int_equal(told.count, 1);
  assert_found(told, 0, ERROR, 29, 1, 30, "the payload has 30 bytes, 1 more than 29");
  char long_json[2049];
  memset(long_json, ' ', sizeof long_json);
  memcpy(long_json, "{\"aps\":{}}", 10);
  assert_int_equal(check_bytes(long_json, 2048, 0).status, APNS_OK);
  assert_int_equal(check_bytes(long_json, 2049, 0).status, APNS_ERR_ARGUMENT);
}

static void arguments_that_cannot_be(void **state) {
  (void)state;
  apns_error_t error = APNS_ERROR_INIT;
  apns_payload_finding_t finding = {0};
  assert_status(APNS_ERR_ARGUMENT, apns_payload_check(NULL, 0, 0, NULL, 0, NULL, &error), &error);
  assert_string_equal(error.message, "json is NULL");
  assert_status(APNS_ERR_ARGUMENT, apns_payload_check("{}", SIZE_MAX, 0, NULL, 0, NULL, &error),
                &error);
  assert_status(APNS_ERR_ARGUMENT, apns_payload_check("{}", 2, 0, &finding, 1, NULL, &error),
                &error);
  assert_contains(error.message, "apns_payload_finding_t.size is 0");
}

/* Whatever is JSON is no error as a custom key's value, and whatever is not is one. */
static void every_json_vector(void **state) {
  (void)state;
  json_t *file = vectors_read("json.json"), *vector;
  size_t index;
  vectors_each(file, index, vector) {
    size_t length;
    uint8_t *json = vector_bytes(vector, "hex", &length);
    char payload[20000];
    size_t head = (size_t)sprintf(payload, "{\"aps\":{},\"k\":");
    memcpy(payload + head, json, length);
    payload[head + length] = '}';
    told_t told = check_bytes(payload, head + length + 1, sizeof payload);
    if ((told.status == APNS_OK) != vector_is(vector, "result", "valid"))
      fail_msg("%s: %s", vector_text(vector, "name"), told.error.message);
    free(json);
  }
  json_decref(file);
}

static void a_thousand_keys_are_no_trouble(void **state) {
  (void)state;
  const size_t count = as_many_as(50000, 2000);
  char *json = malloc(40 * count + 20);
  size_t length = (size_t)sprintf(json, "{\"aps\":{}");
  for (size_t key = 0; key < count; key++)
    length += (size_t)sprintf(json + length, ",\"k%zu\":1,\"k%zu\":2\n", key, key);
  json[length++] = '}';
  int64_t start = cpu_ms();
  apns_error_t error = APNS_ERROR_INIT;
  apns_payload_finding_t *findings = calloc(count, sizeof *findings);
  size_t found = 0;
  findings[0].size = sizeof *findings;
  assert_ok(apns_payload_check(json, length, length, findings, count, &found, &error), &error);
  assert_int_equal(found, count);
  assert_int_equal(findings[count - 1].line, count);
  assert_costs(start, 9000);
  free(findings);
  free(json);
}

/* Texts of which each may take the place of the other, after those before them: the lowest 48
   bits of FNV-1a are the same whatever is chosen, and so is a place in a table of 2^16. */
static const char *const alike[15][2] = {
    {"bdiBFvekmgtk", "Ajqhxwhbcvic"}, {"nguvrjizCwFC", "yauxzfgzbgdm"},
    {"iFfeCfwldzql", "kdnkChektnsc"}, {"wiarfBBhawBa", "wBfsqhdbhyqy"},
    {"oodxcgnriuzj", "xhnjCdwjjkcl"}, {"yBCyzjssotcw", "CgoEhoFjjCyw"},
    {"usEzrfyoxkiB", "yBunxkyCCbFA"}, {"jsnfnFgmwgyF", "bxDAxqwpqDFp"},
    {"lkqmmxDlfyok", "bhzebnmfqCju"}, {"BEueqynmeClo", "rdAgtajoBBli"},
    {"kAwpreeeCkDf", "uflCpvyvcdFF"}, {"AzkCeuAuepaE", "kwrFFbalenDF"},
    {"iFfeCfwldzql", "kdnkChektnsc"}, {"wiarfBBhawBa", "wBfsqhdbhyqy"},
    {"oodxcgnriuzj", "xhnjCdwjjkcl"},
};

/* So many keys; alike or, with another beginning, as long and not alike. */
static char *payload_of(size_t count, bool are_alike, size_t *length_out) {
  char *json = malloc(220 * count + 20), *next = json + sprintf(json, "{\"aps\":{}");
  for (size_t key = 0; key < count; key++) {
    next += sprintf(next, are_alike ? ",\"" : ",\"%04zx", key);
    for (size_t part = 0; part < 15; part++)
      next += sprintf(next, "%s", alike[part][are_alike ? key >> part & 1 : 0]);
    next += sprintf(next, "\":1");
  }
  *next++ = '}';
  *length_out = (size_t)(next - json);
  return json;
}

static clock_t time_to_check(const char *json, size_t length) {
  const clock_t start = clock();
  size_t found = 0;
  apns_error_t error = APNS_ERROR_INIT;
  assert_ok(apns_payload_check(json, length, length, NULL, 0, &found, &error), &error);
  assert_int_equal(found, 0);
  return clock() - start;
}

/* Whoever knows the hash can make keys that collide in it: a payload of them takes no longer. */
static void keys_that_collide_in_a_known_hash(void **state) {
  (void)state;
  const size_t count = as_many_as(32768, 8192);
  size_t length;
  char *json = payload_of(count, false, &length);
  clock_t usual = time_to_check(json, length);
  for (int again = 0; again < 4; again++) usual += time_to_check(json, length);
  free(json);
  json = payload_of(count, true, &length);
  assert_true(time_to_check(json, length) < 20 * (usual / 5) + CLOCKS_PER_SEC / 100);
  free(json);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(payloads_that_are_fine),
      cmocka_unit_test(what_is_no_payload),
      cmocka_unit_test(types_of_every_key),
      cmocka_unit_test(what_a_device_ignores),
      cmocka_unit_test(places_are_those_an_editor_shows),
      cmocka_unit_test(all_that_is_found_is_told_in_order),
      cmocka_unit_test(more_than_the_array_holds_are_counted),
      cmocka_unit_test(a_program_with_a_larger_structure),
      cmocka_unit_test(too_long),
      cmocka_unit_test(arguments_that_cannot_be),
      cmocka_unit_test(every_json_vector),
      cmocka_unit_test(a_thousand_keys_are_no_trouble),
      cmocka_unit_test(keys_that_collide_in_a_known_hash),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
