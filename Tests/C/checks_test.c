/* The checks that a session makes of each notification; a refusal's status is the gateway's. */
#include <stdio.h>
#include <time.h>

#include "provider.h"

static const gateway_step_t record_all[] = {TAKE_ALL, END};

static apns_session_t *session_checking(gateway_t *gateway, int32_t checks, int32_t format) {
  return session_where(gateway, options.checks = checks, binary->format = format);
}

static apns_notification_t saying(const char *json) {
  apns_notification_t push = *notification(1);
  push.payload = json, push.payload_length = strlen(json);
  return push;
}

/* Refused with this in the message and this status; nothing of it was taken. */
#define assert_refused(session, push, status, ...) \
  check_refusal((session), (push), (status), (const char *const[]){__VA_ARGS__, NULL}, __LINE__)
static void check_refusal(apns_session_t *session, const apns_notification_t *push,
                          apns_reject_t reject, const char *const *parts, int line) {
  FORGET_ERROR();
  const uint64_t before = stats_of(session).taken;
  error.reject = 99;
  uint32_t identifier = 77;
  check_status(APNS_ERR_ARGUMENT, apns_session_send(session, push, 0, &identifier, &error), &error,
               "a refusal", __FILE__, line);
  for (; *parts; parts++) check_contains(error.message, *parts, __FILE__, line);
  _assert_int_equal(error.reject, reject, __FILE__, line);
  _assert_int_equal(identifier, 77, __FILE__, line);
  _assert_int_equal(stats_of(session).taken, before, __FILE__, line);
}

#define assert_taken(session, push)                                    \
  do {                                                                 \
    apns_error_t error_ = APNS_ERROR_INIT;                             \
    assert_ok(apns_session_send((session), (push), 0, NULL, &error_)); \
  } while (0)

/* ---- Payloads -------------------------------------------------------------- */

static const char *const wrong_payloads[][2] = {
    {"{\"aps\":{\"badge\":\"3\"}}",
     "payload, line 1, column 17 (byte 16): 'badge' is not an integer"},
    {"{\"aps\":{\"alert\":\"a\"}", "ends too early"},
    {"{'aps':{}}", "payload, line 1, column 2"},
    {"[]", "a payload is an object"},
    {"{\"aps\":[]}", "'aps' is not an object"},
    {"{\"aps\":{\"alert\":\"\xFF\"}}", "not UTF-8"},
    {"{\"aps\":{\"alert\":{\"loc-args\":[1]}}}", "has an element that is not a string"},
    {"{\"nosuch\":1,\n\"aps\":{\"badges\":1,\"sound\":1}}",
     "payload, line 2, column 27 (byte 39): 'sound'"},
};
#define WRONG (sizeof wrong_payloads / sizeof *wrong_payloads)

/* Payloads that apns_payload_check() only warns about, and payloads of other push types. */
static const char *const fine_payloads[] = {
    "{\"aps\":{\"alert\":\"a\"}}",
    "{\"mdm\":\"8B6D-4F\"}",
    "{\"container-identifier\":\"c\",\"domain\":\"d\"}",
    "{\"aps\":{\"badges\":1},\"a\":1,\"a\":2}",
    "{\"aps\":{\"alert\":[\"a\"]}}",
    "{\"aps\":{\"content-changed\":true}}",
    "{\"aps\":{},\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1}",
};
#define FINE (sizeof fine_payloads / sizeof *fine_payloads)

TEST(payloads_are_checked_where_asked_for) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  owned(session) session = session_checking(gateway, APNS_CHECK_PAYLOAD, 0);
  apns_notification_t push;
  for (size_t index = 0; index < WRONG; index++) {
    push = saying(wrong_payloads[index][0]);
    assert_refused(session, &push, APNS_REJECT_PROCESSING_ERROR, wrong_payloads[index][1]);
  }
  /* No connection ended because of them. */
  assert_int_equal(gateway_connections(gateway), 0);
  for (size_t index = 0; index < FINE; index++) {
    push = saying(fine_payloads[index]);
    assert_taken(session, &push);
  }
  /* The other check is off. */
  push = saying(fine_payloads[0]);
  push.expiry = 3600;
  assert_taken(session, &push);
  assert_int_equal(stats_of(session).taken, FINE + 1);
}

TEST(all_is_checked_by_default) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  owned(session) session = session_checking(gateway, 0, 0);
  apns_notification_t push = saying(wrong_payloads[0][0]);
  assert_refused(session, &push, APNS_REJECT_PROCESSING_ERROR, wrong_payloads[0][1]);
  push = saying(fine_payloads[0]);
  push.expiry = 3600;
  assert_refused(session, &push, APNS_REJECT_PROCESSING_ERROR, "looks like a duration");
}

