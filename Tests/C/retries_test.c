/* When a notification that the service defers is retried, and the order of each device. */
#include <limits.h>
#include <stdio.h>
#include <time.h>

#include "pushing.h"

static const char too_many[] = "{\"reason\":\"TooManyRequests\"}";
static const char broken[] = "{\"reason\":\"InternalServerError\"}";

/* ---- Schedules --------------------------------------------------------------------- */

/* The responses to the first requests, and when each request came; the rest is accepted. */
typedef struct script {
  service_reply_t replies[4];
  int64_t came_at[8];
} script_t;

static service_reply_t follow(void *context, const service_push_t *push) {
  script_t *script = context;
  const service_reply_t fine = {0};
  if (push->number < 8) script->came_at[push->number] = clock_ms();
  return push->number < 4 ? script->replies[push->number] : fine;
}

/* Sends one, and waits for its outcome. */
static apns_event_t outcome_of(script_t *script, const char *schedule, const char *server_errors,
                               int32_t retry_timeout_ms, size_t *count) {
  owned(service) service = service_judging(follow, script);
  apns_session_t *session = push_session_where(service, tuning->retry_schedule = schedule,
                                               tuning->server_error_schedule = server_errors,
                                               tuning->retry_timeout_ms = retry_timeout_ms);
  send_and_drain(session, 0, 1);
  apns_event_t event = one_event(session);
  push_stop(session, service);
  *count = service_count(service);
  return event;
}

TEST(a_pause_is_as_long_as_the_schedule_says) {
  size_t count;
  /* The other schedule would leave no time for a retry. */
  script_t device = {.replies = {{.status = 429, .body = too_many},
                                 {.status = 429, .body = too_many},
                                 {.status = 429, .body = too_many}}};
  apns_event_t event = outcome_of(&device, "1, 2", "86400", 3600 * 1000, &count);
  assert_int_equal(event.kind, APNS_EVENT_ACCEPTED);
  assert_int_equal(event.retry_after_s, 0);
  assert_int_equal(count, 4);
  assert_true(device.came_at[1] - device.came_at[0] >= 1000);
  assert_true(device.came_at[2] - device.came_at[1] >= 2000);
  assert_true(device.came_at[3] - device.came_at[2] >= 2000);

  script_t server = {.replies = {{.status = 500, .body = broken},
                                 {.status = 503, .body = "{\"reason\":\"ServiceUnavailable\"}"},
                                 {.status = 502, .body = "<html>"}}};
  event = outcome_of(&server, "86400", "2,1", 3600 * 1000, &count);
  assert_int_equal(event.kind, APNS_EVENT_ACCEPTED);
  assert_int_equal(count, 4);
  assert_true(server.came_at[1] - server.came_at[0] >= 2000);
  assert_true(server.came_at[2] - server.came_at[1] >= 1000);
  assert_true(server.came_at[3] - server.came_at[2] >= 1000);
}

/* The first pause ends after 1 s, the second after 2 s at least. */
TEST(a_retry_timeout_counts_milliseconds) {
  static const struct {
    int32_t timeout_ms;
    size_t tries;
  } rows[] = {{-1, 1}, {999, 1}, {1000, 2}, {1999, 2}};
  for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
    script_t always = {.replies = {{.status = 429, .body = too_many},
                                   {.status = 429, .body = too_many},
                                   {.status = 429, .body = too_many}}};
    size_t count;
    apns_event_t event = outcome_of(&always, "1", "86400", rows[n].timeout_ms, &count);
    assert_int_equal(event.kind, APNS_EVENT_REJECTED);
    assert_int_equal(event.http_status, 429);
    assert_int_equal(event.retry_after_s, 60);
    assert_int_equal(count, rows[n].tries);
  }
}

TEST(a_retry_timeout_below_none_is_refused) {
  owned(credentials) credentials = provider_credentials();
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  apns_session_t *session = NULL;
  tuning_of(&options)->retry_timeout_ms = -2;
  assert_status(APNS_ERR_ARGUMENT, apns_session_new(&options, credentials, &session, &error));
  assert_string_equal(error.message, "retry_timeout_ms is -2, not -1, 0 or a number of ms");
}

