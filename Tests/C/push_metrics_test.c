/* The metrics of a session over HTTP/2. */
#include <stdatomic.h>
#include <stdio.h>

#include "clock.h"
#include "pushing.h"

/* Checks everything that holds for a session that has drained. */
static apns_session_metrics_t checked(const apns_session_t *session) {
  const apns_session_metrics_t metrics = metrics_of(session);
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  assert_ok(apns_session_stats(session, &stats, NULL));
  assert_int_equal(sum(metrics.times, APNS_METRICS_TIMES), metrics.responses);
  assert_int_equal(sum(metrics.classes, APNS_METRICS_CLASSES), metrics.responses);
  assert_int_equal(metrics.classes[2], stats.accepted);
  assert_int_equal(sum(metrics.reasons, APNS_METRICS_REASONS), metrics.responses - stats.accepted);
  assert_int_equal(sum(metrics.rejected_reasons, APNS_METRICS_REASONS), stats.rejected);
  assert_int_equal(metrics.responses, stats.accepted + stats.rejected + metrics.retries_asked);
  assert_int_equal(metrics.retries_asked + metrics.resends_in_doubt + metrics.resends_unprocessed,
                   stats.resent);
  assert_int_equal(
      metrics.tls12_full + metrics.tls12_resumed + metrics.tls13_full + metrics.tls13_resumed,
      stats.connects);
  assert_int_equal(metrics.bytes_written, stats.bytes);
  assert_true(metrics.bytes_read > 0);
  return metrics;
}

/* ---- Answers -------------------------------------------------------------------- */

static service_reply_t by_number(void *context, const service_push_t *push) {
  (void)context;
  switch (number_of(push)) {
    case 1:
      return (service_reply_t){.status = 400, .body = "{\"reason\":\"BadDeviceToken\"}"};
    case 2:
      return (service_reply_t){.status = 410, .body = "{\"reason\":\"Unregistered\"}"};
    case 3:
      return (service_reply_t){.status = 410, .body = "{\"reason\":\"Unregistered\"}"};
    case 4:
      return (service_reply_t){.status = 404, .body = "{\"reason\":\"NeverHeardOf\"}"};
    default:
      return (service_reply_t){0};
  }
}

TEST(answers_by_reason) {
  owned(service) service = service_judging(by_number, NULL);
  owned(session) session = push_session(service, NULL);
  send_and_drain(session, 0, 100);
  const apns_session_metrics_t metrics = checked(session);
  assert_int_equal(metrics.responses, 100);
  assert_int_equal(metrics.classes[2], 96);
  assert_int_equal(metrics.classes[4], 4);
  assert_int_equal(metrics.reasons[APNS_REASON_BAD_DEVICE_TOKEN], 1);
  assert_int_equal(metrics.reasons[APNS_REASON_UNREGISTERED], 2);
  assert_int_equal(metrics.reasons[APNS_METRICS_REASONS - 1], 1);
  assert_memory_equal(metrics.reasons, metrics.rejected_reasons, sizeof metrics.reasons);
  assert_int_equal(metrics.open, 1);
  assert_int_equal(metrics.tokens, 0);
}

/* The clock moves by this much before the response, and real time adds a little. */
static service_reply_t take_time(void *context, const service_push_t *push) {
  (void)context;
  if (number_of(push) == 1) clock_forward(300);
  if (number_of(push) == 2) clock_forward(6000);
  return (service_reply_t){0};
}

TEST(an_answer_counts_where_its_time_belongs) {
  owned(service) service = service_judging(take_time, NULL);
  owned(session) session = push_session(service, NULL);
  uint64_t expected_us = 0;
  for (size_t n = 0; n < 3; n++) {
    const apns_session_metrics_t before = metrics_of(session);
    const int64_t start = clock_ms();
    send_and_drain(session, n, n + 1);
    const uint64_t most_us = (uint64_t)(clock_ms() - start + 1) * 1000;
    const apns_session_metrics_t after = checked(session);
    const uint64_t took = after.response_us - before.response_us;
    const uint64_t least_us = n == 0 ? 0 : n == 1 ? 300000 : 6000000;
    /* 15 microseconds may be missing. */
    assert_in_range(took + 16, least_us, most_us + 16);
    size_t place = 0;
    while (took > apns_metrics_bound_us(place)) place++;
    assert_int_equal(after.times[place], before.times[place] + 1);
    if (n == 2) assert_true(place >= 12);
    expected_us += took;
    assert_int_equal(after.response_us, expected_us);
  }
}

/* A batch that is answered late: each answer took as long. */
static service_reply_t hold_the_first(void *context, const service_push_t *push) {
  (void)context;
  if (number_of(push) == 0) clock_forward(3000);
  return (service_reply_t){0};
}

TEST(a_batch_waits_for_its_answers_together) {
  owned(service) service = service_judging(hold_the_first, NULL);
  owned(session) session = push_session(service, NULL);
  assert_ok(apns_session_connect(session, &error));
  /* The service's SETTINGS come with the first answer at the latest, so one goes ahead. */
  send_and_drain(session, 7, 8);
  const apns_session_metrics_t before = checked(session);
  hold_range(session, 0, 50);
  drain(session);
  const apns_session_metrics_t after = checked(session);
  uint64_t slow_ones = 0;
  for (size_t n = 0; n < APNS_METRICS_TIMES; n++)
    if (apns_metrics_bound_us(n) >= 3000000) slow_ones += after.times[n] - before.times[n];
  assert_int_equal(slow_ones, 50);
}

/* ---- Resent ----------------------------------------------------------------------- */

static service_reply_t refuse_once(void *context, const service_push_t *push) {
  _Atomic size_t *seen = context;
  const service_reply_t busy = {.status = 429, .body = "{\"reason\":\"TooManyRequests\"}"};
  return number_of(push) == 5 && (*seen)++ == 0 ? busy : (service_reply_t){0};
}

