/* Adversarial behaviour of an HTTP/2 service, and the outcomes of all other notifications. */
#include <stdio.h>

#include "clock.h"
#include "pushing.h"

/* How often each notification was delivered: a whole request of it. */
static void count_deliveries(const service_t *service, size_t *deliveries, size_t count) {
  memset(deliveries, 0, count * sizeof *deliveries);
  for (size_t index = 0; index < service_count(service); index++)
    deliveries[number_of(service_push(service, index))]++;
}

/* ---- Notifications that end their connections ------------------------------- */

typedef struct poisons {
  size_t every; /* each `every`-th, from `first` on */
  size_t first;
} poisons_t;

static bool is_poison(const poisons_t *poisons, size_t number) {
  return number >= poisons->first && (number - poisons->first) % poisons->every == 0;
}

static service_reply_t drop_by_poison(void *context, const service_push_t *push) {
  const service_reply_t drop = {.action = SERVE_DROP}, fine = {0};
  return is_poison(context, number_of(push)) ? drop : fine;
}

/* Poison notifications end as unknown, all others get through, and none is sent too often. */
static void check_poisons(size_t count, size_t first, size_t every) {
  poisons_t poisons = {.every = every, .first = first};
  owned(service) service = service_judging(drop_by_poison, &poisons);
  apns_session_t *session = push_session_where(service, tuning->reconnect_pause_max_ms = 1);
  send_and_drain(session, 0, count);
  for (size_t n = 0; n < count; n++) {
    apns_event_t event = one_event(session);
    size_t number = (size_t)(uintptr_t)event.user_data - 1;
    if (event.kind != (is_poison(&poisons, number) ? APNS_EVENT_UNKNOWN : APNS_EVENT_ACCEPTED))
      fail_msg("notification %zu of %zu ended as %d", number, count, event.kind);
  }
  push_stop(session, service);
  size_t *deliveries = calloc(count, sizeof *deliveries);
  count_deliveries(service, deliveries, count);
  for (size_t n = 0; n < count; n++) {
    if (deliveries[n] < 1 || deliveries[n] > 5)
      fail_msg("notification %zu was delivered %zu times", n, deliveries[n]);
    /* Next to others, one may be in doubt because of them, and the service did not look at it. */
    if (is_poison(&poisons, n) && every >= count) assert_int_equal(deliveries[n], 5);
  }
  free(deliveries);
}

TEST(one_that_ends_its_connection_is_found) {
  const size_t count = as_many_as(1000, 100);
  check_poisons(count, 0, count);
  check_poisons(count, count / 2, count);
  check_poisons(count, count - 1, count);
  check_poisons(1, 0, 1);
}

TEST(several_that_end_their_connections_are_found) {
  const size_t count = as_many_as(500, 60);
  check_poisons(count, count / 5, count / 3);
  /* The service answers something on each connection, and drops it. */
  check_poisons(40, 1, 2);
}

/* ---- Malformed responses ------------------------------------------------------ */

typedef struct half {
  size_t length;
  /* Frames; the stream's number is put into each. */
  uint8_t bytes[64];
} half_t;

#define HEADERS(flags, length, ...) 0, 0, length, 1, flags, 0, 0, 0, 0, __VA_ARGS__
#define RESET(error) 0, 0, 4, 3, 0, 0, 0, 0, 0, 0, 0, 0, error
enum { END_STREAM = 1, END_HEADERS = 4, STATUS_200 = 0x88 };

static const half_t halves[] = {
    {10, {HEADERS(END_STREAM, 1, STATUS_200)}},
    {13, {HEADERS(END_STREAM | END_HEADERS, 4, 0xFF, 0xFF, 0xFF, 0x7F)}},
    {10, {HEADERS(END_HEADERS, 1, STATUS_200)}},
    {23, {HEADERS(END_HEADERS, 1, STATUS_200), RESET(0)}},
    {23, {HEADERS(END_HEADERS, 1, STATUS_200), RESET(2)}},
    {23, {HEADERS(END_HEADERS, 1, STATUS_200), RESET(7)}},
    {20, {HEADERS(END_HEADERS, 1, STATUS_200), HEADERS(END_STREAM | END_HEADERS, 1, STATUS_200)}},
};

typedef struct half_answer {
  half_t half;
  uint8_t sent[64];
  _Atomic bool is_given;
} half_answer_t;

static service_reply_t answer_by_half(void *context, const service_push_t *push) {
  half_answer_t *answer = context;
  memcpy(answer->sent, answer->half.bytes, answer->half.length);
  for (size_t at = 0; at < answer->half.length; at += 9u + answer->sent[at + 2])
    answer->sent[at + 8] = (uint8_t)push->stream;
  answer->is_given = true;
  return (service_reply_t){.action = SERVE_SILENCE,
                           .last_words = answer->sent,
                           .last_words_length = answer->half.length};
}

