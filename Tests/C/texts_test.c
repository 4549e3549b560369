/* Names of statuses, texts of rejections, the version; and foreign text in messages. */
#include <stdio.h>

#include "provider.h"

TEST(every_status_has_its_name) {
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
  CHECK(APNS_ERR_AGAIN);
  CHECK(APNS_ERR_REJECTED);
  CHECK(APNS_ERR_IN_DOUBT);
#undef CHECK
}

TEST(any_other_number_is_an_unknown_status) {
  static const int others[] = {1, 2, -16, -17, 1000, INT32_MAX, INT32_MIN};
  for (size_t index = 0; index < sizeof others / sizeof *others; index++)
    assert_string_equal(apns_status_name((apns_status_t)others[index]), "unknown status");
}

TEST(what_may_succeed_later_is_retryable) {
  assert_int_equal(apns_status_is_retryable(APNS_ERR_MEMORY), 1);
  assert_int_equal(apns_status_is_retryable(APNS_ERR_TIMEOUT), 1);
  assert_int_equal(apns_status_is_retryable(APNS_ERR_NETWORK), 1);
  assert_int_equal(apns_status_is_retryable(APNS_ERR_AGAIN), 1);
  static const apns_status_t lasting[] = {APNS_OK,           APNS_DONE,
                                          APNS_ERR_ARGUMENT, APNS_ERR_BUFFER_SMALL,
                                          APNS_ERR_FULL,     APNS_ERR_CREDENTIALS,
                                          APNS_ERR_CLOSED,   APNS_ERR_FORKED,
                                          APNS_ERR_REJECTED, APNS_ERR_IN_DOUBT};
  for (size_t index = 0; index < sizeof lasting / sizeof *lasting; index++)
    assert_int_equal(apns_status_is_retryable(lasting[index]), 0);
  assert_int_equal(apns_status_is_retryable((apns_status_t)77), 0);
}

