/* The bytes that a session writes, when, and the notifications that it refuses. */
#include <stdio.h>

#include "provider.h"
#include "vectors.h"

static const gateway_step_t record_all[] = {TAKE_ALL, END};

/* ---- Frames ------------------------------------------------------------- */

static void put32(uint8_t *bytes, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) *bytes++ = (uint8_t)(value >> shift);
}

/* The vector's frame as a session has to write it: under its own identifier. */
static size_t under_identifier(uint8_t *out, const uint8_t *frame, size_t length,
                               uint32_t identifier) {
  memcpy(out, frame, length);
  if (frame[0] == 0) return length;
  if (frame[0] == 1) {
    put32(out + 1, identifier);
    return length;
  }
  /* Items 1 and 2 come first; item 3 is changed there or put in after them. */
  size_t at = 5;
  for (int item = 0; item < 2; item++) at += 3 + ((size_t)frame[at + 1] << 8 | frame[at + 2]);
  if (at < length && frame[at] == 3) {
    put32(out + at + 3, identifier);
    return length;
  }
  const uint8_t head[3] = {3, 0, 4};
  memcpy(out + at, head, 3);
  put32(out + at + 3, identifier);
  memcpy(out + at + 7, frame + at, length - at);
  put32(out + 1, (uint32_t)(length + 7 - 5));
  return length + 7;
}

/* Every canonical vector of a command goes out as it stands there. */
static void check_vectors(int command, int format, size_t at_least) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  /* Without a sentinel after the notifications. */
  apns_session_t *session =
      session_where(gateway, binary->format = format, binary->quiet_period_ms = 1);
  uint8_t *expected = malloc(1 << 20), *end = expected;
  size_t used = 0;
  uint32_t before = 0;
  vectors_each("frames.json", vector) {
    const json_t *frame = json_object_get(vector, "frame");
    if (!vector_is(vector, "result", "valid") ||
        !json_is_true(json_object_get(vector, "canonical")) ||
        json_integer_value(json_object_get(frame, "command")) != command)
      continue;
    size_t token_length, payload_length, hex_length;
    owned(bytes) token = vector_bytes(frame, "token", &token_length);
    owned(bytes) payload = vector_bytes(frame, "payload", &payload_length);
    owned(bytes) bytes = vector_bytes(vector, "hex", &hex_length);
    apns_notification_t push = APNS_NOTIFICATION_INIT;
    push.token = token, push.token_length = token_length;
    push.payload = payload, push.payload_length = payload_length;
    push.priority = (uint8_t)json_integer_value(json_object_get(frame, "priority"));
    const json_t *expiry = json_object_get(frame, "expiry");
    if (expiry) push.expiry = json_integer_value(expiry) ? json_integer_value(expiry) : -1;
    uint32_t identifier = 0;
    assert_ok(apns_session_send(session, &push, APNS_SEND_MORE, &identifier, &error));
    assert_true(identifier > before);
    before = identifier;
    size_t length = (size_t)json_integer_value(json_object_get(frame, "length"));
    end += under_identifier(end, bytes, length, identifier);
    used++;
  }
  assert_true(used >= at_least);
  assert_ok(apns_session_close(session, AMPLE_MS, &error));
  apns_session_free(session);
  assert_heard(gateway, 0, expected, (size_t)(end - expected));
  free(expected);
}

TEST(the_simple_vectors) { check_vectors(0, APNS_FORMAT_SIMPLE, 10); }

TEST(the_enhanced_vectors) { check_vectors(1, APNS_FORMAT_ENHANCED, 15); }

TEST(the_framed_vectors) {
  check_vectors(2, APNS_FORMAT_FRAMED, 25);
  check_vectors(2, APNS_FORMAT_DEFAULT, 25);
}

/* The frame of a notification that differs from a plain one by `change`. */
static const uint8_t *frame_with(int format, int64_t expiry, uint8_t priority, size_t *length_out) {
  static uint8_t frame[512];
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  /* Without a sentinel after the notifications. */
  apns_session_t *session =
      session_where(gateway, binary->format = format, binary->quiet_period_ms = 1);
  apns_notification_t push = APNS_NOTIFICATION_INIT;
  push.token = "t", push.token_length = 1;
  push.payload = "{}", push.payload_length = 2;
  push.expiry = expiry, push.priority = priority;
  assert_ok(apns_session_send(session, &push, 0, NULL, &error));
  assert_ok(apns_session_close(session, AMPLE_MS, &error));
  const gateway_record_t *heard = heard_after(session, gateway, 0);
  assert_true(heard->length < sizeof frame);
  memcpy(frame, heard->bytes, heard->length);
  *length_out = heard->length;
  return frame;
}

