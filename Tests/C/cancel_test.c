/* Notifications that the program takes back. */
#include <semaphore.h>
#include <string.h>

#include "pushing.h"

static size_t cancel(apns_session_t *session, uint32_t identifier) {
  size_t count = 77;
  assert_ok(apns_session_cancel(session, identifier, &count, &error));
  return count;
}

static uint32_t send_one(apns_session_t *session, const apns_notification_t *given,
                         uint32_t flags) {
  uint32_t identifier = 0;
  assert_ok(apns_session_send(session, given, flags, &identifier, &error));
  return identifier;
}

/* They wait for more, and are not written. */
static void hold_back(apns_session_t *session, size_t from, size_t to) {
  for (size_t n = from; n < to; n++) send_one(session, notification(n), APNS_SEND_MORE);
}

/* ---- HTTP/2 ------------------------------------------------------------------------- */

/* The first request is accepted, so that the session knows the service's settings. The others wait
   until they may be answered, with `reply`. */
typedef struct gate {
  sem_t opens;
  service_reply_t reply;
} gate_t;

static service_reply_t wait_at_gate(void *context, const service_push_t *push) {
  gate_t *gate = context;
  const service_reply_t fine = {0};
  if (push->number == 0) return fine;
  while (sem_wait(&gate->opens) != 0) {
  }
  return gate->reply;
}

static service_t *gated_service(gate_t *gate, uint32_t streams) {
  sem_init(&gate->opens, 0, 0);
  return service_start(
      &(service_options_t){.judge = wait_at_gate, .context = gate, .streams = streams});
}

static void open_gate(gate_t *gate, size_t count) {
  while (count-- > 0) sem_post(&gate->opens);
}

static apns_session_t *session_behind_first(service_t *service,
                                            const apns_session_options_t *options) {
  apns_session_t *session = push_session(service, options);
  send_and_drain(session, 0, 1);
  assert_event(session, APNS_EVENT_ACCEPTED, 0, 0);
  return session;
}

TEST(what_was_never_sent_is_taken_back) {
  gate_t gate = {0};
  owned(service) service = gated_service(&gate, 2);
  apns_session_t *session = session_behind_first(service, NULL);
  send_range(session, 1, 3);
  hold_back(session, 3, 11);
  assert_int_equal(cancel(session, 0), 8);
  assert_int_equal(cancel(session, 0), 0);
  for (size_t n = 3; n < 11; n++) assert_event(session, APNS_EVENT_CANCELLED, 0, n);
  assert_no_event(session);
  assert_int_equal(stats_of(session).cancelled, 8);
  assert_int_equal(stats_of(session).unresolved, 2);
  /* Notifications in flight get their responses. */
  open_gate(&gate, 2);
  drain(session);
  assert_event(session, APNS_EVENT_ACCEPTED, 0, 1);
  assert_event(session, APNS_EVENT_ACCEPTED, 0, 2);
  push_stop(session, service);
  assert_int_equal(service_count(service), 3);
}

TEST(one_is_taken_back_and_the_others_are_sent) {
  gate_t gate = {0};
  owned(service) service = gated_service(&gate, 1);
  apns_session_t *session = session_behind_first(service, NULL);
  uint32_t identifiers[6];
  for (size_t n = 1; n < 6; n++)
    identifiers[n] = send_one(session, notification(n), n > 1 ? APNS_SEND_MORE : 0);
  assert_int_equal(cancel(session, identifiers[3]), 1);
  assert_int_equal(cancel(session, identifiers[3]), 0);
  assert_int_equal(cancel(session, identifiers[5] + 1), 0);
  open_gate(&gate, 4);
  drain(session);
  assert_event(session, APNS_EVENT_CANCELLED, 0, 3);
  for (size_t n = 1; n < 6; n++)
    if (n != 3) assert_event(session, APNS_EVENT_ACCEPTED, 0, n);
  push_stop(session, service);
  assert_int_equal(service_count(service), 5);
}

/* It waits for its next try, which it would make in a minute. */
TEST(a_retry_is_taken_back) {
  const service_reply_t busy = {.status = 429, .body = "{\"reason\":\"TooManyRequests\"}"};
  owned(service) service = service_judging(judge_first, (void *)&busy);
  apns_session_t *session = push_session_where(service, tuning->retry_schedule = "60",
                                               tuning->retry_timeout_ms = 3600 * 1000);
  uint32_t identifier = send_one(session, notification(0), 0);
  apns_event_t event = APNS_EVENT_INIT;
  apns_session_metrics_t metrics = APNS_SESSION_METRICS_INIT;
  while (metrics.retries_asked == 0) {
    assert_status(APNS_DONE, apns_session_next_event(session, &event, 5, &error));
    metrics = metrics_of(session);
  }
  assert_int_equal(cancel(session, identifier), 1);
  event = one_event(session);
  assert_int_equal(event.kind, APNS_EVENT_CANCELLED);
  assert_int_equal(event.http_status, 429);
  assert_int_equal(event.reason, APNS_REASON_TOO_MANY_REQUESTS);
  drain(session);
  push_stop(session, service);
  assert_int_equal(service_count(service), 1);
}

/* The outcome of a notification cancelled in flight and answered with `reply`; it is not resent. */
static apns_event_t end_of_cancelled(service_reply_t reply) {
  gate_t gate = {.reply = reply};
  owned(service) service = gated_service(&gate, 0);
  apns_session_t *session = session_behind_first(service, NULL);
  send_range(session, 1, 2);
  assert_int_equal(cancel(session, 0), 0);
  open_gate(&gate, 1);
  drain(session);
  const apns_event_t event = one_event(session);
  push_stop(session, service);
  assert_int_equal(service_count(service), 2);
  return event;
}