/* After a 5xx the session waits longer than after a device's 429. */
TEST(without_a_schedule_5xx_waits_longer) {
  size_t count;
  script_t server = {.replies = {{.status = 503, .body = "{\"reason\":\"ServiceUnavailable\"}"}}};
  assert_int_equal(outcome_of(&server, NULL, NULL, 0, &count).kind, APNS_EVENT_ACCEPTED);
  assert_int_equal(count, 2);
  assert_true(server.came_at[1] - server.came_at[0] >= 5000);
}

TEST(a_service_that_asks_for_a_longer_pause_gets_it) {
  size_t count;
  script_t script = {.replies = {{.status = 429, .body = too_many, .retry_after = "2"},
                                 {.status = 503, .body = "", .retry_after = "2"},
                                 {.status = 429, .body = too_many, .retry_after = "1"}}};
  assert_int_equal(outcome_of(&script, "1,1,2", "1", 3600 * 1000, &count).kind,
                   APNS_EVENT_ACCEPTED);
  assert_int_equal(count, 4);
  assert_true(script.came_at[1] - script.came_at[0] >= 2000);
  assert_true(script.came_at[2] - script.came_at[1] >= 2000);
  assert_true(script.came_at[3] - script.came_at[2] >= 2000);
}

/* Nobody knows whether the second try arrived, independent of the response to the first. */
TEST(an_earlier_answer_says_nothing_of_a_try_in_doubt) {
  script_t script = {.replies = {{.status = 429, .body = too_many}, {.action = SERVE_DROP}}};
  owned(service) service = service_judging(follow, &script);
  owned(session) session = push_session_where(service, tuning->retry_schedule = "1",
                                              options.delivery = APNS_DELIVERY_AT_MOST_ONCE);
  send_and_drain(session, 0, 1);
  apns_event_t event = one_event(session);
  assert_int_equal(event.kind, APNS_EVENT_UNKNOWN);
  assert_int_equal(event.retry_after_s, 0);
  assert_int_equal(event.http_status, 0);
  assert_int_equal(event.reason, APNS_REASON_NONE);
}

TEST(a_mistake_in_a_schedule_is_named) {
  static const struct {
    const char *schedule, *message;
  } mistakes[] = {
      {"", " has no number of seconds from 1 to 86400 at 0"},
      {"0", " has no number of seconds from 1 to 86400 at 0"},
      {"1,", " has no number of seconds from 1 to 86400 at 2"},
      {"1, x", " has no number of seconds from 1 to 86400 at 3"},
      {"5,-1", " has no number of seconds from 1 to 86400 at 2"},
      {"86401", " has no number of seconds from 1 to 86400 at 0"},
      {"4294967297", " has no number of seconds from 1 to 86400 at 0"},
      {"99999999999999999999999", " has no number of seconds from 1 to 86400 at 0"},
      {"1 2", " has no comma at 2"},
      {"1.5", " has no comma at 1"},
      {"1;2", " has no comma at 1"},
      {"1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", " has more than 16 pauses, at 32"},
  };
  owned(credentials) credentials = provider_credentials();
  char expected[120];
  for (size_t n = 0; n < 2 * sizeof mistakes / sizeof *mistakes; n++) {
    apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
    apns_session_t *session = NULL;
    options.protocol = APNS_PROTOCOL_HTTP2;
    *(n & 1 ? &tuning_of(&options)->retry_schedule : &tuning_of(&options)->server_error_schedule) =
        mistakes[n / 2].schedule;
    assert_status(APNS_ERR_ARGUMENT, apns_session_new(&options, credentials, &session, &error));
    assert_null(session);
    snprintf(expected, sizeof expected, "%s%s", n & 1 ? "retry_schedule" : "server_error_schedule",
             mistakes[n / 2].message);
    assert_string_equal(error.message, expected);
  }
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  tuning_of(&options)->retry_schedule = " 1 ,2 , 86400";
  tuning_of(&options)->server_error_schedule = "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16";
  owned(session) session = session_with(&options, credentials);
}