TEST(expiry_in_the_enhanced_format) {
  static const struct {
    int64_t expiry;
    uint32_t written;
  } cases[] = {{0, 0},
               {APNS_EXPIRY_ONCE, 0},
               {1, 1},
               {1245345321, 1245345321},
               {UINT32_MAX, UINT32_MAX},
               {(int64_t)UINT32_MAX + 1, UINT32_MAX},
               {INT64_MAX, UINT32_MAX}};
  for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
    size_t length;
    const uint8_t *frame = frame_with(APNS_FORMAT_ENHANCED, cases[index].expiry, 0, &length);
    uint8_t expected[4];
    put32(expected, cases[index].written);
    assert_int_equal(length, 9 + 2 + 1 + 2 + 2);
    assert_memory_equal(frame + 5, expected, 4);
  }
}

TEST(expiry_in_the_framed_format) {
  size_t length;
  /* Not set: no item 4. */
  frame_with(APNS_FORMAT_FRAMED, 0, 0, &length);
  assert_int_equal(length, 5 + 4 + 5 + 7);
  const uint8_t *frame = frame_with(APNS_FORMAT_FRAMED, APNS_EXPIRY_ONCE, 0, &length);
  assert_int_equal(length, 5 + 4 + 5 + 7 + 7);
  assert_memory_equal(frame + 21, "\x04\x00\x04\x00\x00\x00\x00", 7);
  frame = frame_with(APNS_FORMAT_FRAMED, INT64_MAX, 0, &length);
  assert_memory_equal(frame + 21, "\x04\x00\x04\xFF\xFF\xFF\xFF", 7);
}

TEST(priority_is_said_in_the_framed_format_only) {
  size_t length;
  const uint8_t *frame = frame_with(APNS_FORMAT_FRAMED, 0, 5, &length);
  assert_memory_equal(frame + length - 4, "\x05\x00\x01\x05", 4);
  frame = frame_with(APNS_FORMAT_FRAMED, 0, 10, &length);
  assert_memory_equal(frame + length - 4, "\x05\x00\x01\x0A", 4);
  frame_with(APNS_FORMAT_ENHANCED, 0, 5, &length);
  assert_int_equal(length, 9 + 2 + 1 + 2 + 2);
  frame_with(APNS_FORMAT_SIMPLE, 100, 5, &length);
  assert_int_equal(length, 1 + 2 + 1 + 2 + 2);
}

/* ---- When --------------------------------------------------------------- */

TEST(a_lone_send_leaves_at_once) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  owned(session) session = session_to(gateway, NULL);
  for (size_t n = 0; n < 5; n++) {
    send_range(session, n, n + 1);
    gateway_await_frames(gateway, 0, n + 1);
    assert_int_equal(stats_of(session).records, n + 1);
  }
}

TEST(more_to_come_takes_few_records) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  apns_session_t *session = session_to(gateway, NULL);
  hold_range(session, 0, 100);
  assert_int_equal(stats_of(session).records, 0);
  assert_int_equal(stats_of(session).bytes, 0);
  assert_ok(apns_session_flush(session, &error));
  gateway_await_frames(gateway, 0, 100);
  assert_int_equal(stats_of(session).records, 1);
  hold_range(session, 100, 1100);
  /* Full records leave by themselves. */
  apns_session_stats_t stats = stats_of(session);
  assert_true(stats.records >= 5);
  assert_true(stats.bytes >= 5 * 16384);
  assert_ok(apns_session_flush(session, &error));
  stats = stats_of(session);
  assert_true(stats.records <= stats.bytes / 16384 + 3);
  gateway_await_frames(gateway, 0, 1100);
  const gateway_record_t *heard = heard_after(session, gateway, 0);
  assert_int_equal(heard->length, stats.bytes);
  for (size_t n = 0; n < 1100; n++) assert_carries(heard, n, n);
}

TEST(what_is_held_back_leaves_with_the_next_call_that_writes) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  owned(session) session = session_to(gateway, NULL);
  apns_event_t event = APNS_EVENT_INIT;
  assert_ok(apns_session_send(session, notification(0), APNS_SEND_MORE, NULL, &error));
  send_range(session, 1, 2);
  gateway_await_frames(gateway, 0, 2);
  assert_ok(apns_session_send(session, notification(2), APNS_SEND_MORE, NULL, &error));
  assert_status(APNS_DONE, apns_session_next_event(session, &event, 20, &error));
  gateway_await_frames(gateway, 0, 3);
  assert_ok(apns_session_send(session, notification(3), APNS_SEND_MORE, NULL, &error));
  assert_status(APNS_ERR_TIMEOUT, apns_session_drain(session, 20, NULL, &error));
  gateway_await_frames(gateway, 0, 4);
}