TEST(what_an_answer_asks_for_again) {
  _Atomic size_t seen = 0;
  owned(service) service = service_judging(refuse_once, &seen);
  owned(session) session = push_session(service, NULL);
  send_and_drain(session, 0, 10);
  const apns_session_metrics_t metrics = checked(session);
  assert_int_equal(metrics.retries_asked, 1);
  assert_int_equal(metrics.reasons[APNS_REASON_TOO_MANY_REQUESTS], 1);
  assert_int_equal(sum(metrics.rejected_reasons, APNS_METRICS_REASONS), 0);
  assert_int_equal(metrics.responses, 11);
  assert_int_equal(metrics.classes[4], 1);
}

TEST(what_is_given_up_is_no_retry) {
  owned(service) service =
      service_replying(.status = 429, .body = "{\"reason\":\"TooManyRequests\"}");
  owned(session) session = push_session_where(service, tuning->retry_timeout_ms = -1);
  send_and_drain(session, 0, 1);
  const apns_session_metrics_t metrics = checked(session);
  assert_int_equal(metrics.retries_asked, 0);
  assert_int_equal(metrics.rejected_reasons[APNS_REASON_TOO_MANY_REQUESTS], 1);
}

static service_reply_t drop_or_leave(void *context, const service_push_t *push) {
  const service_action_t *action = context;
  return (service_reply_t){.action = push->number == 3 ? *action : SERVE_ANSWER};
}

TEST(what_is_lost_and_what_was_not_looked_at) {
  static const service_action_t actions[] = {SERVE_DROP, SERVE_GOODBYE_AND_DROP, SERVE_RESET};
  for (size_t index = 0; index < 3; index++) {
    service_action_t action = actions[index];
    owned(service) service = service_judging(drop_or_leave, &action);
    owned(session) session = push_session(service, NULL);
    send_and_drain(session, 0, 20);
    const apns_session_metrics_t metrics = checked(session);
    assert_int_equal(metrics.retries_asked, 0);
    assert_int_equal(metrics.goaways, action == SERVE_GOODBYE_AND_DROP);
    if (action == SERVE_GOODBYE_AND_DROP) {
      assert_int_equal(metrics.resends_in_doubt, 0);
    } else {
      assert_true(metrics.resends_in_doubt > 0);
    }
    /* The reset's code is NO_ERROR unless the test sets another. */
    assert_int_equal(metrics.resets, 0);
  }
}

static service_reply_t reset_one(void *context, const service_push_t *push) {
  const uint32_t *error = context;
  return push->number == 3 ? (service_reply_t){.action = SERVE_RESET, .error = *error}
                           : (service_reply_t){0};
}

TEST(streams_that_the_service_resets) {
  /* INTERNAL_ERROR leaves doubt, REFUSED_STREAM none. */
  static const uint32_t errors[] = {2, 7};
  for (size_t index = 0; index < 2; index++) {
    uint32_t error = errors[index];
    owned(service) service = service_judging(reset_one, &error);
    owned(session) session = push_session(service, NULL);
    send_and_drain(session, 0, 10);
    const apns_session_metrics_t metrics = checked(session);
    assert_int_equal(metrics.resets, 1);
    assert_int_equal(metrics.resends_in_doubt, index == 0);
    assert_int_equal(metrics.resends_unprocessed, index == 1);
  }
}

/* ---- Connections ------------------------------------------------------------------ */

TEST(pings_count) {
  owned(service) service = service_start(NULL);
  apns_session_t *session = push_session(service, NULL);
  for (size_t n = 0; n < 2; n++) {
    send_and_drain(session, n, n + 1);
    clock_forward(3601 * 1000);
  }
  const apns_session_metrics_t metrics = checked(session);
  push_stop(session, service);
  assert_int_equal(metrics.pings, service_pings(service));
  assert_int_equal(metrics.pings, 1);
}

static service_reply_t say_nothing(void *context, const service_push_t *push) {
  (void)context;
  return (service_reply_t){.action = push->number == 1 ? SERVE_SILENCE : SERVE_ANSWER};
}

TEST(connections_by_their_state) {
  owned(service) service = service_start(NULL);
  owned(session) session = push_session(service, NULL);
  assert_int_equal(metrics_of(session).open, 0);
  assert_int_equal(metrics_of(session).free_streams, 0);
  send_and_drain(session, 0, 1);
  apns_session_metrics_t metrics = checked(session);
  assert_int_equal(metrics.open, 1);
  assert_int_equal(metrics.connecting + metrics.draining + metrics.standby, 0);
  assert_int_equal(metrics.backoff_ms, 0);
  assert_true(metrics.free_streams > 0);
  apns_session_close(session, 0, NULL);
  assert_int_equal(metrics_of(session).open, 0);
  assert_int_equal(metrics_of(session).free_streams, 0);
  assert_int_equal(metrics_of(session).responses, 1);
}

/* The response to one notification is missing while others come: its stream times out. */
TEST(an_answer_that_is_overdue_counts) {
  owned(service) service = service_judging(say_nothing, NULL);
  owned(session) session = push_session_where(service, tuning->answer_timeout_ms = 3000);
  send_and_drain(session, 0, 1);
  send_range(session, 1, 2);
  for (size_t n = 2; n < 8; n++) {
    clock_forward(1000);
    send_range(session, n, n + 1);
    while (stats_of(session).accepted < n) apns_session_drain(session, 10, NULL, &error);
  }
  drain(session);
  const apns_session_metrics_t metrics = checked(session);
  assert_int_equal(metrics.timeouts, 1);
  assert_int_equal(metrics.resends_in_doubt, 1);
}
