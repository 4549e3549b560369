/* Names of statuses, texts of rejections, the version. */
#include <stdio.h>

#include "provider.h"

static void every_status_has_its_name(void **state) {
  (void)state;
#define CHECK(status) assert_string_equal(apns_status_name(status), #status)
  CHECK(APNS_OK);
  CHECK(APNS_DONE);
  CHECK(APNS_ERR_ARGUMENT);
  CHECK(APNS_ERR_BUFFER_SMALL);
  CHECK(APNS_ERR_MEMORY);
  CHECK(APNS_ERR_TIMEOUT);
  CHECK(APNS_ERR_NETWORK);
  CHECK(APNS_ERR_TLS);
  CHECK(APNS_ERR_CREDENTIALS);
  CHECK(APNS_ERR_PROTOCOL);
  CHECK(APNS_ERR_FULL);
  CHECK(APNS_ERR_CLOSED);
  CHECK(APNS_ERR_FORKED);
#undef CHECK
}

static void any_other_number_is_an_unknown_status(void **state) {
  (void)state;
  static const int others[] = {1, 2, -13, -14, 1000, INT32_MAX, INT32_MIN};
  for (size_t index = 0; index < sizeof others / sizeof *others; index++)
    assert_string_equal(apns_status_name((apns_status_t)others[index]), "unknown status");
}

static void what_may_succeed_later_is_retryable(void **state) {
  (void)state;
  assert_int_equal(apns_status_is_retryable(APNS_ERR_MEMORY), 1);
  assert_int_equal(apns_status_is_retryable(APNS_ERR_TIMEOUT), 1);
  assert_int_equal(apns_status_is_retryable(APNS_ERR_NETWORK), 1);
  static const apns_status_t lasting[] = {APNS_OK,           APNS_DONE,
                                          APNS_ERR_ARGUMENT, APNS_ERR_BUFFER_SMALL,
                                          APNS_ERR_FULL,     APNS_ERR_CREDENTIALS,
                                          APNS_ERR_CLOSED,   APNS_ERR_FORKED};
  for (size_t index = 0; index < sizeof lasting / sizeof *lasting; index++)
    assert_int_equal(apns_status_is_retryable(lasting[index]), 0);
  assert_int_equal(apns_status_is_retryable((apns_status_t)77), 0);
}

static void every_rejection_has_its_text(void **state) {
  (void)state;
  assert_string_equal(apns_reject_text(APNS_REJECT_NONE), "no errors encountered");
  assert_string_equal(apns_reject_text(APNS_REJECT_PROCESSING_ERROR), "processing error");
  assert_string_equal(apns_reject_text(APNS_REJECT_MISSING_TOKEN), "missing device token");
  assert_string_equal(apns_reject_text(APNS_REJECT_MISSING_TOPIC), "missing topic");
  assert_string_equal(apns_reject_text(APNS_REJECT_MISSING_PAYLOAD), "missing payload");
  assert_string_equal(apns_reject_text(APNS_REJECT_INVALID_TOKEN_SIZE), "invalid token size");
  assert_string_equal(apns_reject_text(APNS_REJECT_INVALID_TOPIC_SIZE), "invalid topic size");
  assert_string_equal(apns_reject_text(APNS_REJECT_INVALID_PAYLOAD_SIZE), "invalid payload size");
  assert_string_equal(apns_reject_text(APNS_REJECT_INVALID_TOKEN), "invalid token");
  assert_string_equal(apns_reject_text(APNS_REJECT_SHUTDOWN), "shutdown");
  assert_string_equal(apns_reject_text(APNS_REJECT_PROTOCOL_ERROR), "protocol error");
  assert_string_equal(apns_reject_text(APNS_REJECT_UNKNOWN), "unknown");
}

static void the_rejections_are_apples_numbers(void **state) {
  (void)state;
  static const int numbers[] = {APNS_REJECT_NONE,
                                APNS_REJECT_PROCESSING_ERROR,
                                APNS_REJECT_MISSING_TOKEN,
                                APNS_REJECT_MISSING_TOPIC,
                                APNS_REJECT_MISSING_PAYLOAD,
                                APNS_REJECT_INVALID_TOKEN_SIZE,
                                APNS_REJECT_INVALID_TOPIC_SIZE,
                                APNS_REJECT_INVALID_PAYLOAD_SIZE,
                                APNS_REJECT_INVALID_TOKEN};
  for (int number = 0; number < 9; number++) assert_int_equal(numbers[number], number);
  assert_int_equal(APNS_REJECT_SHUTDOWN, 10);
  assert_int_equal(APNS_REJECT_PROTOCOL_ERROR, 128);
  assert_int_equal(APNS_REJECT_UNKNOWN, 255);
}

static void any_other_number_is_an_unlisted_status(void **state) {
  (void)state;
  for (int number = -2; number < 300; number++) {
    if ((number >= 0 && number <= 8) || number == 10 || number == 128 || number == 255) continue;
    assert_string_equal(apns_reject_text((apns_reject_t)number), "unlisted status");
  }
}

static void every_push_type_has_its_text(void **state) {
  (void)state;
  static const char *const texts[] = {"default",      "alert",        "background",   "location",
                                      "voip",         "complication", "fileprovider", "mdm",
                                      "liveactivity", "pushtotalk",   "widgets",      "controls"};
  static const apns_push_type_t types[] = {
      APNS_PUSH_TYPE_DEFAULT,      APNS_PUSH_TYPE_ALERT,   APNS_PUSH_TYPE_BACKGROUND,
      APNS_PUSH_TYPE_LOCATION,     APNS_PUSH_TYPE_VOIP,    APNS_PUSH_TYPE_COMPLICATION,
      APNS_PUSH_TYPE_FILEPROVIDER, APNS_PUSH_TYPE_MDM,     APNS_PUSH_TYPE_LIVEACTIVITY,
      APNS_PUSH_TYPE_PUSHTOTALK,   APNS_PUSH_TYPE_WIDGETS, APNS_PUSH_TYPE_CONTROLS};
  for (int number = 0; number < 12; number++) {
    assert_int_equal(types[number], number);
    assert_string_equal(apns_push_type_text((apns_push_type_t)number), texts[number]);
  }
  static const int others[] = {12, 13, 255, 256, 257, 65537, INT32_MAX, -1, INT32_MIN};
  for (size_t index = 0; index < sizeof others / sizeof *others; index++)
    assert_string_equal(apns_push_type_text((apns_push_type_t)others[index]), "unlisted push type");
}

static void the_version_is_the_headers(void **state) {
  (void)state;
  char numbers[64];
  snprintf(numbers, sizeof numbers, "%d.%d.%d", APNS_VERSION_MAJOR, APNS_VERSION_MINOR,
           APNS_VERSION_PATCH);
  assert_string_equal(apns_version(), APNS_VERSION_STRING);
  assert_string_equal(apns_version(), numbers);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_status_has_its_name),
      cmocka_unit_test(any_other_number_is_an_unknown_status),
      cmocka_unit_test(what_may_succeed_later_is_retryable),
      cmocka_unit_test(every_rejection_has_its_text),
      cmocka_unit_test(the_rejections_are_apples_numbers),
      cmocka_unit_test(any_other_number_is_an_unlisted_status),
      cmocka_unit_test(every_push_type_has_its_text),
      cmocka_unit_test(the_version_is_the_headers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
