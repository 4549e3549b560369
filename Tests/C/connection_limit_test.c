/* A limit to the connections of a running session. */
#include "pushing.h"
#include "renewing.h"

static apns_session_t *session_of_three(const service_t *service) {
  apns_session_options_t options = push_options(service);
  options.peer.nonblocking = 1;
  options.connections = 3;
  options.outcomes = APNS_OUTCOMES_FAILURES;
  options.delivery = APNS_DELIVERY_AT_MOST_ONCE;
  return session_number_0(&options);
}

static void limit(apns_session_t *session, uint32_t most) {
  assert_ok(apns_session_limit_connections(session, most, &error));
}

static uint32_t connections_of(const apns_session_t *session) {
  apns_session_metrics_t metrics = APNS_SESSION_METRICS_INIT;
  assert_ok(apns_session_metrics(session, &metrics, NULL));
  return metrics.connecting + metrics.open + metrics.draining;
}

/* Sends the notifications `from` to `to`, not included, and returns the maximum number of
   connections meanwhile. */
static uint32_t most_while_sending(apns_session_t *session, size_t from, size_t to) {
  uint32_t most = 0;
  for (size_t n = from; n < to;) {
    apns_status_t status = apns_session_send(session, notification(n), 0, NULL, &error);
    if (status == APNS_OK)
      n++;
    else if (status == APNS_ERR_AGAIN)
      turn_quietly(session);
    else
      assert_ok(status);
    if (connections_of(session) > most) most = connections_of(session);
  }
  while (stats_of(session).unresolved > 0) {
    turn_quietly(session);
    if (connections_of(session) > most) most = connections_of(session);
  }
  return most;
}

/* One stream: a session makes as many connections as it may, and without a limit one more beside
   each that a busy machine leaves without a response for 0.25 s. */
static service_t *narrow_service(void) {
  return service_start(&(service_options_t){.wants_certificate = true, .streams = 1});
}

TEST(a_limit_holds_from_its_first_end_on) {
  owned(service) service = narrow_service();
  owned(session) session = session_of_three(service);
  assert_in_range(most_while_sending(session, 0, 300), 2, 6);
  limit(session, 1);
  /* Surplus connections have no notifications in flight, and close without a call for it. */
  while (connections_of(session) > 1) turn_quietly(session);
  assert_int_equal(most_while_sending(session, 300, 600), 1);
  limit(session, 2);
  assert_in_range(most_while_sending(session, 600, 900), 1, 2);
  limit(session, UINT32_MAX);
  assert_in_range(most_while_sending(session, 900, 1200), 2, 6);
  assert_counts(session, 1200, 1200, 0, 0, 0);
  assert_int_equal(stats_of(session).resent, 0);
}

/* With notifications in flight: nothing is lost and nothing comes twice. */
TEST(those_that_are_too_many_hear_their_answers) {
  owned(service) service = narrow_service();
  apns_session_t *session = session_of_three(service);
  for (size_t n = 0; n < 2000; n++) {
    assert_ok(send_turning(session, notification(n), 0));
    if (n % 100 == 50) limit(session, n / 100 % 4);
    if (n % 100 == 70) limit(session, 3);
  }
  while (stats_of(session).unresolved > 0) turn_quietly(session);
  assert_counts(session, 2000, 2000, 0, 0, 0);
  push_stop(session, service);
  assert_int_equal(service_count(service), 2000);
  assert_int_equal(service_complaints(service), 0);
}

TEST(with_none_everything_waits) {
  owned(service) service = narrow_service();
  owned(session) session = session_of_three(service);
  assert_in_range(most_while_sending(session, 0, 100), 2, 6);
  limit(session, 0);
  while (connections_of(session) > 0) turn_quietly(session);
  const uint64_t connects = stats_of(session).connects;
  for (size_t n = 100; n < 105; n++) {
    apns_status_t status = apns_session_send(session, notification(n), 0, NULL, &error);
    if (status != APNS_ERR_AGAIN) assert_ok(status);
  }
  /* The session works while there is something to do, and then it rests. */
  for (int turns = 0; is_readable(apns_session_fd(session)); turns++) {
    assert_true(turns < 1000);
    apns_session_process(session, NULL);
  }
  assert_int_equal(stats_of(session).connects, connects);
  assert_int_equal(stats_of(session).unresolved, stats_of(session).taken - 100);
  limit(session, 1);
  while (stats_of(session).unresolved > 0) turn_quietly(session);
  assert_int_equal(stats_of(session).accepted, stats_of(session).taken);
  assert_true(stats_of(session).taken >= 101);
}

/* Unlike the options' number, which a connection that only waits for its end is not part of. */
TEST(one_on_its_way_out_counts) {
  owned(service) service = narrow_service();
  owned(session) session = session_of_three(service);
  limit(session, 1);
  for (size_t n = 0; n < 5; n++) {
    renew(session, 1 + n % RENEWALS);
    assert_int_equal(most_while_sending(session, 20 * n, 20 * n + 20), 1);
  }
  assert_counts(session, 100, 100, 0, 0, 0);
  assert_true(stats_of(session).connects >= 5);
}

TEST(what_cannot_be_limited) {
  owned(service) service = narrow_service();
  apns_session_options_t options = push_options(service);
  options.protocol = APNS_PROTOCOL_BINARY;
  owned(session) session = session_number_0(&options);
  assert_status(APNS_ERR_ARGUMENT, apns_session_limit_connections(session, 1, &error));
  apns_session_free(session);
  assert_status(APNS_ERR_ARGUMENT, apns_session_limit_connections(NULL, 1, &error));
  session = session_of_three(service);
  until_done(session, apns_session_close(session, 0, &error));
  assert_status(APNS_ERR_CLOSED, apns_session_limit_connections(session, 1, &error));
}
