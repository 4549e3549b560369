/* The same over HTTP/2: each feature with a time has to wake a host that calls only when the
   descriptor is readable or the timeout has passed. */
#include "looping.h"
#include "pushing.h"

static service_t *service;

static apns_session_t *looping(apns_session_options_t options) {
  options.peer.nonblocking = 1;
  return push_session(service, &options);
}

static apns_session_metrics_t metrics_of(apns_session_t *session) {
  apns_session_metrics_t metrics = APNS_SESSION_METRICS_INIT;
  assert_ok(apns_session_metrics(session, &metrics, NULL));
  return metrics;
}

static service_reply_t says_nothing(void *context, const service_push_t *push) {
  (void)context, (void)push;
  return (service_reply_t){.action = SERVE_SILENCE};
}

TEST(each_ping_of_an_idle_connection) {
  service = service_start(NULL);
  apns_session_options_t options = push_options(service);
  tuning_of(&options)->ping_after_ms = 50;
  apns_session_t *session = looping(options);
  connect_strictly(session);
  turn_strictly_until(session, metrics_of(session).pings == 4);
  assert_int_equal(stats_of(session).connects, 1);
  push_end(session, service);
}

TEST(a_ping_that_is_not_answered) {
  const service_options_t deaf = {.ignores_pings = true};
  service = service_start(&deaf);
  apns_session_options_t options = push_options(service);
  tuning_of(&options)->ping_after_ms = 50;
  options.peer.connect_timeout_ms = 2000; /* for the handshake, and then for the answer */
  apns_session_t *session = looping(options);
  connect_strictly(session);
  turn_strictly_until(session, metrics_of(session).pings == 1);
  assert_in_range(apns_session_timeout_ms(session), 0, 2000);
  turn_strictly_until(session, metrics_of(session).open == 0);
  push_end(session, service);
}

TEST(an_answer_that_does_not_come) {
  service = service_judging(says_nothing, NULL);
  apns_session_options_t options = push_options(service);
  tuning_of(&options)->answer_timeout_ms = 100;
  options.delivery = APNS_DELIVERY_AT_MOST_ONCE;
  apns_session_t *session = looping(options);
  send_range(session, 0, 3);
  turn_strictly_until(session, stats_of(session).unknown == 3);
  push_end(session, service);
}

TEST(a_retry) {
  service_reply_t busy = {.status = 429, .body = "{\"reason\":\"TooManyRequests\"}"};
  service = service_judging(judge_first, &busy);
  apns_session_options_t options = push_options(service);
  tuning_of(&options)->retry_schedule = "1";
  apns_session_t *session = looping(options);
  send_range(session, 0, 1);
  turn_strictly_until(session, stats_of(session).accepted == 1);
  push_end(session, service);
}

TEST(a_pause_before_a_connection) {
  static const gateway_step_t refuses[] = {NO_HANDSHAKE, CLOSE_RST};
  gateway_t *gateway = gateway_start(NULL, SCRIPTS(refuses, refuses, refuses));
  apns_session_options_t options = options_for(gateway);
  options.protocol = APNS_PROTOCOL_HTTP2;
  options.topic = "com.example.app";
  options.peer.nonblocking = 1;
  apns_session_t *session = session_to(gateway, &options);
  send_range(session, 0, 1);
  turn_strictly_until(session, gateway_connections(gateway) == 4);
  apns_session_free(session);
  gateway_stop(gateway);
}

/* Each connection takes one request, and none is answered. */
TEST(as_many_connections_as_it_takes) {
  const service_options_t narrow = {.judge = says_nothing, .streams = 1};
  service = service_start(&narrow);
  apns_session_options_t options = push_options(service);
  options.connections = 3;
  apns_session_t *session = looping(options);
  send_range(session, 0, 3);
  turn_strictly_until(session, stats_of(session).in_flight == 3);
  assert_int_equal(stats_of(session).connects, 3);
  push_end(session, service);
}

static int has_no_token(apns_token_request_t *request, void *context) {
  (void)request;
  ++*(size_t *)context;
  return 0;
}

/* The session requests a missing token again after a second, and nothing else waits for that. */
TEST(a_token_that_cannot_be_had) {
  service = service_start(NULL);
  apns_credentials_options_t given = APNS_CREDENTIALS_OPTIONS_INIT;
  apns_credentials_t *credentials = NULL;
  apns_session_t *session = NULL;
  size_t asked = 0;
  given.ca_file = identities_make()->root.certificate_file;
  given.token_callback = has_no_token;
  given.token_context = &asked;
  assert_ok(apns_credentials_new(&given, &credentials, &error));
  apns_session_options_t options = push_options(service);
  options.peer.nonblocking = 1;
  tuning_of(&options)->ping_after_ms = 300;
  assert_ok(apns_session_new(&options, credentials, &session, &error));
  apns_credentials_free(credentials);
  send_range(session, 0, 1);
  turn_strictly_until(session, asked > 0);
  assert_in_range(apns_session_timeout_ms(session), 0, 300);
  turn_strictly_until(session, metrics_of(session).pings > 0 && asked > 1);
  assert_counts(session, 1, 0, 0, 0, 1);
  push_end(session, service);
}

TEST(a_close_that_nobody_answers) {
  service = service_judging(says_nothing, NULL);
  apns_session_t *session = looping(push_options(service));
  connect_strictly(session);
  send_range(session, 0, 1);
  turn_strictly_until(session, stats_of(session).in_flight == 1);
  assert_status(APNS_ERR_AGAIN, apns_session_close(session, 200, &error));
  assert_in_range(apns_session_timeout_ms(session), 0, 200);
  while (strict_turn(session) == APNS_OK) continue;
  assert_counts(session, 1, 0, 0, 1, 0);
  assert_int_equal(apns_session_timeout_ms(session), -1);
  push_end(session, service);
}