/* ---- After how long the caller may try again ---------------------------------------- */

TEST(the_caller_is_told_when_to_try_again) {
  static const struct {
    int status;
    const char *reason, *retry_after;
    uint32_t expected;
  } answers[] = {
      {429, "TooManyRequests", NULL, 60},
      {429, "TooManyRequests", "7", 7},
      {429, "TooManyProviderTokenUpdates", NULL, 1200},
      {429, "SomethingNew", NULL, 60},
      {500, "InternalServerError", NULL, 900},
      {503, "ServiceUnavailable", NULL, 900},
      {503, "ServiceUnavailable", "120", 120},
      {503, "Shutdown", NULL, 900},
      {502, "SomethingNew", NULL, 900},
      {400, "IdleTimeout", NULL, 60},
      /* A day at most; anything but a number of seconds does not count. */
      {503, "ServiceUnavailable", "86400", 86400},
      {503, "ServiceUnavailable", "86401", 86400},
      {503, "ServiceUnavailable", "4294967297", 86400},
      {503, "ServiceUnavailable", "99999999999999999999999999999999999", 86400},
      {503, "ServiceUnavailable", "0", 900},
      {503, "ServiceUnavailable", "-5", 900},
      {503, "ServiceUnavailable", "", 900},
      {503, "ServiceUnavailable", "1.5", 900},
      {503, "ServiceUnavailable", "soon", 900},
      {503, "ServiceUnavailable", "Wed, 21 Oct 2026 07:28:00 GMT", 900},
      /* There is no point in sending these again. */
      {400, "BadDeviceToken", NULL, 0},
      {400, "BadDeviceToken", "7", 0},
      {403, "InvalidProviderToken", "7", 0},
      {413, "PayloadTooLarge", NULL, 0},
      {410, "Unregistered", "7", 0},
  };
  for (size_t n = 0; n < sizeof answers / sizeof *answers; n++) {
    char body[80];
    size_t count;
    snprintf(body, sizeof body, "{\"reason\":\"%s\"}", answers[n].reason);
    const service_reply_t reply = {
        .status = answers[n].status, .body = body, .retry_after = answers[n].retry_after};
    script_t script = {.replies = {reply, reply, reply, reply}};
    const apns_event_t event = outcome_of(&script, NULL, NULL, 1, &count);
    assert_int_equal(event.kind, APNS_EVENT_REJECTED);
    assert_string_equal(event.reason_text, answers[n].reason);
    assert_int_equal(count, 1);
    if (event.retry_after_s != answers[n].expected)
      fail_msg("%d %s with %s: %u", answers[n].status, answers[n].reason,
               answers[n].retry_after ? answers[n].retry_after : "nothing", event.retry_after_s);
  }
}

/* The session's schedule would allow the wait, but the service asks for a longer one. */
TEST(a_pause_that_is_too_long_ends_the_notification) {
  size_t count;
  script_t script = {.replies = {{.status = 429, .body = too_many, .retry_after = "61"}}};
  const apns_event_t event = outcome_of(&script, NULL, NULL, 0, &count);
  assert_int_equal(event.kind, APNS_EVENT_REJECTED);
  assert_int_equal(event.retry_after_s, 61);
  assert_int_equal(count, 1);
}

/* Closed while it waits for its next try, or for its answer. */
TEST(one_without_an_end_tells_it_too) {
  service_reply_t replies[] = {
      {.status = 429, .body = too_many}, {.status = 503, .body = ""}, {.action = SERVE_SILENCE}};
  const uint32_t expected[] = {60, 900, 0};
  for (size_t n = 0; n < 3; n++) {
    owned(service) service = service_start(&(service_options_t){.reply = replies[n]});
    owned(session) session =
        push_session_where(service, tuning->retry_schedule = tuning->server_error_schedule = "60",
                           tuning->retry_timeout_ms = 3600 * 1000);
    send_range(session, 0, 1);
    do {
      assert_int_equal(apns_session_drain(session, 20, NULL, NULL), APNS_ERR_TIMEOUT);
    } while (n < 2 && stats_of(session).in_flight > 0);
    apns_session_close(session, 0, NULL);
    const apns_event_t event = one_event(session);
    assert_int_equal(event.kind, APNS_EVENT_UNKNOWN);
    assert_int_equal(event.retry_after_s, expected[n]);
  }
}