/* The session checks an equal payload once, and a payload again if a byte at the same address
 * changes. */
TEST(a_payload_that_changes_is_checked_again) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  owned(session) session = session_checking(gateway, 0, 0);
  char text[] = "{\"aps\":{\"content-available\":1}}";
  apns_notification_t push = saying(text);
  assert_taken(session, &push);
  assert_taken(session, &push);
  push.priority = 10;
  assert_refused(session, &push, APNS_REJECT_PROCESSING_ERROR, "priority is 10");
  push.priority = 0;
  text[1] = '\'';
  assert_refused(session, &push, APNS_REJECT_PROCESSING_ERROR, "payload, line 1, column 2");
  text[1] = '"';
  assert_taken(session, &push);
  push.payload_length--;
  assert_refused(session, &push, APNS_REJECT_PROCESSING_ERROR, "ends too early");
  push.payload_length++;
  assert_taken(session, &push);
}

TEST(without_checks_everything_is_taken) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  owned(session) session = session_checking(gateway, -1, 0);
  for (size_t index = 0; index < WRONG; index++) {
    apns_notification_t push = saying(wrong_payloads[index][0]);
    push.expiry = index % 2 ? 3600 : 1245345321;
    assert_taken(session, &push);
  }
}

/* Apple's gateway rejects priority 10 if a notification shows nothing (Binary Provider API). */
TEST(a_silent_payload_needs_its_priority) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  owned(session) session = session_checking(gateway, APNS_CHECK_ALL, 0);
  apns_notification_t push = saying("{\"aps\":{\"content-available\":1},\"x\":{\"alert\":1}}");
  push.priority = 10;
  assert_refused(session, &push, APNS_REJECT_PROCESSING_ERROR, "priority is 10", "needs 5");
  push.priority = 5;
  assert_taken(session, &push);
  push.priority = 0;
  assert_taken(session, &push);
  push = saying("{\"aps\":{\"content-available\":1,\"badge\":0}}");
  push.priority = 10;
  assert_taken(session, &push);
  push = saying("{\"aps\":{\"new\":1,\"content-available\":1}}");
  push.priority = 10;
  assert_taken(session, &push);
  session_end(session, gateway);
  /* A frame without a priority is not checked for it. */
  gateway = gateway_start(NULL, SCRIPTS(record_all));
  session = session_checking(gateway, APNS_CHECK_ALL, APNS_FORMAT_ENHANCED);
  push = saying("{\"aps\":{\"content-available\":1}}");
  push.priority = 10;
  assert_taken(session, &push);
}

/* At the end of a page, with no readable byte after it. */
TEST(a_checked_payload_is_not_read_beyond_its_end) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  owned(session) session = session_checking(gateway, APNS_CHECK_ALL, 0);
  static const char whole[] = "{\"aps\":{\"alert\":{\"title\":\"\\u00e9\xC3\xA9\"},\"badge\":12}}";
  for (size_t length = 1; length < sizeof whole; length++) {
    owned(text) copy = malloc(length);
    memcpy(copy, whole, length);
    apns_notification_t push = *notification(1);
    push.payload = copy, push.payload_length = length;
    if (length == sizeof whole - 1) {
      assert_taken(session, &push);
    } else {
      assert_refused(session, &push, APNS_REJECT_PROCESSING_ERROR, "payload, line 1");
    }
  }
}

/* ---- Expiries ---------------------------------------------------------------- */

TEST(expiries_are_checked_where_asked_for) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  owned(session) session = session_checking(gateway, APNS_CHECK_EXPIRY, 0);
  apns_notification_t push = saying("not JSON, which these checks accept");
  const int64_t now = time(NULL);
  static const int64_t durations[] = {1, 3600, 86400, 31536000, 499999999};
  for (size_t index = 0; index < sizeof durations / sizeof *durations; index++) {
    char advice[64];
    snprintf(advice, sizeof advice, "time(NULL) + %lld", (long long)durations[index]);
    push.expiry = durations[index];
    assert_refused(session, &push, APNS_REJECT_PROCESSING_ERROR, "expiry is ",
                   "looks like a duration", advice);
  }
  push.expiry = 1245345321;
  assert_refused(session, &push, APNS_REJECT_PROCESSING_ERROR, "expiry is 1245345321, ", " s ago",
                 "APNS_EXPIRY_ONCE");
  push.expiry = 1000000000;
  assert_refused(session, &push, APNS_REJECT_PROCESSING_ERROR, " s ago");
  push.expiry = now - 60;
  assert_refused(session, &push, APNS_REJECT_PROCESSING_ERROR, " s ago");
  push.expiry = (now + 3600) * 1000;
  assert_refused(session, &push, APNS_REJECT_PROCESSING_ERROR, "looks like milliseconds");
  push.expiry = 1 + (now - 978307200);
  assert_refused(session, &push, APNS_REJECT_PROCESSING_ERROR, "looks like seconds since 2001");
  push.expiry = (now + 3600) * 1000000;
  assert_refused(session, &push, APNS_REJECT_PROCESSING_ERROR, "looks like microseconds");
  push.expiry = INT64_MAX;
  assert_refused(session, &push, APNS_REJECT_PROCESSING_ERROR, "expiry is 9223372036854775807");
  push.expiry = -2;
  assert_refused(session, &push, APNS_REJECT_PROCESSING_ERROR, "neither a time");
  assert_int_equal(gateway_connections(gateway), 0);
  const int64_t fine[] = {0, APNS_EXPIRY_ONCE, now + 3600, now + 10 * 31536000LL, 99999999999};
  for (size_t index = 0; index < sizeof fine / sizeof *fine; index++) {
    push.expiry = fine[index];
    assert_taken(session, &push);
  }
}

