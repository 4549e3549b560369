/* The feedback service's list: whole, in pieces, cut off. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "provider.h"
#include "vectors.h"

static void assert_tuple(apns_feedback_t *feedback, uint32_t timestamp, const void *token,
                         size_t length) {
  apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
  assert_ok(apns_feedback_next(feedback, &tuple, &error));
  assert_int_equal(tuple.timestamp, timestamp);
  assert_int_equal(tuple.token_length, length);
  assert_memory_equal(tuple.token, token, length);
}

/* The end, given again and again. */
static void assert_final(apns_feedback_t *feedback, apns_status_t status, const char *text) {
  for (int round = 0; round < 3; round++) {
    FORGET_ERROR();
    apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
    assert_status(status, apns_feedback_next(feedback, &tuple, &error));
    if (text) assert_contains(error.message, text);
    assert_null(tuple.token);
  }
}

/* ---- Vectors ------------------------------------------------------------ */

static void check_vector(const json_t *vector, step_kind_t closing, bool piecemeal) {
  size_t length, index;
  owned(bytes) bytes = vector_bytes(vector, "hex", &length);
  const gateway_step_t script[] = {
      {.kind = STEP_SAY, .bytes = bytes, .count = length, .piecemeal = piecemeal},
      {.kind = closing}};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  owned(feedback) feedback = feedback_from(gateway);
  /* All of it is there before the first call, the reset too. */
  gateway_await_step(gateway, 0, 1);
  if (closing == STEP_CLOSE_RST) gateway_heard(gateway, 0);
  json_t *tuple, *tuples = json_object_get(vector, "tuples");
  json_array_foreach(tuples, index, tuple) {
    size_t token_length;
    owned(bytes) token = vector_bytes(tuple, "token", &token_length);
    assert_tuple(feedback, (uint32_t)json_integer_value(json_object_get(tuple, "timestamp")), token,
                 token_length);
  }
  if (vector_is(vector, "result", "incomplete")) {
    assert_final(feedback, APNS_ERR_PROTOCOL, "broke off");
  } else if (vector_is(vector, "result", "invalid")) {
    assert_final(feedback, APNS_ERR_PROTOCOL, "without a token");
  } else if (closing == STEP_CLOSE_RST) {
    assert_final(feedback, APNS_ERR_NETWORK, NULL);
  } else {
    assert_final(feedback, APNS_DONE, NULL);
  }
}

static void check_vectors(step_kind_t closing, bool piecemeal) {
  size_t index = 0;
  vectors_each("feedback.json", vector) {
    if (index++ % as_many_as(1, 4) == 0) check_vector(vector, closing, piecemeal);
  }
}

TEST(every_vector_whole) { check_vectors(STEP_CLOSE_NOTIFY, false); }

TEST(every_vector_byte_by_byte) { check_vectors(STEP_CLOSE_NOTIFY, true); }

TEST(every_vector_ended_by_fin) { check_vectors(STEP_CLOSE_FIN, false); }

TEST(every_vector_ended_by_reset) { check_vectors(STEP_CLOSE_RST, false); }

/* ---- Long lists --------------------------------------------------------- */