TEST(an_array_is_sent_in_order_and_in_few_records) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  apns_session_t *session = session_to(gateway, NULL);
  owned(notifications) all = notifications(1000);
  size_t taken = 0;
  assert_ok(apns_session_send_many(session, all, 1000, 0, &taken, &error));
  assert_int_equal(taken, 1000);
  apns_session_stats_t stats = stats_of(session);
  assert_true(stats.records <= stats.bytes / 16384 + 3);
  assert_ok(apns_session_send_many(session, all, 0, 0, &taken, &error));
  assert_int_equal(taken, 0);
  assert_ok(apns_session_send_many(session, NULL, 0, 0, NULL, &error));
  gateway_await_frames(gateway, 0, 1000);
  const gateway_record_t *heard = heard_after(session, gateway, 0);
  for (size_t n = 0; n < 1000; n++) assert_carries(heard, n, n);
}

TEST(an_array_with_more_to_come_is_held_back) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  owned(session) session = session_to(gateway, NULL);
  owned(notifications) all = notifications(10);
  assert_ok(apns_session_send_many(session, all, 10, APNS_SEND_MORE, NULL, &error));
  assert_int_equal(stats_of(session).records, 0);
  assert_ok(apns_session_flush(session, &error));
  gateway_await_frames(gateway, 0, 10);
}

TEST(an_array_stops_at_a_bad_element) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  owned(session) session = session_to(gateway, NULL);
  owned(notifications) all = notifications(10);
  all[6].token_length = 0;
  size_t taken = 99;
  assert_status(APNS_ERR_ARGUMENT, apns_session_send_many(session, all, 10, 0, &taken, &error));
  assert_int_equal(taken, 6);
  assert_contains(error.message, "token has 0 bytes");
  assert_counts(session, 6, 0, 0, 0, 6);
  /* Earlier ones are on their way, later ones are still the caller's. */
  gateway_await_frames(gateway, 0, 6);
  assert_ok(apns_session_send_many(session, all + 7, 3, 0, &taken, &error));
  assert_int_equal(taken, 3);
  gateway_await_frames(gateway, 0, 9);
  all[6].token_length = 32;
}

/* ---- Payloads of a builder ---------------------------------------------- */

static apns_payload_t *builder_with(size_t limit, int truncate) {
  apns_payload_options_t options = APNS_PAYLOAD_OPTIONS_INIT;
  options.limit = limit, options.truncate = truncate;
  return payload_with(&options);
}

static void set_text(apns_payload_t *payload, const char *text, size_t length) {
  assert_ok(apns_payload_set_string(payload, APNS_KEY_ALERT, text, length, &error));
}

/* The same frame, but for its identifier, as with the bytes that apns_payload_write() wrote. */
static void check_payloads_frame(int format, size_t token_length, int64_t expiry,
                                 uint8_t priority) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  apns_session_t *session =
      session_where(gateway, binary->format = format, binary->quiet_period_ms = 1);
  owned(payload) payload = builder_with(0, 0);
  set_text(payload, "You got your emails.", 20);
  static uint8_t token[APNS_TOKEN_MAX];
  memset(token, 0xA5, sizeof token);
  apns_notification_t push = APNS_NOTIFICATION_INIT;
  push.token = token, push.token_length = token_length;
  push.expiry = expiry, push.priority = priority;
  uint32_t identifiers[2] = {0, 0};
  size_t cut = 99, length = 0;
  assert_ok(apns_session_send_payload(session, &push, payload, APNS_SEND_MORE, &identifiers[0],
                                      &cut, &error));
  assert_int_equal(cut, 0);
  char json[256];
  assert_ok(apns_payload_write(payload, json, sizeof json, &length, NULL, &error));
  push.payload = json, push.payload_length = length;
  assert_ok(apns_session_send(session, &push, 0, &identifiers[1], &error));
  assert_int_equal(identifiers[1], identifiers[0] + 1);
  assert_ok(apns_session_close(session, AMPLE_MS, &error));
  const gateway_record_t *heard = heard_after(session, gateway, 0);
  const size_t half = heard->length / 2;
  uint8_t again[512];
  assert_int_equal(heard->length, 2 * half);
  assert_true(half > token_length + length && half < sizeof again);
  under_identifier(again, heard->bytes, half, identifiers[1]);
  assert_memory_equal(again, heard->bytes + half, half);
}