/* ---- The other send functions ------------------------------------------------- */

TEST(an_array_stops_at_what_a_check_finds) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  owned(session) session = session_checking(gateway, APNS_CHECK_ALL, 0);
  apns_notification_t all[10];
  for (size_t index = 0; index < 10; index++) all[index] = saying("{\"aps\":{}}");
  all[4].payload = "{\"aps\":[]}";
  all[7].expiry = 3600;
  size_t taken = 99;
  assert_status(APNS_ERR_ARGUMENT, apns_session_send_many(session, all, 10, 0, &taken, &error));
  assert_int_equal(taken, 4);
  assert_int_equal(error.reject, APNS_REJECT_PROCESSING_ERROR);
  assert_contains(error.message, "'aps' is not an object");
  gateway_await_frames(gateway, 0, 4);
  assert_status(APNS_ERR_ARGUMENT, apns_session_send_many(session, all + 5, 5, 0, &taken, &error));
  assert_int_equal(taken, 2);
  assert_contains(error.message, "looks like a duration");
  assert_ok(apns_session_send_many(session, all + 8, 2, 0, &taken, &error));
  gateway_await_frames(gateway, 0, 8);
  assert_counts(session, 8, 0, 0, 0, 8);
}

TEST(a_builders_payload_is_checked_for_its_expiry) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  owned(session) session = session_checking(gateway, APNS_CHECK_ALL, 0);
  owned(payload) payload = payload_with(NULL);
  apns_notification_t push = *notification(1);
  push.payload = NULL, push.payload_length = 0;
  push.expiry = 3600;
  assert_invalid(apns_session_send_payload(session, &push, payload, 0, NULL, NULL, &error),
                 "looks like a duration");
  assert_int_equal(error.reject, APNS_REJECT_PROCESSING_ERROR);
  push.expiry = 0;
  assert_ok(apns_session_send_payload(session, &push, payload, 0, NULL, NULL, &error));
}

TEST(a_check_that_is_none_is_refused) {
  static const int32_t wrong[] = {4, 7, -2, INT32_MIN, INT32_MAX};
  for (size_t index = 0; index < sizeof wrong / sizeof *wrong; index++) {
    FORGET_ERROR();
    apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
    options.protocol = APNS_PROTOCOL_BINARY;
    options.checks = wrong[index];
    apns_session_t *session = NULL;
    assert_status(APNS_ERR_ARGUMENT, apns_session_new(&options, NULL, &session, &error));
    char text[64];
    snprintf(text, sizeof text, "checks is %d", wrong[index]);
    assert_contains(error.message, text);
    assert_int_equal(error.reject, 0);
  }
}

/* ---- With which status a gateway would have refused it ------------------------- */