/* A few TLS records' worth, so that tuples cross their boundaries. */
TEST(a_long_list) {
  enum { COUNT = 3000 };
  owned(bytes) list = malloc(COUNT * 38);
  for (size_t n = 0; n < COUNT; n++) {
    uint8_t *tuple = list + n * 38;
    memset(tuple, (int)n, 38);
    memcpy(tuple, "\x10\x20\x30\x40\x00\x20", 6);
    tuple[3] = (uint8_t)n;
  }
  const gateway_step_t script[] = {SAY(list, COUNT * 38), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  owned(feedback) feedback = feedback_from(gateway);
  for (size_t n = 0; n < COUNT; n++)
    assert_tuple(feedback, 0x10203000u | (uint8_t)n, list + n * 38 + 6, 32);
  assert_final(feedback, APNS_DONE, NULL);
}

TEST(the_longest_token) {
  owned(bytes) tuple = malloc(6 + 65535);
  memset(tuple, 0x77, 6 + 65535);
  memcpy(tuple, "\x00\x00\x00\x01\xFF\xFF", 6);
  const gateway_step_t script[] = {SAY(tuple, 6 + 65535), SAY(tuple, 6 + 65535), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  owned(feedback) feedback = feedback_from(gateway);
  assert_tuple(feedback, 1, tuple + 6, 65535);
  assert_tuple(feedback, 1, tuple + 6, 65535);
  assert_final(feedback, APNS_DONE, NULL);
}

TEST(a_list_in_the_company_of_tickets) {
  static const uint8_t tuple[] = {0, 0, 0, 9, 0, 2, 'a', 'b'};
  const gateway_step_t script[] = {SAY(tuple, sizeof tuple), END};
  const gateway_options_t options = {.tls_version = TLS1_3_VERSION, .tickets = 3};
  owned(gateway) gateway = gateway_start(&options, SCRIPTS(script));
  owned(feedback) feedback = feedback_from(gateway);
  assert_tuple(feedback, 9, "ab", 2);
  assert_final(feedback, APNS_DONE, NULL);
}

/* ---- Deadlines ---------------------------------------------------------- */

TEST(a_service_that_falls_silent) {
  static const uint8_t tuple[] = {0, 0, 0, 9, 0, 2, 'a', 'b'};
  const gateway_step_t script[] = {SAY(tuple, sizeof tuple), SAY(tuple, 5), AWAIT(1),
                                   SAY(tuple + 5, 3), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  owned(feedback) feedback = feedback_where(gateway, options.read_timeout_ms = 150);
  gateway_await_step(gateway, 0, 2);
  assert_tuple(feedback, 9, "ab", 2);
  int64_t start = clock_ms();
  apns_feedback_tuple_t out = APNS_FEEDBACK_TUPLE_INIT;
  assert_status(APNS_ERR_TIMEOUT, apns_feedback_next(feedback, &out, &error));
  assert_true(clock_ms() - start >= 149);
  assert_within(start, 150);
  assert_contains(error.message, "150 ms");
  assert_contains(error.message, "127.0.0.1");
  /* A timeout loses nothing. */
  gateway_signal(gateway);
  gateway_await_step(gateway, 0, 4);
  assert_tuple(feedback, 9, "ab", 2);
  /* Until the end has come. */
  apns_status_t status;
  while ((status = apns_feedback_next(feedback, &out, &error)) == APNS_ERR_TIMEOUT) continue;
  assert_int_equal(status, APNS_DONE);
}

/* The service sends another byte for each signal. */
typedef struct dripping {
  gateway_t *gateway;
  _Atomic size_t drops;
  _Atomic size_t count;
} dripping_t;

static void *drip(void *argument) {
  dripping_t *dripping = argument;
  for (; dripping->drops < dripping->count; dripping->drops++) {
    usleep(20000);
    gateway_signal(dripping->gateway);
  }
  return NULL;
}

/* A byte now and then is not a tuple: it does not make a call wait longer. */
TEST(a_service_that_drips) {
  enum { DROPS = 4000 };
  static uint8_t tuple[6 + DROPS] = {0, 0, 0, 9, DROPS >> 8, DROPS & 0xFF};
  static gateway_step_t script[2 * DROPS + 1];
  for (size_t drop = 0; drop < DROPS; drop++) {
    script[2 * drop] = (gateway_step_t)AWAIT(drop + 1);
    script[2 * drop + 1] = (gateway_step_t)SAY(tuple + drop, 1);
  }
  script[2 * DROPS] = (gateway_step_t)STALL;
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  owned(feedback) feedback = feedback_where(gateway, options.read_timeout_ms = 300);
  dripping_t dripping = {.gateway = gateway, .count = DROPS};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, drip, &dripping), 0);
  while (dripping.drops == 0) usleep(1000);
  apns_feedback_tuple_t out = APNS_FEEDBACK_TUPLE_INIT;
  apns_status_t status = apns_feedback_next(feedback, &out, &error);
  size_t drops = dripping.drops;
  dripping.count = 0;
  pthread_join(thread, NULL);
  assert_status(APNS_ERR_TIMEOUT, status);
  assert_in_range(drops, 1, DROPS - 1);
}

TEST(a_list_that_takes_for_ever) {
  static const uint8_t tuple[] = {0, 0, 0, 9, 0, 2, 'a', 'b'};
  const gateway_step_t script[] = {SAY(tuple, sizeof tuple), SAY(tuple, 3), STALL};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  owned(feedback) feedback = feedback_where(gateway, options.list_timeout_ms = 200);
  gateway_await_step(gateway, 0, 2);
  assert_tuple(feedback, 9, "ab", 2);
  int64_t start = clock_ms();
  assert_final(feedback, APNS_ERR_PROTOCOL, "the feedback list has not ended after 200 ms");
  assert_within(start, 200);
}

TEST(a_list_of_too_many) {
  static const uint8_t tuples[] = {0, 0, 0, 9, 0, 2, 'a', 'b', 0, 0, 0, 8, 0, 1, 'c'};
  const gateway_step_t script[] = {SAY(tuples, sizeof tuples), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script, script));
  owned(feedback) feedback = feedback_where(gateway, options.tuples_max = 1);
  assert_tuple(feedback, 9, "ab", 2);
  assert_final(feedback, APNS_ERR_PROTOCOL, "the feedback list has more than the 1");
  apns_feedback_free(feedback);
  feedback = feedback_where(gateway, options.tuples_max = 2);
  assert_tuple(feedback, 9, "ab", 2);
  assert_tuple(feedback, 8, "c", 1);
  assert_final(feedback, APNS_DONE, NULL);
}

