/* A peer that endlessly sends TLS messages without data for the session. */
#include <stdio.h>

#include "provider.h"

/* The session abandons the connection and resends its notifications in doubt: two may do so. */
TEST(new_keys_without_end_end_the_connection) {
  static const gateway_step_t flood[] = {TAKE_FRAMES(1), FLOOD};
  const gateway_options_t how = {.tls_version = TLS1_3_VERSION};
  gateway_t *gateway = gateway_start(&how, SCRIPTS(flood, flood));
  apns_session_options_t options = options_for(gateway);
  binary_of(&options)->no_standby = 1;
  options.outcomes = APNS_OUTCOMES_EACH;
  apns_session_t *session = session_to(gateway, &options);
  int64_t start = clock_ms();
  assert_ok(apns_session_send(session, notification(0), 0, NULL, &error));
  drain(session);
  assert_within(start, 20000);
  assert_event(session, APNS_EVENT_ACCEPTED, 0, 0);
  assert_int_equal(stats_of(session).connects, 3);
  session_end(session, gateway);
}

/* No call is late for it: the session checks the clock no matter how much there is to read. */
TEST(new_keys_without_end_hold_no_call_up) {
  static const gateway_step_t flood[] = {FLOOD};
  const gateway_options_t how = {.tls_version = TLS1_3_VERSION};
  gateway_t *gateway = gateway_start(&how, SCRIPTS(flood, flood, flood, flood));
  apns_session_options_t options = options_for(gateway);
  binary_of(&options)->no_standby = 1;
  apns_session_t *session = session_to(gateway, &options);
  assert_ok(apns_session_send(session, notification(0), 0, NULL, &error));
  for (int round = 0; round < 10; round++) {
    int64_t start = clock_ms();
    apns_status_t status = apns_session_drain(session, 20, NULL, &error);
    if (status != APNS_OK) assert_int_equal(status, APNS_ERR_TIMEOUT);
    assert_within(start, 120);
  }
  int64_t start = clock_ms();
  apns_session_close(session, 20, NULL);
  apns_session_free(session);
  assert_within(start, 120);
  gateway_stop(gateway);
}

TEST(a_feedback_list_of_new_keys_ends) {
  static const gateway_step_t flood[] = {FLOOD};
  const gateway_options_t how = {.tls_version = TLS1_3_VERSION};
  gateway_t *gateway = gateway_start(&how, SCRIPTS(flood));
  apns_feedback_options_t options = APNS_FEEDBACK_OPTIONS_INIT;
  options.peer.host = "localhost";
  options.peer.port = gateway_port(gateway);
  apns_credentials_t *credentials = provider_credentials();
  apns_feedback_t *feedback = NULL;
  apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
  assert_ok(apns_feedback_open(&options, credentials, &feedback, &error));
  assert_fails(APNS_ERR_PROTOCOL, apns_feedback_next(feedback, &tuple, &error), "floods");
  apns_feedback_free(feedback);
  apns_credentials_free(credentials);
  gateway_stop(gateway);
}

void before_all(void) {
  /* Every record is a hundred times as dear under valgrind, and they are many. */
  if (getenv("APNS_TESTS_LIGHT")) exit(SKIPPED);
}