TEST(a_refusal_has_the_gateways_status) {
  static char large[3000];
  memset(large, ' ', sizeof large);
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session = session_to(gateway, NULL);
  apns_notification_t push = *notification(1);
#define REFUSED(change, status, text)               \
  do {                                              \
    push = *notification(1);                        \
    change;                                         \
    assert_refused(session, &push, (status), text); \
  } while (0)
  REFUSED(push.token = NULL, APNS_REJECT_MISSING_TOKEN, "token is NULL");
  REFUSED((push.token = NULL, push.payload = NULL), APNS_REJECT_MISSING_TOKEN, "token is NULL");
  REFUSED(push.token_length = 0, APNS_REJECT_MISSING_TOKEN, "0 bytes");
  REFUSED((push.token = large, push.token_length = 101), APNS_REJECT_INVALID_TOKEN_SIZE, "101");
  REFUSED(push.token_length = SIZE_MAX, APNS_REJECT_INVALID_TOKEN_SIZE, "bytes, not 1 to 100");
  REFUSED(push.payload = NULL, APNS_REJECT_MISSING_PAYLOAD, "payload is NULL");
  REFUSED(push.payload_length = 0, APNS_REJECT_MISSING_PAYLOAD, "empty");
  REFUSED((push.payload = large, push.payload_length = 2049), APNS_REJECT_INVALID_PAYLOAD_SIZE,
          "2049");
  REFUSED(push.payload_length = SIZE_MAX, APNS_REJECT_INVALID_PAYLOAD_SIZE, "more than");
  REFUSED(push.priority = 7, APNS_REJECT_PROCESSING_ERROR, "priority is 7");
  REFUSED(push.expiry = -2, APNS_REJECT_PROCESSING_ERROR, "expiry is -2");
  /* Errors of a call are not findings about a notification. */
  REFUSED(push.size = 0, APNS_REJECT_NONE, "INIT macro");
  REFUSED(push.reserved[3] = 1, APNS_REJECT_NONE, "reserved");
#undef REFUSED
  error.reject = 99;
  assert_status(APNS_ERR_ARGUMENT, apns_session_send(session, NULL, 0, NULL, &error));
  assert_int_equal(error.reject, APNS_REJECT_NONE);

  apns_payload_options_t limited = APNS_PAYLOAD_OPTIONS_INIT;
  limited.limit = 20;
  owned(payload) payload = payload_with(&limited);
  assert_ok(apns_payload_set_string(payload, APNS_KEY_ALERT, large, 30, &error));
  push = *notification(1);
  push.payload = NULL, push.payload_length = 0;
  assert_status(APNS_ERR_ARGUMENT,
                apns_session_send_payload(session, &push, payload, 0, NULL, NULL, &error));
  assert_int_equal(error.reject, APNS_REJECT_INVALID_PAYLOAD_SIZE);

  assert_int_equal(gateway_connections(gateway), 0);
}

TEST(a_tokens_text_has_the_gateways_status) {
  static char digits[203];
  memset(digits, 'A', sizeof digits);
  const struct {
    apns_status_t (*read)(const char *, size_t, uint8_t *, size_t, size_t *, apns_error_t *);
    const char *text;
    size_t length;
    apns_reject_t reject;
  } cases[] = {
      {apns_token_from_hex, "0g", 2, APNS_REJECT_INVALID_TOKEN},
      {apns_token_from_hex, "abc", 3, APNS_REJECT_INVALID_TOKEN},
      {apns_token_from_hex, "", 0, APNS_REJECT_MISSING_TOKEN},
      {apns_token_from_hex, "< >", 3, APNS_REJECT_MISSING_TOKEN},
      {apns_token_from_hex, digits, 202, APNS_REJECT_INVALID_TOKEN_SIZE},
      {apns_token_from_base64, "a-", 2, APNS_REJECT_INVALID_TOKEN},
      {apns_token_from_base64, "Zh==", 4, APNS_REJECT_INVALID_TOKEN},
      {apns_token_from_base64, "Zg=", 3, APNS_REJECT_INVALID_TOKEN},
      {apns_token_from_base64, "", 0, APNS_REJECT_MISSING_TOKEN},
      {apns_token_from_base64, digits, 200, APNS_REJECT_INVALID_TOKEN_SIZE},
  };
  for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
    FORGET_ERROR();
    uint8_t token[APNS_TOKEN_MAX];
    size_t length = 0;
    assert_status(APNS_ERR_ARGUMENT, cases[index].read(cases[index].text, cases[index].length,
                                                       token, sizeof token, &length, &error));
    assert_int_equal(error.reject, cases[index].reject);
  }
  uint8_t small[1];
  size_t length = 0;
  assert_status(APNS_ERR_BUFFER_SMALL, apns_token_from_hex("0a0b", 4, small, 1, &length, &error));
  assert_int_equal(error.reject, APNS_REJECT_NONE);
}

TEST(a_payload_judged_has_the_gateways_status) {
  assert_status(APNS_ERR_ARGUMENT,
                apns_payload_check("{\"aps\":{}}", 10, 9, NULL, 0, NULL, &error));
  assert_int_equal(error.reject, APNS_REJECT_INVALID_PAYLOAD_SIZE);
  assert_status(APNS_ERR_ARGUMENT, apns_payload_check("{", 1, 0, NULL, 0, NULL, &error));
  assert_int_equal(error.reject, APNS_REJECT_PROCESSING_ERROR);
}
