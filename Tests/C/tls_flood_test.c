/* A peer that endlessly sends TLS messages without data for the session. */
#include <stdio.h>

#include "provider.h"

/* The session abandons the connection and resends its notifications in doubt: two may do so. */
TEST(new_keys_without_end_end_the_connection) {
  static const gateway_step_t flood[] = {TAKE_FRAMES(1), FLOOD};
  owned(gateway) gateway =
      gateway_start(&(gateway_options_t){.tls_version = TLS1_3_VERSION}, SCRIPTS(flood, flood));
  owned(session) session =
      session_where(gateway, binary->no_standby = 1, options.outcomes = APNS_OUTCOMES_EACH);
  int64_t start = clock_ms();
  assert_ok(apns_session_send(session, notification(0), 0, NULL, &error));
  drain(session);
  assert_within(start, 20000);
  assert_event(session, APNS_EVENT_ACCEPTED, 0, 0);
  assert_int_equal(stats_of(session).connects, 3);
}

/* No call is late for it: the session checks the clock no matter how much there is to read. */
TEST(new_keys_without_end_hold_no_call_up) {
  static const gateway_step_t flood[] = {FLOOD};
  const gateway_options_t how = {.tls_version = TLS1_3_VERSION};
  owned(gateway) gateway = gateway_start(&how, SCRIPTS(flood, flood, flood, flood));
  apns_session_t *session = session_where(gateway, binary->no_standby = 1);
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
}

TEST(a_feedback_list_of_new_keys_ends) {
  static const gateway_step_t flood[] = {FLOOD};
  owned(gateway) gateway =
      gateway_start(&(gateway_options_t){.tls_version = TLS1_3_VERSION}, SCRIPTS(flood));
  owned(feedback) feedback = feedback_from(gateway);
  apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
  assert_fails(APNS_ERR_PROTOCOL, apns_feedback_next(feedback, &tuple, &error), "floods");
}

void before_all(void) {
  /* Every record is a hundred times as dear under valgrind, and they are many. */
  if (getenv("APNS_TESTS_LIGHT")) exit(SKIPPED);
}