TEST(half_an_answer_is_none) {
  for (size_t index = 0; index < sizeof halves / sizeof *halves; index++) {
    half_answer_t answer = {.half = halves[index]};
    owned(service) service = service_judging(answer_by_half, &answer);
    apns_session_t *session =
        push_session_where(service, options.delivery = APNS_DELIVERY_AT_MOST_ONCE,
                           options.deadline_ms = -1, tuning->answer_timeout_ms = 1800000);
    apns_event_t event = APNS_EVENT_INIT;
    send_range(session, 0, 1);
    /* Waits until the test opens the gate and the response arrives; the rest of it times out. */
    apns_status_t status = APNS_DONE;
    for (bool was_given = false; !was_given && status == APNS_DONE;) {
      was_given = answer.is_given;
      status = apns_session_next_event(session, &event, 100, NULL);
    }
    /* In a few cases the connection ends immediately. */
    if (status == APNS_DONE) {
      clock_forward(1800001);
      drain(session);
      event = one_event(session);
    } else {
      assert_int_equal(status, APNS_OK);
    }
    if (event.kind != APNS_EVENT_UNKNOWN) fail_msg("half %zu ended as %d", index, event.kind);
    push_stop(session, service);
    assert_int_equal(service_count(service), 1);
  }
}

/* ---- Memory ---------------------------------------------------------------------- */

static service_reply_t single_out_the_first(void *context, const service_push_t *push) {
  const service_reply_t *first = context, fine = {0};
  return number_of(push) == 0 ? *first : fine;
}

/* The smallest window, and sends that do not wait long for room. */
static apns_session_options_t small_options(const service_t *service) {
  apns_session_options_t options = push_options(service);
  options.window_bytes = 16 << 10;
  tuning_of(&options)->payload_max = 4096;
  options.outcomes = APNS_OUTCOMES_FAILURES;
  tuning_of(&options)->retry_timeout_ms = 3600 * 1000;
  return options;
}

TEST(one_that_is_put_off_holds_up_nobody) {
  const size_t count = as_many_as(5000, 300);
  service_reply_t busy = {.status = 429, .body = "{\"reason\":\"TooManyRequests\"}"};
  owned(service) service = service_judging(single_out_the_first, &busy);
  apns_session_options_t options = small_options(service);
  owned(session) session = push_session(service, &options);
  apns_session_stats_t stats;
  send_range(session, 0, count);
  do {
    apns_event_t event = APNS_EVENT_INIT;
    assert_int_equal(apns_session_next_event(session, &event, 20, NULL), APNS_DONE);
    stats = stats_of(session);
  } while (stats.unresolved > 1);
  assert_counts(session, count, count - 1, 0, 0, 1);
  assert_int_equal(stats.first_unresolved, 1);
}

TEST(an_outcome_that_nobody_takes_holds_up_nobody) {
  const size_t count = as_many_as(5000, 300);
  service_reply_t bad = {.status = 400, .body = "{\"reason\":\"BadDeviceToken\"}"};
  owned(service) service = service_judging(single_out_the_first, &bad);
  apns_session_options_t options = small_options(service);
  owned(session) session = push_session(service, &options);
  send_and_drain(session, 0, count);
  assert_counts(session, count, count - 1, 1, 0, 0);
  apns_event_t event = one_event(session);
  assert_int_equal(event.identifier, 1);
  assert_int_equal(event.reason, APNS_REASON_BAD_DEVICE_TOKEN);
}

static service_reply_t answer_only_the_first(void *context, const service_push_t *push) {
  (void)context;
  const service_reply_t fine = {0}, none = {.action = SERVE_SILENCE};
  return number_of(push) == 0 ? fine : none;
}

/* Each response becomes an outcome and frees no room, so the session waits for nothing. */
TEST(an_outcome_in_the_way_is_said_at_once) {
  owned(service) service = service_judging(answer_only_the_first, NULL);
  apns_session_options_t options = small_options(service);
  options.outcomes = APNS_OUTCOMES_EACH;
  tuning_of(&options)->answer_timeout_ms = tuning_of(&options)->write_timeout_ms = 1800 * 1000;
  owned(session) session = push_session(service, &options);
  send_and_drain(session, 0, 1);
  apns_status_t status = APNS_OK;
  size_t count = 1;
  while (status == APNS_OK && count < 1000) {
    status = apns_session_send(session, notification(count), 0, NULL, &error);
    if (status == APNS_OK) count++;
  }
  assert_int_equal(status, APNS_ERR_FULL);
  assert_int_equal(stats_of(session).events, 1);
  one_event(session);
  send_range(session, count, count + 1);
  apns_session_close(session, 0, &error);
}

TEST(outcomes_that_nobody_takes_are_said) {
  owned(service) service =
      service_replying(.status = 400, .body = "{\"reason\":\"BadDeviceToken\"}");
  apns_session_options_t options = small_options(service);
  owned(session) session = push_session(service, &options);
  apns_status_t status = APNS_OK;
  size_t count = 0;
  while (status == APNS_OK && count < 1000) {
    status = apns_session_send(session, notification(count), 0, NULL, &error);
    if (status == APNS_OK) count++;
  }
  assert_int_equal(status, APNS_ERR_FULL);
  assert_contains(error.message, "the window is full: take the ");
  drain(session);
  for (size_t n = 0; n < count; n++) one_event(session);
  send_range(session, count, count + 1);
}