/* ---- A device's order --------------------------------------------------------------- */

/* A device's token and a payload that contains the number. */
static void send_to(apns_session_t *session, size_t device, size_t number) {
  unsigned char token[32] = {0};
  char payload[64];
  memcpy(token, &device, sizeof device);
  snprintf(payload, sizeof payload, "{\"aps\":{\"badge\":%zu}}", number);
  apns_notification_t push = APNS_NOTIFICATION_INIT;
  push.token = token, push.token_length = sizeof token;
  push.payload = payload, push.payload_length = strlen(payload);
  push.user_data = (void *)(uintptr_t)number;
  assert_ok(apns_session_send(session, &push, APNS_SEND_MORE, NULL, &error));
}

static size_t badge_of(const service_push_t *push) {
  size_t badge = SIZE_MAX;
  sscanf(push->payload, "{\"aps\":{\"badge\":%zu}}", &badge);
  return badge;
}

static service_t *start(service_judge_t judge, void *context) {
  return service_start(&(service_options_t){.judge = judge, .context = context});
}

static apns_session_t *ordering_session(const service_t *service, apns_delivery_t delivery) {
  return push_session_where(service, options.device_order = 1, options.delivery = (int32_t)delivery,
                            tuning->retry_schedule = tuning->server_error_schedule = "1",
                            tuning->retry_timeout_ms = 3600 * 1000);
}

static service_reply_t take_its_time(void *context, const service_push_t *push) {
  (void)context, (void)push;
  const struct timespec late = {.tv_nsec = 3 * 1000 * 1000};
  nanosleep(&late, NULL);
  return (service_reply_t){0};
}

/* Each is written when the one before it was answered; without the option, all at once. */
TEST(those_to_a_device_go_out_one_after_the_other) {
  for (int keeps = 0; keeps < 2; keeps++) {
    owned(service) service = start(take_its_time, NULL);
    apns_session_t *session = push_session_where(service, options.device_order = keeps);
    size_t next[3] = {0};
    send_to(session, 99, 0);
    drain(session);
    for (size_t n = 0; n < 60; n++) send_to(session, n % 3, n / 3);
    drain(session);
    assert_counts(session, 61, 61, 0, 0, 0);
    push_stop(session, service);
    if (keeps) assert_in_range(service_most_streams(service), 1, 3);
    if (!keeps) assert_true(service_most_streams(service) > 3);
    for (size_t n = 1; n < 61; n++) {
      const service_push_t *push = service_push(service, n);
      assert_int_equal(badge_of(push), next[number_of(push)]++);
    }
  }
}

/* Badge 0 of device 0 gets this response, `times` times. */
typedef struct hold {
  service_reply_t reply;
  int times;
} hold_t;

static service_reply_t hold_the_first_up(void *context, const service_push_t *push) {
  hold_t *hold = context;
  const service_reply_t fine = {0};
  if (number_of(push) != 0 || badge_of(push) != 0 || hold->times == 0) return fine;
  hold->times--;
  return hold->reply;
}

static void check_order_behind(service_reply_t reply, apns_delivery_t delivery, size_t sendings) {
  hold_t hold = {reply, 2};
  owned(service) service = start(hold_the_first_up, &hold);
  apns_session_t *session = ordering_session(service, delivery);
  for (size_t n = 0; n < 5; n++)
    for (size_t device = 0; device < 4; device++) send_to(session, device, n);
  drain(session);
  assert_int_equal(stats_of(session).taken, 20);
  push_stop(session, service);
  size_t next[4] = {0}, firsts = 0;
  for (size_t n = 0; n < service_count(service); n++) {
    const service_push_t *push = service_push(service, n);
    const size_t device = number_of(push), badge = badge_of(push);
    assert_true(device < 4);
    if (device == 0 && badge == 0) {
      assert_in_range(next[0], 0, 1);
      firsts++;
      next[0] = 1;
    } else if (delivery == APNS_DELIVERY_AT_MOST_ONCE || reply.action == SERVE_ANSWER) {
      assert_int_equal(badge, next[device]++);
    } else {
      /* A few of the others were on the connection that ended, and arrive again. */
      assert_in_range(badge + 1, next[device], next[device] + 1);
      next[device] = badge + 1;
    }
  }
  assert_int_equal(firsts, sendings);
  for (size_t device = 0; device < 4; device++) assert_int_equal(next[device], 5);
}

