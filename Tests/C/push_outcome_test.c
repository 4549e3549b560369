/* apns_session_push(): one notification, and its outcome. */
#include <semaphore.h>
#include <string.h>

#include "pushing.h"

static apns_status_t push(apns_session_t *session, const apns_notification_t *given,
                          int32_t timeout_ms, apns_event_t *event) {
  *event = (apns_event_t)APNS_EVENT_INIT;
  return apns_session_push(session, given, timeout_ms, event, &error);
}

/* The n-th has this end, and is the session's no more. */
static apns_event_t push_nth(apns_session_t *session, size_t n, int32_t timeout_ms,
                             apns_event_kind_t kind) {
  const apns_notification_t *given = notification(n);
  void *user_data = given->user_data;
  apns_event_t event;
  assert_ok(push(session, given, timeout_ms, &event));
  assert_int_equal(event.kind, kind);
  assert_ptr_equal(event.user_data, user_data);
  assert_int_not_equal(event.identifier, 0);
  return event;
}

/* ---- HTTP/2 ------------------------------------------------------------------------- */

TEST(accepted_though_only_failures_are_reported) {
  owned(service) service = service_start(&(service_options_t){0});
  owned(session) session = push_session_where(service, options.outcomes = APNS_OUTCOMES_FAILURES);
  for (size_t n = 0; n < 3; n++) {
    const apns_event_t event = push_nth(session, n, AMPLE_MS, APNS_EVENT_ACCEPTED);
    assert_int_equal(event.http_status, 200);
    assert_int_equal(strlen(event.apns_id), 36);
  }
  assert_no_event(session);
  assert_counts(session, 3, 3, 0, 0, 0);
  assert_int_equal(stats_of(session).connects, 1);
}

static service_reply_t judge_nth(void *context, const service_push_t *push) {
  const service_reply_t gone = {
      .status = 410, .body = "{\"reason\":\"Unregistered\",\"timestamp\":1700000000123}"};
  return number_of(push) == *(size_t *)context ? gone : (service_reply_t){0};
}

TEST(rejected_with_its_reason) {
  size_t bad = 1;
  owned(service) service = service_judging(judge_nth, &bad);
  owned(session) session = push_session(service, NULL);
  push_nth(session, 0, AMPLE_MS, APNS_EVENT_ACCEPTED);
  const apns_event_t event = push_nth(session, 1, AMPLE_MS, APNS_EVENT_REJECTED);
  assert_int_equal(event.reason, APNS_REASON_UNREGISTERED);
  assert_int_equal(event.timestamp, 1700000000);
  assert_string_equal(event.reason_text, "Unregistered");
  assert_no_event(session);
}

TEST(other_outcomes_stay_in_their_order) {
  size_t bad = 2;
  owned(service) service = service_judging(judge_nth, &bad);
  owned(session) session = push_session(service, NULL);
  send_range(session, 0, 4);
  push_nth(session, 4, AMPLE_MS, APNS_EVENT_ACCEPTED);
  drain(session);
  assert_event(session, APNS_EVENT_ACCEPTED, 0, 0);
  assert_event(session, APNS_EVENT_ACCEPTED, 0, 1);
  /* The order of the responses: a response with a body comes after those without. */
  assert_event(session, APNS_EVENT_ACCEPTED, 0, 3);
  assert_event(session, APNS_EVENT_REJECTED, 0, 2);
  assert_no_event(session);
}

/* The first is accepted at once, the others when the gate opens. */
static service_reply_t wait_at_gate(void *context, const service_push_t *push) {
  if (push->number > 0)
    while (sem_wait(context) != 0) {
    }
  return (service_reply_t){0};
}

typedef struct gated {
  sem_t gate;
  service_t *service;
  apns_session_t *session;
} gated_t;

static void begin_gated(gated_t *gated, uint32_t wait_max_ms) {
  sem_init(&gated->gate, 0, 0);
  gated->service = service_start(
      &(service_options_t){.judge = wait_at_gate, .context = &gated->gate, .streams = 1});
  apns_session_options_t options = push_options(gated->service);
  options.peer.wait_max_ms = wait_max_ms;
  gated->session = push_session(gated->service, &options);
  if (wait_max_ms == 0) push_nth(gated->session, 0, AMPLE_MS, APNS_EVENT_ACCEPTED);
}