TEST(a_builders_payload_makes_the_same_frame) {
  static const size_t token_lengths[] = {1, 32, APNS_TOKEN_MAX};
  for (size_t index = 0; index < 3; index++) {
    check_payloads_frame(APNS_FORMAT_SIMPLE, token_lengths[index], 0, 0);
    check_payloads_frame(APNS_FORMAT_ENHANCED, token_lengths[index], 1245345321, 0);
    check_payloads_frame(APNS_FORMAT_FRAMED, token_lengths[index], 0, 0);
    check_payloads_frame(APNS_FORMAT_FRAMED, token_lengths[index], 1245345321, 5);
  }
}

TEST(a_builders_payload_that_cannot_be_sent_is_refused) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session = session_where(gateway, tuning->payload_max = 100);
  owned(payload) payload = builder_with(64, 0);
  owned(payload) longer = builder_with(200, 0);
  static char text[200];
  memset(text, 'x', sizeof text);
  const apns_notification_t given = *notification(0);
  apns_notification_t push = given;
  size_t cut = 99;
#define assert_refused(session, push, payload, flags, part)                                    \
  assert_status(APNS_ERR_ARGUMENT,                                                             \
                apns_session_send_payload(session, push, payload, flags, NULL, &cut, &error)); \
  assert_contains(error.message, part)
  assert_refused(session, &push, payload, 0, "has a payload already");
  push.payload = NULL;
  assert_refused(session, &push, payload, 0, "has a payload already");
  assert_int_equal(cut, 0);
  push.payload_length = 0;
  assert_refused(NULL, &push, payload, 0, "session is NULL");
  assert_refused(session, NULL, payload, 0, "notification is NULL");
  assert_refused(session, &push, NULL, 0, "payload is NULL");
  assert_refused(session, &push, payload, 2, "flags has unknown bits: 2");
  push.token_length = 101;
  assert_refused(session, &push, payload, 0, "token has 101 bytes");
  push.token_length = given.token_length, push.priority = 7;
  assert_refused(session, &push, payload, 0, "priority is 7");
  push.priority = 0, push.token = NULL;
  assert_refused(session, &push, payload, 0, "token is NULL");
  push.token = given.token, push.size = 0;
  assert_refused(session, &push, payload, 0, "apns_notification_t");
  push.size = sizeof push;
  set_text(payload, text, 50);
  assert_refused(session, &push, payload, 0, "more than its limit of 64");
  set_text(longer, text, 100);
  assert_refused(session, &push, longer, 0, "bytes, more than 100");
#undef assert_refused
  assert_counts(session, 0, 0, 0, 0, 0);
  assert_int_equal(gateway_connections(gateway), 0);
}

TEST(a_builders_limit_is_the_sessions) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  apns_session_options_t options = options_for(gateway);
  binary_of(&options)->quiet_period_ms = 1;
  apns_payload_options_t builds = APNS_PAYLOAD_OPTIONS_INIT;
  builds.truncate = 1;
  static char text[5000];
  memset(text, 'x', sizeof text);
  owned(payload) payload = payload_with(&builds);
  set_text(payload, text, sizeof text);
  apns_notification_t push = *notification(0);
  push.payload = NULL, push.payload_length = 0;
  for (uint32_t most = 0; most <= 3000; most += 3000) {
    tuning_of(&options)->payload_max = most;
    owned(session) session = session_to(gateway, &options);
    size_t cut = 0;
    assert_ok(apns_session_send_payload(session, &push, payload, 0, NULL, &cut, &error));
    assert_int_equal(cut, 23 + sizeof text - (most ? most : APNS_PAYLOAD_MAX_FRAMED));
    assert_ok(apns_session_close(session, AMPLE_MS, &error));
  }
  char json[APNS_PAYLOAD_MAX_HTTP2];
  size_t length = 0;
  assert_ok(apns_payload_write(payload, json, sizeof json, &length, NULL, &error));
  assert_int_equal(length, sizeof json);
}

TEST(hex_is_no_token) {
  static const char hex[] =
      "5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412"
      "0123456789abcdefABCDEF";
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session = session_to(gateway, NULL);
  apns_notification_t push = *notification(0);
  push.token = hex;
  for (push.token_length = 64; push.token_length < sizeof hex; push.token_length += 22) {
    assert_invalid(apns_session_send(session, &push, 0, NULL, &error),
                   " hexadecimal characters, not the bytes that they stand for");
    assert_int_equal(error.reject, APNS_REJECT_INVALID_TOKEN);
  }
  /* With one byte that is not a digit the session takes them. */
  push.token_length = sizeof hex;
  assert_ok(apns_session_send(session, &push, 0, NULL, &error));
}