TEST(every_rejection_has_its_text) {
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

TEST(the_rejections_are_apples_numbers) {
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

TEST(any_other_number_is_an_unlisted_status) {
  for (int number = -2; number < 300; number++) {
    if ((number >= 0 && number <= 8) || number == 10 || number == 128 || number == 255) continue;
    assert_string_equal(apns_reject_text((apns_reject_t)number), "unlisted status");
  }
}

TEST(every_push_type_has_its_text) {
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

static apns_event_t event_of(apns_event_kind_t kind, int32_t reject, int32_t reason,
                             uint16_t http_status, const char *reason_text) {
  apns_event_t event = APNS_EVENT_INIT;
  event.kind = kind;
  event.reject = reject;
  event.reason = reason;
  event.http_status = http_status;
  memcpy(event.reason_text, reason_text, strnlen(reason_text, sizeof event.reason_text));
  return event;
}

TEST(every_outcome_is_described) {
  const apns_reason_t bad = APNS_REASON_BAD_DEVICE_TOKEN, other = APNS_REASON_OTHER;
  /* A library without HTTP/2 has no names of reasons. */
  const char *const last = apns_features() & APNS_FEATURE_HTTP2
                               ? "unknown: the last answer: BadDeviceToken (HTTP 503)"
                               : "unknown: the last answer: other (HTTP 503)";
  const struct {
    apns_event_t event;
    const char *text;
  } rows[] = {
      {event_of(APNS_EVENT_ACCEPTED, 0, 0, 200, ""), "accepted"},
      {event_of(APNS_EVENT_REJECTED, 0, bad, 400, "BadDeviceToken"),
       "rejected: BadDeviceToken (HTTP 400)"},
      {event_of(APNS_EVENT_REJECTED, 0, other, 400, "New"), "rejected: New (HTTP 400)"},
      {event_of(APNS_EVENT_REJECTED, 0, 0, 500, ""), "rejected: HTTP 500"},
      {event_of(APNS_EVENT_REJECTED, 8, 0, 0, ""), "rejected: invalid token (status 8)"},
      {event_of(APNS_EVENT_REJECTED, -1, 0, 0, ""), "rejected: unlisted status (status -1)"},
      {event_of(APNS_EVENT_UNKNOWN, 0, bad, 503, ""), last},
      {event_of(APNS_EVENT_UNKNOWN, 0, 0, 0, "it \n died"), "unknown: no answer came: it ? died"},
      {event_of(APNS_EVENT_UNKNOWN, 0, 0, 0, ""), "unknown: no answer came"},
      {event_of(APNS_EVENT_EXPIRED, 0, 0, 0, ""),
       "expired: its time ran out, and it did not arrive"},
      {event_of(APNS_EVENT_EXPIRED, 0, 0, 0, "no network"),
       "expired: its time ran out, and it did not arrive: no network"},
      {event_of(APNS_EVENT_CANCELLED, 0, 0, 0, ""), "cancelled: taken back, and it did not arrive"},
      {event_of(APNS_EVENT_CANCELLED, 0, 0, 0, "late"),
       "cancelled: taken back, and it did not arrive: late"},
      {event_of(APNS_EVENT_CANCELLED, 0, 0, 429, ""),
       "cancelled: taken back, and it did not arrive"},
      {event_of((apns_event_kind_t)0, 0, 0, 0, ""), ""},
      {event_of((apns_event_kind_t)-1, 0, 0, 0, ""), ""},
  };
  char text[160];
  for (size_t index = 0; index < sizeof rows / sizeof *rows; index++) {
    const size_t length = apns_event_describe(&rows[index].event, text, sizeof text);
    assert_string_equal(text, rows[index].text);
    assert_int_equal(length, strlen(text));
  }
  const apns_event_t event =
      event_of(APNS_EVENT_UNKNOWN, 0, other, UINT16_MAX,
               "0123456789012345678901234567890123456789012345678901234567890123456789");
  assert_true(apns_event_describe(&event, text, sizeof text) < sizeof text);
  assert_contains(text, " (HTTP 65535)");
}

TEST(a_kind_has_its_word) {
  assert_string_equal(apns_event_kind_text(APNS_EVENT_ACCEPTED), "accepted");
  assert_string_equal(apns_event_kind_text(APNS_EVENT_REJECTED), "rejected");
  assert_string_equal(apns_event_kind_text(APNS_EVENT_UNKNOWN), "unknown");
  assert_string_equal(apns_event_kind_text(APNS_EVENT_CANCELLED), "cancelled");
  assert_string_equal(apns_event_kind_text(APNS_EVENT_EXPIRED), "expired");
  assert_string_equal(apns_event_kind_text((apns_event_kind_t)0), "unlisted kind");
  assert_string_equal(apns_event_kind_text((apns_event_kind_t)-1), "unlisted kind");
}

TEST(an_outcome_tells_whether_its_token_is_to_be_removed) {
  const bool knows_reasons = apns_features() & APNS_FEATURE_HTTP2;
  const struct {
    apns_event_t event;
    int is_invalid;
  } rows[] = {
      {event_of(APNS_EVENT_ACCEPTED, 0, 0, 200, ""), 0},
      {event_of(APNS_EVENT_REJECTED, 8, APNS_REASON_BAD_DEVICE_TOKEN, 400, ""), knows_reasons},
      {event_of(APNS_EVENT_REJECTED, 0, APNS_REASON_BAD_DEVICE_TOKEN, 400, ""), knows_reasons},
      {event_of(APNS_EVENT_REJECTED, 8, APNS_REASON_DEVICE_TOKEN_NOT_FOR_TOPIC, 400, ""),
       knows_reasons},
      {event_of(APNS_EVENT_REJECTED, 0, APNS_REASON_UNREGISTERED, 410, ""), 1},
      {event_of(APNS_EVENT_REJECTED, 0, APNS_REASON_EXPIRED_TOKEN, 410, ""), 1},
      {event_of(APNS_EVENT_REJECTED, 0, APNS_REASON_OTHER, 410, "New"), 1},
      {event_of(APNS_EVENT_REJECTED, 0, 0, 410, ""), 1},
      {event_of(APNS_EVENT_REJECTED, 2, APNS_REASON_MISSING_DEVICE_TOKEN, 400, ""), 0},
      {event_of(APNS_EVENT_REJECTED, 10, APNS_REASON_TOPIC_DISALLOWED, 400, ""), 0},
      {event_of(APNS_EVENT_REJECTED, 7, APNS_REASON_PAYLOAD_TOO_LARGE, 413, ""), 0},
      {event_of(APNS_EVENT_REJECTED, APNS_REJECT_INVALID_TOKEN, 0, 0, ""), 1},
      {event_of(APNS_EVENT_REJECTED, APNS_REJECT_INVALID_TOKEN_SIZE, 0, 0, ""), 1},
      {event_of(APNS_EVENT_REJECTED, APNS_REJECT_MISSING_TOKEN, 0, 0, ""), 0},
      {event_of(APNS_EVENT_REJECTED, APNS_REJECT_UNKNOWN, 0, 0, ""), 0},
      {event_of(APNS_EVENT_UNKNOWN, 8, APNS_REASON_BAD_DEVICE_TOKEN, 400, ""), 0},
      {event_of(APNS_EVENT_UNKNOWN, 0, APNS_REASON_UNREGISTERED, 410, ""), 0},
      {event_of((apns_event_kind_t)0, 8, 0, 410, ""), 0},
  };
  for (size_t index = 0; index < sizeof rows / sizeof *rows; index++)
    assert_int_equal(apns_event_has_invalid_token(&rows[index].event), rows[index].is_invalid);
  const apns_event_t unsized = {.kind = APNS_EVENT_REJECTED, .http_status = 410};
  assert_int_equal(apns_event_has_invalid_token(&unsized), 0);
  assert_int_equal(apns_event_has_invalid_token(NULL), 0);
}

TEST(a_description_stays_in_its_room) {
  const apns_event_t event = event_of(APNS_EVENT_ACCEPTED, 0, 0, 0, "");
  char text[16] = "0123456789";
  assert_int_equal(apns_event_describe(&event, text, 0), 8);
  assert_int_equal(apns_event_describe(&event, NULL, sizeof text), 8);
  assert_string_equal(text, "0123456789");
  assert_int_equal(apns_event_describe(&event, text, 5), 8);
  assert_memory_equal(text, "acce\00056789", 11);
  assert_int_equal(apns_event_describe(&event, text, SIZE_MAX), 8);
  assert_string_equal(text, "accepted");
  const apns_event_t forgotten = {.kind = APNS_EVENT_ACCEPTED};
  assert_int_equal(apns_event_describe(&forgotten, text, sizeof text), 0);
  assert_string_equal(text, "");
  assert_int_equal(apns_event_describe(NULL, NULL, 0), 0);
}

TEST(the_version_is_the_headers) {
  char numbers[64];
  snprintf(numbers, sizeof numbers, "%d.%d.%d", APNS_VERSION_MAJOR, APNS_VERSION_MINOR,
           APNS_VERSION_PATCH);
  assert_string_equal(apns_version(), APNS_VERSION_STRING);
  assert_string_equal(apns_version(), numbers);
  const unsigned major = APNS_VERSION_NUM >> 16, minor = APNS_VERSION_NUM >> 8 & 0xff;
  snprintf(numbers, sizeof numbers, "%u.%u.%u", major, minor, APNS_VERSION_NUM & 0xffu);
  assert_string_equal(apns_version(), numbers);
}

/* ---- Text of others in a message ------------------------------------------- */

/* Whether a character may stand in a line: nothing that ends it, hides or turns it. */
static bool is_plain(uint32_t c) {
  return c >= 0x20 && (c < 0x7F || c >= 0xA0) && c != 0x61C && c != 0x200E && c != 0x200F &&
         (c < 0x2028 || c > 0x202E) && (c < 0x2066 || c > 0x2069) && c != 0xFEFF;
}

/* One line of UTF-8 with plain characters only. */
static void check_line(const char *line) {
  const unsigned char *at = (const unsigned char *)line;
  while (*at) {
    const size_t length = *at < 0x80 ? 1 : *at < 0xE0 ? 2 : *at < 0xF0 ? 3 : 4;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t c = length == 1 ? *at : *at & (0x7F >> length);
    for (size_t index = 1; index < length; index++) {
      if ((at[index] & 0xC0) != 0x80) fail_msg("not UTF-8: %s", line);
      c = c << 6 | (at[index] & 0x3F);
    }
    if (c < least[length] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000) || *at == 0xC0 ||
        (length > 1 && *at < 0xC2))
      fail_msg("not UTF-8: %s", line);
    if (!is_plain(c)) fail_msg("U+%04X in: %s", c, line);
    at += length;
  }
}

static size_t encode(uint32_t c, char *to) {
  unsigned char *at = (unsigned char *)to;
  if (c < 0x80) return at[0] = (unsigned char)c, 1;
  const size_t length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t index = length - 1; index > 0; index--, c >>= 6) at[index] = 0x80 | (c & 0x3F);
  at[0] = (unsigned char)((0xF00 >> length & 0xF0) | c);
  return length;
}

/* Every way in which a caller's or a file's text gets into a message; `text` has no NUL. The last
   message is left in `message`. */
static void check_every_way(const char *text, char message[240]) {
  FORGET_ERROR();
  const size_t length = strlen(text);
  owned(strings) strings = NULL;
  const char *found;
  assert_status(APNS_ERR_ARGUMENT, apns_strings_open(text, &strings, &error));
  check_line(error.message);
  apns_credentials_t *credentials = NULL;
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  who.ca_file = text;
  assert_int_equal(apns_credentials_new(&who, &credentials, &error), APNS_ERR_CREDENTIALS);
  check_line(error.message);
  /* A key in a payload; if the value is invalid for it, that is an error with a message too. */
  char json[1000];
  snprintf(json, sizeof json, "{\"aps\":{\"%s\":1,\"alert\":[],\"%s\":2},\"%s\":1,\"%s\":1}", text,
           text, text, text);
  apns_payload_finding_t findings[8] = {APNS_PAYLOAD_FINDING_INIT};
  size_t count = 0;
  error.message[0] = 0;
  apns_payload_check(json, strlen(json), 0, findings, 8, &count, &error);
  check_line(error.message);
  for (size_t index = 0; index < count && index < 8; index++) check_line(findings[index].message);
  owned(payload) payload = payload_with(NULL);
  for (int twice = 0; twice < 2; twice++) {
    error.message[0] = 0;
    apns_payload_add_null(payload, text, length, &error);
    check_line(error.message);
  }
  assert_ok(apns_strings_new("a = b;", 6, &strings, &error));
  assert_status(APNS_ERR_ARGUMENT, apns_strings_get(strings, text, length, &found, NULL, &error));
  check_line(error.message);
  memcpy(message, error.message, 240);
}

TEST(a_message_is_one_line_of_text) {
  char message[240], text[64], expected[100];
  /* Each character below U+0800, the ranges around characters that are not plain, and the last. */
  for (uint32_t c = 1; c <= 0x10FFFF; c++) {
    if (c >= 0x800 && c < 0x2000) c = 0x2000;
    if (c >= 0x2100 && c < 0xFE00) c = c < 0xD700 ? 0xD700 : c < 0xE100 ? c : 0xFE00;
    if (c > 0x10010 && c < 0x10FFF0) c = 0x10FFF0;
    if (c == 0x22 || c == 0x5C || (c >= 0xD800 && c < 0xE000)) continue;
    if (!is_plain(c) || c % as_many_as(16, 256) == 0) {
      text[0] = 'a';
      const size_t length = 1 + encode(c, text + 1);
      strcpy(text + length, "b");
      check_every_way(text, message);
      snprintf(expected, sizeof expected, "the key \"a%sb\"", "?");
      if (is_plain(c)) snprintf(expected, sizeof expected, "the key \"%s\"", text);
      assert_contains(message, expected);
    }
  }
  /* Bytes that are no UTF-8: overlong, surrogates, beyond Unicode, half characters. */
  static const char *const broken[][2] = {
      {"\x80", "?"},           {"\xC3", "?"},           {"\xC0\xAF", "??"},
      {"\xE0\x80\xAF", "???"}, {"\xED\xA0\x80", "???"}, {"\xF4\x90\x80\x80", "????"},
      {"\xFF\xFE", "??"},      {"\xF0\x9F\x98", "???"}, {"\xE2\x80\xC3\xA4", "??\xC3\xA4"},
  };
  for (size_t index = 0; index < sizeof broken / sizeof *broken; index++) {
    snprintf(text, sizeof text, "a%sb", broken[index][0]);
    check_every_way(text, message);
    snprintf(expected, sizeof expected, "the key \"a%sb\"", broken[index][1]);
    assert_contains(message, expected);
  }
}

/* However long the text is, no character of it is cut in two. */
TEST(a_message_ends_with_a_whole_character) {
  static const char *const characters[] = {"x", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};
  char message[240];
  for (size_t which = 0; which < 4; which++)
    for (size_t before = 0; before < 4; before++)
      for (size_t count = 1; count < 80; count += as_many_as(1, 13)) {
        char text[400] = {0};
        memset(text, 'a', before);
        for (size_t index = 0; index < count; index++) strcat(text, characters[which]);
        check_every_way(text, message);
      }
}
