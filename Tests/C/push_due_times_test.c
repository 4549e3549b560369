/* The same over HTTP/2: each feature with a time has to wake a host that calls only when the
   descriptor is readable or the timeout has passed. */
#include "looping.h"
#include "pushing.h"

TEST(each_ping_of_an_idle_connection) {
  owned(service) service = service_start(NULL);
  owned(session) session = push_looping_where(service, tuning->ping_after_ms = 50);
  connect_strictly(session);
  turn_strictly_until(session, metrics_of(session).pings == 4);
  assert_int_equal(stats_of(session).connects, 1);
}

TEST(a_ping_that_is_not_answered) {
  owned(service) service = service_start(&(service_options_t){.ignores_pings = true});
  /* The time is for the handshake, and then for the answer. */
  owned(session) session = push_looping_where(service, tuning->ping_after_ms = 50,
                                              options.peer.connect_timeout_ms = 2000);
  connect_strictly(session);
  turn_strictly_until(session, metrics_of(session).pings == 1);
  assert_in_range(apns_session_timeout_ms(session), 0, 2000);
  turn_strictly_until(session, metrics_of(session).open == 0);
}

TEST(an_answer_that_does_not_come) {
  owned(service) service = service_replying(.action = SERVE_SILENCE);
  owned(session) session = push_looping_where(service, tuning->answer_timeout_ms = 100,
                                              options.delivery = APNS_DELIVERY_AT_MOST_ONCE);
  send_range(session, 0, 3);
  turn_strictly_until(session, stats_of(session).unknown == 3);
}

TEST(a_retry) {
  service_reply_t busy = {.status = 429, .body = "{\"reason\":\"TooManyRequests\"}"};
  owned(service) service = service_judging(judge_first, &busy);
  owned(session) session = push_looping_where(service, tuning->retry_schedule = "1");
  send_range(session, 0, 1);
  turn_strictly_until(session, stats_of(session).accepted == 1);
}

TEST(a_pause_before_a_connection) {
  static const gateway_step_t refuses[] = {NO_HANDSHAKE, CLOSE_RST};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(refuses, refuses, refuses));
  owned(session) session =
      session_where(gateway, options.protocol = APNS_PROTOCOL_HTTP2,
                    options.topic = "com.example.app", options.peer.nonblocking = 1);
  send_range(session, 0, 1);
  turn_strictly_until(session, gateway_connections(gateway) == 4);
}

/* Each connection takes one request, and none is answered. */
TEST(as_many_connections_as_it_takes) {
  owned(service) service =
      service_start(&(service_options_t){.reply = {.action = SERVE_SILENCE}, .streams = 1});
  owned(session) session = push_looping_where(service, options.connections = 3);
  send_range(session, 0, 3);
  turn_strictly_until(session, stats_of(session).in_flight == 3);
  assert_int_equal(stats_of(session).connects, 3);
}

static int has_no_token(apns_token_request_t *request, void *context) {
  (void)request;
  ++*(size_t *)context;
  return 0;
}

/* The session requests a missing token again after a second, and nothing else waits for that. */
TEST(a_token_that_cannot_be_had) {
  owned(service) service = service_start(NULL);
  apns_credentials_options_t given = trusting();
  size_t asked = 0;
  given.token_callback = has_no_token;
  given.token_context = &asked;
  owned(credentials) credentials = credentials_of(&given);
  apns_session_options_t options = push_options(service);
  options.peer.nonblocking = 1;
  tuning_of(&options)->ping_after_ms = 300;
  owned(session) session = session_with(&options, credentials);
  send_range(session, 0, 1);
  turn_strictly_until(session, asked > 0);
  assert_in_range(apns_session_timeout_ms(session), 0, 300);
  turn_strictly_until(session, metrics_of(session).pings > 0 && asked > 1);
  assert_counts(session, 1, 0, 0, 0, 1);
}

TEST(a_close_that_nobody_answers) {
  owned(service) service = service_replying(.action = SERVE_SILENCE);
  owned(session) session = push_looping_where(service);
  connect_strictly(session);
  send_range(session, 0, 1);
  turn_strictly_until(session, stats_of(session).in_flight == 1);
  assert_status(APNS_ERR_AGAIN, apns_session_close(session, 200, &error));
  assert_in_range(apns_session_timeout_ms(session), 0, 200);
  while (strict_turn(session) == APNS_OK) continue;
  assert_counts(session, 1, 0, 0, 1, 0);
  assert_int_equal(apns_session_timeout_ms(session), -1);
}