TEST(a_builders_payload_is_shortened_in_the_window) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  apns_session_t *session = session_where(gateway, binary->quiet_period_ms = 1);
  owned(payload) payload = builder_with(40, 1);
  set_text(payload, "You got far too many emails.", 28);
  apns_notification_t push = *notification(0);
  push.payload = NULL, push.payload_length = 0;
  size_t cut = 0;
  assert_ok(apns_session_send_payload(session, &push, payload, 0, NULL, &cut, &error));
  assert_int_equal(cut, 11);
  assert_ok(apns_session_close(session, AMPLE_MS, &error));
  const gateway_record_t *heard = heard_after(session, gateway, 0);
  static const char expected[] = "{\"aps\":{\"alert\":\"You got far too m\u2026\"}}";
  assert_int_equal(heard->length, 5 + 35 + 3 + sizeof expected - 1 + 7);
  assert_memory_equal(heard->bytes + 5 + 35 + 3, expected, sizeof expected - 1);
}

/* ---- Identifiers -------------------------------------------------------- */

TEST(identifiers_are_never_0_nor_given_twice) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_t *session = session_to(gateway, NULL);
  uint32_t before = 0;
  for (size_t n = 0; n < 300; n++) {
    uint32_t identifier = 0;
    assert_ok(apns_session_send(session, notification(n), APNS_SEND_MORE, &identifier, &error));
    assert_true(identifier > before);
    before = identifier;
    /* A sentinel takes its own number. */
    if (n % 100 == 99) drain(session);
  }
  apns_session_free(session);
  for (size_t round = 0; round < 3; round++) {
    const gateway_record_t *heard = gateway_heard(gateway, round);
    assert_int_equal(heard->frame_count, 101);
    for (size_t index = 1; index <= 100; index++)
      assert_true(heard->frames[index].identifier > heard->frames[index - 1].identifier);
  }
}

/* ---- Refusals ----------------------------------------------------------- */

TEST(a_refused_notification_costs_no_connection) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session = session_to(gateway, NULL);
  static char large[3000];
  memset(large, ' ', sizeof large);
#define REFUSED(change, text)                                                                    \
  do {                                                                                           \
    apns_notification_t push = *notification(1);                                                 \
    change;                                                                                      \
    uint32_t identifier = 77;                                                                    \
    assert_status(APNS_ERR_ARGUMENT, apns_session_send(session, &push, 0, &identifier, &error)); \
    assert_contains(error.message, text);                                                        \
    assert_int_equal(identifier, 77);                                                            \
  } while (0)
  REFUSED(push.token = NULL, "token is NULL");
  REFUSED(push.token_length = 0, "token has 0 bytes");
  REFUSED((push.token = large, push.token_length = 101), "token has 101 bytes, not 1 to 100");
  REFUSED((push.token = large, push.token_length = SIZE_MAX),
          "token has 18446744073709551615 bytes");
  REFUSED(push.payload = NULL, "payload is NULL");
  REFUSED(push.payload_length = 0, "payload is empty");
  REFUSED((push.payload = large, push.payload_length = 2049), "2049 bytes, more than 2048");
  REFUSED((push.payload = large, push.payload_length = SIZE_MAX),
          "payload has 18446744073709551615 bytes, more than");
  REFUSED(push.priority = 1, "priority is 1");
  REFUSED(push.priority = 255, "priority is 255");
  REFUSED(push.expiry = -2, "expiry is -2, neither a time nor APNS_EXPIRY_ONCE");
  REFUSED(push.expiry = INT64_MIN, "expiry is -9223372036854775808, neither");
#undef REFUSED
  assert_invalid(apns_session_send(session, NULL, 0, NULL, &error), "notification is NULL");
  assert_invalid(apns_session_send(NULL, notification(0), 0, NULL, &error), "session is NULL");
  assert_invalid(apns_session_send(session, notification(0), 2, NULL, &error),
                 "flags has unknown bits: 2");
  size_t taken = 9;
  assert_invalid(apns_session_send_many(session, notification(0), 1, 6, &taken, &error), "flags");
  assert_int_equal(taken, 0);
  assert_invalid(apns_session_send_many(session, NULL, 1, 0, &taken, &error),
                 "notifications is NULL");
  assert_invalid(apns_session_send_many(session, notification(0), SIZE_MAX, 0, &taken, &error),
                 "count is 18446744073709551615, which is larger than memory");
  assert_counts(session, 0, 0, 0, 0, 0);
  assert_int_equal(gateway_connections(gateway), 0);
}