TEST(what_is_in_flight_is_not_tried_again) {
  const apns_event_t event = end_of_cancelled(
      (service_reply_t){.status = 503, .body = "{\"reason\":\"ServiceUnavailable\"}"});
  assert_int_equal(event.kind, APNS_EVENT_REJECTED);
  assert_int_equal(event.reason, APNS_REASON_SERVICE_UNAVAILABLE);
}

TEST(what_a_lost_connection_had_is_unknown_and_not_sent_again) {
  assert_int_equal(end_of_cancelled((service_reply_t){.action = SERVE_DROP}).kind,
                   APNS_EVENT_UNKNOWN);
}

TEST(what_the_service_did_not_look_at_did_not_arrive) {
  /* REFUSED_STREAM, RFC 9113, 8.7. */
  assert_int_equal(end_of_cancelled((service_reply_t){.action = SERVE_RESET, .error = 7}).kind,
                   APNS_EVENT_CANCELLED);
}

/* The third to the device goes after the first, as the second would have. */
TEST(the_order_of_a_device_closes_up) {
  gate_t gate = {0};
  owned(service) service = gated_service(&gate, 0);
  apns_session_options_t options = push_options(service);
  options.device_order = 1;
  apns_session_t *session = session_behind_first(service, &options);
  uint32_t identifiers[5];
  for (size_t n = 1; n < 5; n++) {
    apns_notification_t same = *notification(n);
    uint8_t token[32] = {0xD0};
    same.token = token;
    same.token_length = sizeof token;
    identifiers[n] = send_one(session, &same, n > 1 ? APNS_SEND_MORE : 0);
  }
  assert_int_equal(cancel(session, identifiers[2]), 1);
  assert_int_equal(cancel(session, identifiers[4]), 1);
  open_gate(&gate, 2);
  drain(session);
  assert_event(session, APNS_EVENT_CANCELLED, 0, 2);
  assert_event(session, APNS_EVENT_CANCELLED, 0, 4);
  assert_event(session, APNS_EVENT_ACCEPTED, 0, 1);
  assert_event(session, APNS_EVENT_ACCEPTED, 0, 3);
  push_stop(session, service);
  assert_int_equal(service_count(service), 3);
}

/* ---- The binary interface ----------------------------------------------------------- */

static const gateway_step_t polite[] = {TAKE_SENTINEL, NAME_LAST(2), END};

TEST(what_was_held_back_is_taken_back) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(polite));
  owned(session) session = session_to(gateway, NULL);
  uint32_t identifiers[10];
  for (size_t n = 0; n < 10; n++)
    identifiers[n] = send_one(session, notification(n), APNS_SEND_MORE);
  assert_int_equal(cancel(session, identifiers[4]), 1);
  assert_int_equal(cancel(session, identifiers[9]), 1);
  assert_int_equal(cancel(session, identifiers[0]), 1);
  drain(session);
  assert_counts(session, 10, 7, 0, 0, 0);
  const gateway_record_t *heard = gateway_heard(gateway, 0);
  assert_int_equal(notifications_in(heard), 7);
  for (size_t index = 0, n = 1; n < 9; n++)
    if (n != 4) assert_carries(heard, index++, n);
  for (size_t n = 0; n < 3; n++) assert_int_equal(one_event(session).kind, APNS_EVENT_CANCELLED);
}

TEST(all_are_taken_back_and_the_session_goes_on) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(polite));
  owned(session) session = session_to(gateway, NULL);
  hold_back(session, 0, 10);
  assert_int_equal(cancel(session, 0), 10);
  for (size_t n = 0; n < 10; n++) assert_event(session, APNS_EVENT_CANCELLED, 0, n);
  send_and_drain(session, 10, 12);
  const gateway_record_t *heard = gateway_heard(gateway, 0);
  assert_int_equal(notifications_in(heard), 2);
  assert_carries(heard, 0, 10);
  assert_carries(heard, 1, 11);
}

/* The gateway looked at nothing after the notification that it names. */
TEST(what_stands_behind_a_bad_one_did_not_arrive) {
  const gateway_step_t bad[] = {TAKE_FRAMES(4), AWAIT(1), NAME_NTH(8, 1), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(bad, polite));
  owned(session) session = session_to(gateway, NULL);
  send_range(session, 0, 4);
  assert_int_equal(cancel(session, 0), 0);
  gateway_signal(gateway);
  drain(session);
  assert_int_equal(stats_of(session).resent, 0);
  assert_event(session, APNS_EVENT_CANCELLED, 0, 2);
  assert_event(session, APNS_EVENT_CANCELLED, 0, 3);
  assert_event(session, APNS_EVENT_REJECTED, 8, 1);
}

TEST(what_a_silent_end_had_is_unknown_and_not_sent_again) {
  const gateway_step_t silent[] = {TAKE_FRAMES(3), AWAIT(1), CLOSE_RST, END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(silent, polite));
  owned(session) session = session_to(gateway, NULL);
  send_range(session, 0, 3);
  assert_int_equal(cancel(session, 0), 0);
  gateway_signal(gateway);
  drain(session);
  assert_counts(session, 3, 0, 0, 3, 0);
  for (size_t n = 0; n < 3; n++) assert_event(session, APNS_EVENT_UNKNOWN, 0, n);
  assert_int_equal(stats_of(session).resent, 0);
}

TEST(a_closed_session_has_nothing_to_take_back) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(polite));
  owned(session) session = session_to(gateway, NULL);
  assert_ok(apns_session_close(session, AMPLE_MS, &error));
  assert_int_equal(cancel(session, 0), 0);
  assert_ok(apns_session_cancel(session, 0, NULL, &error));
  assert_status(APNS_ERR_ARGUMENT, apns_session_cancel(NULL, 0, NULL, &error));
}