TEST(a_service_that_does_not_shake_hands) {
  const gateway_step_t script[] = {NO_HANDSHAKE, STALL};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  apns_feedback_options_t options = feedback_options(gateway);
  options.peer.connect_timeout_ms = 150;
  owned(credentials) credentials = provider_credentials();
  apns_feedback_t *feedback = NULL;
  int64_t start = clock_ms();
  assert_status(APNS_ERR_TIMEOUT, apns_feedback_open(&options, credentials, &feedback, &error));
  assert_within(start, 150);
  assert_null(feedback);
}

/* ---- Opening ------------------------------------------------------------ */

TEST(arguments_that_cannot_be) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_feedback_options_t options = feedback_options(gateway);
  owned(credentials) credentials = provider_credentials();
  owned(feedback) feedback = NULL;
  assert_invalid(apns_feedback_open(&options, credentials, NULL, &error), "feedback_out is NULL");
  assert_invalid(apns_feedback_open(&options, NULL, &feedback, &error), "credentials is NULL");
  options.peer.host = "";
  assert_invalid(apns_feedback_open(&options, credentials, &feedback, &error), "host");
  assert_null(feedback);
  assert_int_equal(gateway_connections(gateway), 0);
  feedback = feedback_from(gateway);
  apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
  assert_invalid(apns_feedback_next(feedback, NULL, &error), "tuple_out is NULL");
  assert_invalid(apns_feedback_next(NULL, &tuple, &error), "feedback is NULL");
  tuple.size = 0;
  assert_invalid(apns_feedback_next(feedback, &tuple, &error), "apns_feedback_tuple_t.size is 0");
  apns_feedback_free(NULL);
}

/* A wrong structure costs no tuple, and is left as it was. */
TEST(a_tuple_of_another_program) {
  static const uint8_t tuples[] = {0, 0, 0, 9, 0, 2, 'a', 'b', 0, 0, 0, 8, 0, 1, 'c'};
  const gateway_step_t script[] = {SAY(tuples, sizeof tuples), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  owned(feedback) feedback = feedback_from(gateway);
  static const size_t wrong[] = {
      0, 8, 16, 24, 31, 33, 39, 4097, 4104, SIZE_MAX,
  };
  for (size_t index = 0; index < sizeof wrong / sizeof *wrong; index++) {
    apns_feedback_tuple_t tuple, before;
    memset(&tuple, 0x5A, sizeof tuple);
    tuple.size = wrong[index];
    before = tuple;
    assert_invalid(apns_feedback_next(feedback, &tuple, &error), "apns_feedback_tuple_t.size is ");
    assert_memory_equal(&tuple, &before, sizeof tuple);
  }
  struct {
    apns_feedback_tuple_t known;
    unsigned char beyond[24];
  } newer;
  memset(&newer, 0x5A, sizeof newer);
  newer.known.size = sizeof newer;
  assert_ok(apns_feedback_next(feedback, &newer.known, &error));
  assert_int_equal(newer.known.size, sizeof newer);
  assert_int_equal(newer.known.timestamp, 9);
  assert_int_equal(newer.known.token_length, 2);
  assert_int_equal(newer.beyond[0], 0x5A);
  assert_tuple(feedback, 8, "c", 1);
}

TEST(freed_before_its_end) {
  static uint8_t tuples[80000];
  for (size_t at = 0; at + 8 <= sizeof tuples; at += 8)
    memcpy(tuples + at,
           "\x00\x00\x00\x09\x00\x02"
           "ab",
           8);
  const gateway_step_t script[] = {SAY(tuples, sizeof tuples), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  apns_feedback_t *feedback = feedback_from(gateway);
  assert_tuple(feedback, 9, "ab", 2);
  int64_t start = clock_ms();
  apns_feedback_free(feedback);
  assert_within(start, 0);
}