TEST(null_sessions_are_refused) {
  apns_event_t event = APNS_EVENT_INIT;
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  size_t count;
  const apns_status_t wrong = APNS_ERR_ARGUMENT;
  assert_status(wrong, apns_session_connect(NULL, &error));
  assert_status(wrong, apns_session_send_many(NULL, notification(0), 1, 0, &count, &error));
  assert_status(wrong, apns_session_flush(NULL, &error));
  assert_status(wrong, apns_session_drain(NULL, 0, &count, &error));
  assert_status(wrong, apns_session_next_event(NULL, &event, 0, &error));
  assert_status(wrong, apns_session_stats(NULL, &stats, &error));
  assert_fails(wrong, apns_session_close(NULL, 0, &error), "session is NULL");
}

TEST(payload_max_of_the_callers_own) {
  static char large[65536];
  memset(large, ' ', sizeof large);
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  apns_session_options_t options = options_for(gateway);
  tuning_of(&options)->payload_max = 65535;
  owned(session) session = session_to(gateway, &options);
  apns_notification_t push = *notification(0);
  push.payload = large, push.payload_length = 65535;
  assert_ok(apns_session_send(session, &push, 0, NULL, &error));
  push.payload_length = 65536;
  assert_status(APNS_ERR_ARGUMENT, apns_session_send(session, &push, 0, NULL, &error));
  apns_session_free(session);
  assert_int_equal(gateway_heard(gateway, 0)->length, 5 + 35 + 3 + 65535 + 7);
  gateway_stop(gateway);

  gateway = gateway_start(NULL, NULL);
  options = options_for(gateway);
  tuning_of(&options)->payload_max = 256;
  session = session_to(gateway, &options);
  push.payload_length = 257;
  assert_invalid(apns_session_send(session, &push, 0, NULL, &error), "257 bytes, more than 256");
}

/* ---- The window --------------------------------------------------------- */

/* Notifications of lengths all over the range, many times the window. */
static void check_window(uint32_t window_bytes, size_t count, size_t step) {
  static char text[2048];
  memset(text, 'w', sizeof text);
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_t *session = session_where(gateway, options.window_bytes = window_bytes);
  uint64_t total = 0;
  for (size_t n = 0; n < count; n++) {
    apns_notification_t push = *notification(n);
    if (step) {
      push.payload = text;
      push.payload_length = 1 + n * step % sizeof text;
    }
    total += 5 + 35 + 3 + push.payload_length + 7;
    assert_ok(apns_session_send(session, &push, n % 7 ? APNS_SEND_MORE : 0, NULL, &error));
  }
  assert_true(total > 10 * window_bytes);
  drain(session);
  assert_counts(session, count, count, 0, 0, 0);
  apns_session_stats_t stats = stats_of(session);
  assert_int_equal(stats.resent, 0);
  assert_true(stats.bytes > total);
  apns_session_free(session);
  size_t n = 0;
  for (size_t index = 0; index < gateway_connections(gateway); index++) {
    const gateway_record_t *heard = gateway_heard(gateway, index);
    for (size_t at = 0; at < heard->frame_count; at++) {
      if (heard->frames[at].is_sentinel) continue;
      if (!step) assert_carries(heard, at, n);
      assert_int_equal(memcmp(heard->bytes + heard->frames[at].start + 8, &n, sizeof n), 0);
      n++;
    }
  }
  assert_int_equal(n, count);
}

TEST(many_times_the_smallest_window) { check_window(16384, as_many_as(3000, 1700), 0); }

/* Each is written where the last one of another length was; what one device's text leaves must not
   show in the next one's, nor in resent ones. */