/* ---- Trouble ---------------------------------------------------------------------- */

typedef struct trouble {
  service_reply_t reply;
  size_t left;
} trouble_t;

static service_reply_t trouble_first(void *context, const service_push_t *push) {
  trouble_t *trouble = context;
  const service_reply_t fine = {0};
  (void)push;
  if (!trouble->left) return fine;
  trouble->left--;
  return trouble->reply;
}

TEST(trouble_keeps_its_connection) {
  static const struct {
    int status;
    const char *body;
  } troubles[] = {{503, "{\"reason\":\"ServiceUnavailable\"}"},
                  {500, "{\"reason\":\"InternalServerError\"}"},
                  {503, "<html>busy</html>"}};
  for (size_t index = 0; index < sizeof troubles / sizeof *troubles; index++) {
    trouble_t trouble = {.reply = {.status = troubles[index].status, .body = troubles[index].body},
                         .left = 50};
    owned(service) service = service_judging(trouble_first, &trouble);
    apns_session_t *session = push_session(service, NULL);
    send_and_drain(session, 0, 50);
    assert_counts(session, 50, 50, 0, 0, 0);
    push_stop(session, service);
    assert_int_equal(service_connections(service), 1);
  }
}

/* ---- Floods ------------------------------------------------------------------------- */

typedef struct flood {
  uint8_t *bytes;
  size_t length;
} flood_t;

static service_reply_t flood_first_connection(void *context, const service_push_t *push) {
  const flood_t *flood = context;
  const service_reply_t fine = {0};
  if (push->connection > 0) return fine;
  return (service_reply_t){
      .action = SERVE_SILENCE, .last_words = flood->bytes, .last_words_length = flood->length};
}

/* A real service never sends this much that answers nothing: the session abandons the connection
   long before its responses time out, and its notifications get through on the next. */
TEST(a_flood_is_given_up) {
  static const struct {
    size_t length;
    uint8_t bytes[24];
  } frames[] = {
      {13, {0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1}}, /* WINDOW_UPDATE */
      {9, {0, 0, 0, 0xFA, 0, 0, 0, 0, 0}},           /* an unknown type */
      {14, {0, 0, 5, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}},
      {10, {HEADERS(END_HEADERS, 1, 0)}}, /* 1xx, see below */
  };
  for (size_t index = 0; index < sizeof frames / sizeof *frames; index++) {
    flood_t flood = {.length = 0, .bytes = malloc(4 << 20)};
    assert_non_null(flood.bytes);
    uint8_t frame[24];
    size_t length = frames[index].length;
    memcpy(frame, frames[index].bytes, length);
    if (frame[3] == 1) {
      /* :status 103, literal without indexing, name by its number in the static table. */
      static const uint8_t early[] = {0x08, 3, '1', '0', '3'};
      frame[2] = sizeof early;
      frame[8] = 1;
      memcpy(frame + 9, early, sizeof early);
      length = 9 + sizeof early;
    }
    while (flood.length + length <= 4 << 20) {
      memcpy(flood.bytes + flood.length, frame, length);
      flood.length += length;
    }
    service_t *service = service_judging(flood_first_connection, &flood);
    apns_session_t *session = push_session_where(service, tuning->answer_timeout_ms = 1800000);
    send_range(session, 0, 20);
    /* Sooner than answer_timeout_ms, or this fails. */
    drain(session);
    assert_counts(session, 20, 20, 0, 0, 0);
    assert_in_range(stats_of(session).connects, 2, 3);
    push_end(session, service);
    free(flood.bytes);
  }
}

/* ---- Windows that stay shut ----------------------------------------------------------- */

TEST(a_connection_that_takes_nothing_is_replaced) {
  /* 255 of these payloads fill the window to its last byte. */
  const size_t count = 400;
  owned(service) service = service_start(&(service_options_t){.shuts_first_window = true});
  /* Longer than good answers take on a busy machine. */
  owned(session) session =
      push_session_where(service, tuning->answer_timeout_ms = (uint32_t)as_many_as(5000, 20000));
  char payload[257];
  memset(payload, ' ', sizeof payload);
  memcpy(payload, "{\"aps\":{}}", 10);
  for (size_t n = 0; n < count; n++) {
    apns_notification_t push = *notification(n);
    push.payload = payload;
    push.payload_length = sizeof payload;
    assert_ok(apns_session_send(session, &push, APNS_SEND_MORE, NULL, NULL));
  }
  drain(session);
  assert_counts(session, count, count, 0, 0, 0);
  assert_int_equal(stats_of(session).connects, 2);
  assert_int_equal(stats_of(session).resent, 0);
}