static void end_gated(gated_t *gated, size_t heard) {
  push_stop(gated->session, gated->service);
  assert_int_equal(service_count(gated->service), heard);
  service_free(gated->service);
}

TEST(in_flight_when_time_is_over) {
  gated_t gated;
  begin_gated(&gated, 0);
  const int64_t start = clock_ms();
  const apns_event_t event = push_nth(gated.session, 1, 50, APNS_EVENT_UNKNOWN);
  assert_within(start, 50);
  assert_contains(event.reason_text, "still wait for an answer");
  assert_int_equal(stats_of(gated.session).unresolved, 1);
  /* The response is counted, but its outcome is not reported. */
  sem_post(&gated.gate);
  drain(gated.session);
  assert_no_event(gated.session);
  assert_counts(gated.session, 2, 2, 0, 0, 0);
  end_gated(&gated, 2);
}

TEST(not_written_when_time_is_over) {
  gated_t gated;
  begin_gated(&gated, 0);
  send_range(gated.session, 1, 2); /* takes the only stream */
  push_nth(gated.session, 2, 0, APNS_EVENT_CANCELLED);
  push_nth(gated.session, 3, 50, APNS_EVENT_CANCELLED);
  assert_int_equal(stats_of(gated.session).cancelled, 2);
  sem_post(&gated.gate);
  drain(gated.session);
  assert_event(gated.session, APNS_EVENT_ACCEPTED, 0, 1);
  assert_no_event(gated.session);
  end_gated(&gated, 2);
}

TEST(told_as_unknown_and_not_again_at_the_end) {
  gated_t gated;
  begin_gated(&gated, 0);
  push_nth(gated.session, 1, 1, APNS_EVENT_UNKNOWN);
  assert_ok(apns_session_cancel(gated.session, 0, NULL, &error));
  assert_ok(apns_session_close(gated.session, 0, &error));
  assert_no_event(gated.session);
  assert_counts(gated.session, 2, 1, 0, 1, 0);
  sem_post(&gated.gate);
  push_end(gated.session, gated.service);
}

TEST(in_slices_of_wait_max_ms) {
  gated_t gated;
  begin_gated(&gated, 5);
  apns_event_t event;
  apns_status_t status;
  do status = push(gated.session, notification(0), AMPLE_MS, &event);
  while (status == APNS_ERR_TIMEOUT); /* not taken: it is not connected yet */
  while (status == APNS_ERR_AGAIN) status = push(gated.session, NULL, AMPLE_MS, &event);
  assert_ok(status);
  assert_invalid(push(gated.session, NULL, AMPLE_MS, &event), "notification");

  assert_status(APNS_ERR_AGAIN, push(gated.session, notification(1), AMPLE_MS, &event));
  assert_invalid(push(gated.session, notification(2), AMPLE_MS, &event),
                 "an earlier push has no outcome yet");
  assert_status(APNS_ERR_AGAIN, push(gated.session, NULL, AMPLE_MS, &event));
  assert_no_event(gated.session);
  /* Whatever the session does meanwhile. */
  assert_ok(apns_session_close(gated.session, 0, &error));
  assert_no_event(gated.session);
  assert_ok(push(gated.session, NULL, AMPLE_MS, &event));
  assert_int_equal(event.kind, APNS_EVENT_UNKNOWN);
  assert_status(APNS_ERR_CLOSED, push(gated.session, notification(2), AMPLE_MS, &event));
  sem_post(&gated.gate);
  push_end(gated.session, gated.service);
}

TEST(without_a_connection_nothing_is_taken) {
  owned(service) service = service_start(&(service_options_t){0});
  owned(session) session = push_session(service, NULL);
  apns_event_t event;
  service_stop(service);
  assert_status(APNS_ERR_NETWORK, push(session, notification(0), AMPLE_MS, &event));
  assert_int_equal(event.kind, 0);
  assert_counts(session, 0, 0, 0, 0, 0);
}

TEST(lost_on_the_way) {
  const service_reply_t drop = {.action = SERVE_DROP};
  owned(service) service = service_judging(judge_first, (void *)&drop);
  apns_session_options_t options = push_options(service);
  owned(session) session = push_session(service, &options);
  push_nth(session, 0, AMPLE_MS, APNS_EVENT_ACCEPTED); /* on the second connection */
  apns_session_free(session);
  service_free(service);

  service = service_judging(judge_first, (void *)&drop);
  options = push_options(service);
  options.delivery = APNS_DELIVERY_AT_MOST_ONCE;
  session = push_session(service, &options);
  push_nth(session, 0, AMPLE_MS, APNS_EVENT_UNKNOWN);
}