TEST(behind_one_that_is_put_off_the_order_is_kept) {
  check_order_behind((service_reply_t){.status = 429, .body = too_many},
                     APNS_DELIVERY_AT_LEAST_ONCE, 3);
  check_order_behind((service_reply_t){.status = 500, .body = broken}, APNS_DELIVERY_AT_LEAST_ONCE,
                     3);
}

TEST(the_order_is_kept_when_a_connection_dies) {
  check_order_behind((service_reply_t){.action = SERVE_DROP}, APNS_DELIVERY_AT_LEAST_ONCE, 3);
  check_order_behind((service_reply_t){.action = SERVE_RESET, .error = 7},
                     APNS_DELIVERY_AT_LEAST_ONCE, 3);
}

/* Its outcome is unknown, which is an outcome. */
TEST(behind_one_that_is_unknown_the_next_goes_out) {
  hold_t drop = {{.action = SERVE_DROP}, 1};
  owned(service) service = start(hold_the_first_up, &drop);
  apns_session_t *session = ordering_session(service, APNS_DELIVERY_AT_MOST_ONCE);
  for (size_t n = 0; n < 5; n++) send_to(session, 0, n);
  drain(session);
  assert_counts(session, 5, 4, 0, 1, 0);
  push_stop(session, service);
  assert_int_equal(service_count(service), 5);
  for (size_t n = 0; n < 5; n++) assert_int_equal(badge_of(service_push(service, n)), n);
}

/* The device's notifications cost their own bytes; those to others go through the rest. */
TEST(those_that_wait_hold_up_no_other_device) {
  const size_t count = as_many_as(3000, 300);
  hold_t forever = {{.status = 429, .body = too_many}, INT_MAX};
  owned(service) service = start(hold_the_first_up, &forever);
  owned(session) session =
      push_session_where(service, options.device_order = 1,
                         options.outcomes = APNS_OUTCOMES_FAILURES, options.window_bytes = 16 << 10,
                         tuning->payload_max = 4096, tuning->retry_timeout_ms = 3600 * 1000);
  for (size_t n = 0; n < 10; n++) send_to(session, 0, n);
  for (size_t n = 0; n < count; n++) send_to(session, 1 + n, 0);
  do {
    assert_int_equal(apns_session_drain(session, 20, NULL, NULL), APNS_ERR_TIMEOUT);
  } while (stats_of(session).unresolved > 10);
  assert_counts(session, count + 10, count, 0, 0, 10);
  /* Unsent notifications get their outcomes in order, when the session closes. */
  apns_session_close(session, 0, NULL);
  for (size_t n = 0; n < 10; n++) {
    const apns_event_t event = one_event(session);
    assert_int_equal(event.kind, APNS_EVENT_UNKNOWN);
    assert_int_equal((uintptr_t)event.user_data, n);
    assert_int_equal(event.retry_after_s, n == 0 ? 60 : 0);
  }
}

TEST(over_the_binary_interface_it_takes_one_connection) {
  owned(credentials) credentials = provider_credentials();
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  options.protocol = APNS_PROTOCOL_BINARY;
  owned(session) session = NULL;
  options.device_order = 1;
  options.connections = 2;
  assert_status(APNS_ERR_ARGUMENT, apns_session_new(&options, credentials, &session, &error));
  assert_string_equal(error.message,
                      "connections is 2, but with device_order the binary interface takes one");
  options.connections = 1;
  assert_ok(apns_session_new(&options, credentials, &session, &error));
}