TEST(a_builders_payload_many_times_the_window) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_t *session = session_where(gateway, options.window_bytes = 16384);
  owned(payload) payload = builder_with(2048, 0);
  static char text[1000];
  const size_t count = as_many_as(1000, 300);
  size_t rejected = 0;
  for (size_t n = 0; n < count; n++) {
    apns_notification_t push = *notification(n);
    uint8_t token[32];
    memcpy(token, push.token, sizeof token);
    if (n % 101 == 5) token[30] = token[31] = 0xFF, rejected++;
    push.token = token, push.payload = NULL, push.payload_length = 0;
    const size_t length = 1 + n * 977 % sizeof text;
    memset(text, 'a' + (int)(n % 26), length);
    set_text(payload, text, length);
    assert_ok(apns_session_send_payload(session, &push, payload, n % 7 ? APNS_SEND_MORE : 0, NULL,
                                        NULL, &error));
  }
  drain(session);
  assert_counts(session, count, count - rejected, rejected, 0, 0);
  assert_true(stats_of(session).resent > 0);
  apns_session_free(session);
  for (size_t index = 0; index < gateway_connections(gateway); index++) {
    const gateway_record_t *heard = gateway_heard(gateway, index);
    for (size_t at = 0; at < heard->frame_count; at++) {
      if (heard->frames[at].is_sentinel) continue;
      const uint8_t *frame = heard->bytes + heard->frames[at].start;
      size_t n;
      memcpy(&n, frame + 8, sizeof n);
      const size_t length = 1 + n * 977 % sizeof text;
      memset(text, 'a' + (int)(n % 26), length);
      assert_int_equal((size_t)frame[41] << 8 | frame[42], 17 + length + 3);
      assert_memory_equal(frame + 43, "{\"aps\":{\"alert\":\"", 17);
      assert_memory_equal(frame + 43 + 17, text, length);
      assert_memory_equal(frame + 43 + 17 + length, "\"}}", 3);
    }
  }
}

TEST(many_times_a_window_of_mixed_lengths) {
  check_window(16384, as_many_as(1000, 300), 977);
  check_window(65536, as_many_as(3000, 800), 613);
}

/* Rejections in a window that goes round and round: exactly the lost bytes are resent. */
TEST(rejections_in_a_window_that_goes_round) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session =
      session_where(gateway, options.window_bytes = 16384, options.outcomes = APNS_OUTCOMES_EACH);
  const size_t count = as_many_as(2000, 600);
  size_t next = 0, rejected = 0;
  for (size_t n = 0; n < count || next < count;) {
    apns_status_t status = APNS_ERR_FULL;
    if (n < count) {
      apns_notification_t push = *notification(n);
      uint8_t token[32];
      memcpy(token, push.token, sizeof token);
      if (n % 37 == 5) token[30] = token[31] = 0xFF;
      push.token = token;
      status = apns_session_send(session, &push, APNS_SEND_MORE, NULL, &error);
    } else {
      drain(session);
    }
    if (status == APNS_OK) n++;
    if (status == APNS_OK && n % 20) continue;
    if (status != APNS_OK) assert_int_equal(status, APNS_ERR_FULL);
    apns_event_t event = APNS_EVENT_INIT;
    while (apns_session_next_event(session, &event, 0, &error) == APNS_OK) {
      assert_ptr_equal(event.user_data, (void *)(uintptr_t)(++next));
      const bool is_bad = (next - 1) % 37 == 5;
      assert_int_equal(event.kind, is_bad ? APNS_EVENT_REJECTED : APNS_EVENT_ACCEPTED);
      rejected += is_bad;
    }
  }
  assert_counts(session, count, count - rejected, rejected, 0, 0);
  /* How many depends on how far ahead of the packets the session got. */
  assert_true(stats_of(session).resent > 0);
}

/* A rejection frees the front of the window while the rest of it waits to be resent; the next bytes
   go round to the front, so that one run of bytes ends where the memory does and the next begins at
   its start. */
TEST(a_resend_across_the_end_of_the_window) {
  enum { FIRST = 60, NAMED = 39, ALL = 90 };
  static char text[150];
  memset(text, 'w', sizeof text);
  const gateway_step_t script[] = {TAKE_FRAMES(FIRST), NAME_NTH(8, NAMED), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  apns_session_t *session = session_where(gateway, options.window_bytes = 16384);
  for (size_t n = 0; n < ALL; n++) {
    apns_notification_t push = *notification(n);
    push.payload = text, push.payload_length = sizeof text;
    assert_ok(apns_session_send(session, &push, APNS_SEND_MORE, NULL, &error));
    if (n + 1 != FIRST) continue;
    assert_ok(apns_session_flush(session, &error));
    gateway_await_step(gateway, 0, 2);
    assert_event(session, APNS_EVENT_REJECTED, 8, NAMED);
  }
  drain(session);
  assert_counts(session, ALL, ALL - 1, 1, 0, 0);
  assert_int_equal(stats_of(session).connects, 2);
  const gateway_record_t *heard = heard_after(session, gateway, 1);
  assert_int_equal(notifications_in(heard), ALL - NAMED - 1);
  for (size_t n = NAMED + 1, at = 0; n < ALL; n++, at++)
    assert_memory_equal(heard->bytes + heard->frames[at].start + 8, &n, sizeof n);
}

TEST(outcomes_that_nobody_takes_fill_the_window) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session =
      session_where(gateway, options.window_bytes = 16384, options.outcomes = APNS_OUTCOMES_EACH);
  size_t taken = 0;
  apns_status_t status = APNS_OK;
  while (status == APNS_OK && taken < 2000) {
    status = apns_session_send(session, notification(taken), APNS_SEND_MORE, NULL, &error);
    taken += status == APNS_OK;
  }
  assert_int_equal(status, APNS_ERR_FULL);
  assert_contains(error.message, "the window is full: take the ");
  assert_int_equal(apns_status_is_retryable(APNS_ERR_FULL), 0);
  size_t events = stats_of(session).events;
  assert_true(events > 0);
  for (size_t n = 0; n < events; n++) assert_event(session, APNS_EVENT_ACCEPTED, 0, n);
  send_and_drain(session, taken, taken + 5);
  assert_counts(session, taken + 5, taken + 5, 0, 0, 0);
}