TEST(calls_that_cannot_be) {
  owned(service) service = service_start(&(service_options_t){0});
  owned(session) session = push_session_where(service, options.peer.nonblocking = 1);
  apns_event_t event;
  assert_invalid(push(session, notification(0), 0, &event), "nonblocking");
  apns_session_free(session);

  session = push_session(service, NULL);
  assert_invalid(push(session, NULL, 0, &event), "notification");
  assert_invalid(apns_session_push(session, notification(0), 0, NULL, &error), "event_out");
  event.size = 3;
  assert_invalid(apns_session_push(session, notification(0), 0, &event, &error), "size");
  assert_invalid(push(NULL, notification(0), 0, &event), "session");
  assert_counts(session, 0, 0, 0, 0, 0);
}

TEST(full_of_other_outcomes) {
  owned(service) service = service_start(&(service_options_t){0});
  apns_session_options_t options = push_options(service);
  options.window_bytes = 16 << 10, tuning_of(&options)->payload_max = 512;
  owned(session) session = push_session(service, &options);
  apns_event_t event;
  size_t count = 0;
  while (!apns_session_send(session, notification(count), 0, NULL, &error)) count++;
  assert_int_equal(error.status, APNS_ERR_FULL);
  assert_status(APNS_ERR_FULL, push(session, notification(count), AMPLE_MS, &event));
  while (!apns_session_next_event(session, &event, 0, &error)) {
  }
  push_nth(session, count, AMPLE_MS, APNS_EVENT_ACCEPTED);
}

/* ---- The binary interface ----------------------------------------------------------- */

static const gateway_step_t polite[] = {TAKE_SENTINEL, NAME_LAST(2), END};

TEST(proven_by_a_sentinel) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(polite, polite));
  owned(session) session = session_where(gateway, options.outcomes = APNS_OUTCOMES_FAILURES);
  for (size_t n = 0; n < 2; n++) push_nth(session, n, AMPLE_MS, APNS_EVENT_ACCEPTED);
  assert_no_event(session);
  assert_counts(session, 2, 2, 0, 0, 0);
}

TEST(rejected_by_name_and_the_others_stay) {
  const gateway_step_t bad[] = {TAKE_SENTINEL, NAME_NTH(8, 3), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(bad, polite));
  owned(session) session = session_where(gateway, options.outcomes = APNS_OUTCOMES_EACH);
  send_range(session, 0, 3);
  const apns_event_t event = push_nth(session, 3, AMPLE_MS, APNS_EVENT_REJECTED);
  assert_int_equal(event.reject, APNS_REJECT_INVALID_TOKEN);
  for (size_t n = 0; n < 3; n++) assert_event(session, APNS_EVENT_ACCEPTED, 0, n);
  assert_no_event(session);
}

TEST(unproven_when_time_is_over) {
  const gateway_step_t slow[] = {TAKE_SENTINEL, AWAIT(1), NAME_LAST(2), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(slow, polite));
  owned(session) session = session_where(gateway, options.outcomes = APNS_OUTCOMES_EACH);
  send_range(session, 0, 1);
  push_nth(session, 1, 30, APNS_EVENT_UNKNOWN);
  /* Nothing goes out after the sentinel. */
  push_nth(session, 2, 30, APNS_EVENT_CANCELLED);
  gateway_signal(gateway);
  drain(session);
  assert_event(session, APNS_EVENT_ACCEPTED, 0, 0);
  assert_no_event(session);
  assert_counts(session, 3, 2, 0, 0, 0);
}

TEST(told_and_then_not_written_again) {
  const gateway_step_t silent[] = {TAKE_FRAMES(3), AWAIT(1), CLOSE_RST, END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(silent, polite));
  owned(session) session = session_to(gateway, NULL);
  send_range(session, 0, 2);
  push_nth(session, 2, 30, APNS_EVENT_UNKNOWN);
  gateway_signal(gateway);
  drain(session);
  assert_int_equal(notifications_in(gateway_heard(gateway, 1)), 2);
  assert_int_equal(stats_of(session).unknown, 1);
}