/* ---- Key updates and renegotiation -------------------------------------- */

static void check_interrupted(int version, const gateway_step_t *script) {
  owned(gateway) gateway =
      gateway_start(&(gateway_options_t){.tls_version = version}, SCRIPTS(script));
  apns_session_t *session = session_to(gateway, NULL);
  for (size_t n = 0; n < 30; n++) {
    send_range(session, n, n + 1);
    /* The gateway sends its request after the tenth, and waits for nothing. */
    if (n == 9) gateway_await_step(gateway, 0, 2);
    if (n >= 10 && n < 20) assert_no_event(session);
  }
  drain(session);
  assert_counts(session, 30, 30, 0, 0, 0);
  assert_int_equal(stats_of(session).connects, 1);
  assert_int_equal(stats_of(session).resent, 0);
  const gateway_record_t *heard = heard_after(session, gateway, 0);
  for (size_t n = 0; n < 30; n++) assert_carries(heard, n, n);
}

TEST(a_key_update_asked_for) {
  static const gateway_step_t script[] = {TAKE_FRAMES(10), KEY_UPDATE, TAKE_SENTINEL, NAME_LAST(2),
                                          END};
  check_interrupted(TLS1_3_VERSION, script);
}

/* To OpenSSL's server the alert is the end of the connection. */
TEST(a_renegotiation_is_refused) {
  static const gateway_step_t script[] = {TAKE_FRAMES(10), RENEGOTIATE, TAKE_ALL, END};
  owned(gateway) gateway =
      gateway_start(&(gateway_options_t){.tls_version = TLS1_2_VERSION}, SCRIPTS(script));
  apns_session_t *session = session_to(gateway, NULL);
  send_range(session, 0, 10);
  gateway_await_step(gateway, 0, 2);
  send_and_drain(session, 10, 30);
  assert_counts(session, 30, 30, 0, 0, 0);
  apns_session_free(session);
  assert_true(gateway_heard(gateway, 0)->refused_renegotiation);
}

/* A peer that starts a renegotiation and ignores the answer: it receives everything all the
 * same. */
TEST(a_renegotiation_that_never_comes_about_stalls_nothing) {
  static const gateway_step_t script[] = {TAKE_FRAMES(10), RENEGOTIATE, TAKE_RAW(50000), CLOSE_RST};
  owned(gateway) gateway =
      gateway_start(&(gateway_options_t){.tls_version = TLS1_2_VERSION}, SCRIPTS(script));
  apns_session_options_t given = options_for(gateway);
  owned(session) session = session_to(gateway, &given);
  send_range(session, 0, 10);
  gateway_await_step(gateway, 0, 2);
  /* The session reads it before it writes anything more. */
  apns_event_t event = APNS_EVENT_INIT;
  assert_status(APNS_DONE, apns_session_next_event(session, &event, 100, &error));
  for (size_t n = 10; n < 1000; n += 10) send_range(session, n, n + 10);
  drain(session);
  assert_counts(session, 1000, 1000, 0, 0, 0);
  /* Notifications in doubt are resent in a few flights, each with its proof. */
  assert_in_range(stats_of(session).connects, 2, 7);
}

TEST(session_tickets_are_not_an_answer) {
  owned(gateway) gateway =
      gateway_start(&(gateway_options_t){.tls_version = TLS1_3_VERSION, .tickets = 4}, NULL);
  owned(session) session = session_to(gateway, NULL);
  send_range(session, 0, 10);
  assert_no_event(session);
  drain(session);
  assert_counts(session, 10, 10, 0, 0, 0);
  assert_int_equal(stats_of(session).connects, 1);
}
