/* The metrics of a session over the binary interface, and their structure. */
#include <stdio.h>

#include "provider.h"

static uint64_t handshakes(const apns_session_metrics_t *metrics) {
  return metrics->tls12_full + metrics->tls12_resumed + metrics->tls13_full +
         metrics->tls13_resumed;
}

/* ---- The structure ---------------------------------------------------------------- */

TEST(the_bounds_go_from_a_millisecond_to_almost_a_minute) {
  const uint64_t first[] = {1000, 2000, 5000, 10000, 20000, 50000};
  for (size_t n = 0; n + 1 < APNS_METRICS_TIMES; n++) {
    if (n < 6) assert_int_equal(apns_metrics_bound_us(n), first[n]);
    assert_true(apns_metrics_bound_us(n) < apns_metrics_bound_us(n + 1));
  }
  assert_int_equal(apns_metrics_bound_us(APNS_METRICS_TIMES - 2), 50000000);
  assert_int_equal(apns_metrics_bound_us(APNS_METRICS_TIMES - 1), UINT64_MAX);
  assert_int_equal(apns_metrics_bound_us(SIZE_MAX), UINT64_MAX);
}

TEST(a_fresh_session_has_nothing_to_tell) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session = session_to(gateway, NULL);
  apns_session_metrics_t metrics = metrics_of(session), none = APNS_SESSION_METRICS_INIT;
  assert_memory_equal(&metrics, &none, sizeof none);
  assert_status(APNS_ERR_ARGUMENT, apns_session_metrics(NULL, &metrics, &error));
  assert_invalid(apns_session_metrics(session, NULL, &error), "metrics_out");
}

/* A program that was compiled with a later library has fields that this library does not know: they
   keep the zeros of the INIT macro. */
TEST(a_newer_structure_is_filled_as_far_as_it_is_known) {
  struct {
    apns_session_metrics_t known;
    unsigned char later[24];
  } newer;
  memset(&newer, 0x5A, sizeof newer);
  newer.known.size = sizeof newer;
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session = session_to(gateway, NULL);
  assert_ok(apns_session_connect(session, &error));
  assert_ok(apns_session_metrics(session, &newer.known, &error));
  assert_int_equal(newer.known.size, sizeof newer);
  assert_int_equal(handshakes(&newer.known), 1);
  assert_int_equal(newer.known.open, 1);
  for (size_t n = 0; n < sizeof newer.later; n++) assert_int_equal(newer.later[n], 0x5A);
}

/* ---- What is counted ---------------------------------------------------------------- */

TEST(outcomes_and_what_was_sent_again) {
  static const gateway_step_t first[] = {TAKE_FRAMES(10), AWAIT(1), NAME_NTH(8, 3), END};
  static const gateway_step_t second[] = {TAKE_FRAMES(6), CLOSE_RST};
  static const gateway_step_t third[] = {TAKE_SENTINEL, NAME_LAST(2), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first, second, third));
  owned(session) session = session_where(gateway, binary->no_standby = 1);
  send_range(session, 0, 10);
  assert_ok(apns_session_flush(session, &error));
  apns_session_metrics_t metrics = metrics_of(session);
  assert_int_equal(metrics.open, 1);
  assert_int_equal(metrics.responses, 0);
  gateway_signal(gateway);
  drain(session);
  const apns_session_stats_t stats = stats_of(session);
  metrics = metrics_of(session);
  assert_int_equal(stats.rejected, 1);
  assert_int_equal(metrics.rejects[APNS_REJECT_INVALID_TOKEN], 1);
  assert_int_equal(sum(metrics.rejects, APNS_METRICS_REJECTS), stats.rejected);
  /* Six after the rejected one, and the same six when the second connection broke. */
  assert_int_equal(metrics.resends_unprocessed, 6);
  assert_int_equal(metrics.resends_in_doubt, 6);
  assert_int_equal(stats.resent, 12);
  assert_int_equal(metrics.retries_asked, 0);
  /* The one sentinel that was answered. */
  assert_int_equal(metrics.responses, 1);
  assert_int_equal(sum(metrics.times, APNS_METRICS_TIMES), 1);
  assert_int_equal(sum(metrics.classes, APNS_METRICS_CLASSES), 0);
  assert_int_equal(handshakes(&metrics), stats.connects);
  assert_int_equal(stats.connects, 3);
  assert_int_equal(metrics.bytes_written, stats.bytes);
  /* Two error packets. */
  assert_int_equal(metrics.bytes_read, 12);
  assert_int_equal(metrics.open + metrics.draining, 0);
  assert_int_equal(metrics.free_streams, 0); /* HTTP/2's */
  /* A closed session has metrics too. */
  assert_ok(apns_session_close(session, 0, &error));
  assert_int_equal(metrics_of(session).rejects[APNS_REJECT_INVALID_TOKEN], 1);
}

TEST(each_status_has_its_place) {
  static const struct {
    uint8_t status;
    size_t place;
  } statuses[] = {{1, 1}, {8, 8}, {13, 13}, {14, 15}, {128, 14}, {200, 15}, {255, 15}};
  for (size_t index = 0; index < sizeof statuses / sizeof *statuses; index++) {
    const gateway_step_t naming[] = {TAKE_FRAMES(1), NAME_NTH(statuses[index].status, 0), END};
    owned(gateway) gateway = gateway_start(NULL, SCRIPTS(naming));
    owned(session) session = session_to(gateway, NULL);
    send_and_drain(session, 0, 1);
    const apns_session_metrics_t metrics = metrics_of(session);
    assert_int_equal(metrics.rejects[statuses[index].place], 1);
    assert_int_equal(sum(metrics.rejects, APNS_METRICS_REJECTS), 1);
  }
}

TEST(handshakes_by_kind) {
  const struct {
    int version;
    size_t full, resumed; /* offsets */
  } versions[] = {
      {TLS1_2_VERSION, offsetof(apns_session_metrics_t, tls12_full),
       offsetof(apns_session_metrics_t, tls12_resumed)},
      {TLS1_3_VERSION, offsetof(apns_session_metrics_t, tls13_full),
       offsetof(apns_session_metrics_t, tls13_resumed)},
  };
  for (size_t index = 0; index < 2; index++) {
    const gateway_options_t how = {.tls_version = versions[index].version, .tickets = 2};
    owned(gateway) gateway = gateway_start(&how, NULL);
    owned(session) session = session_where(gateway, binary->no_standby = 1);
    /* Each proof costs its connection. */
    for (size_t n = 0; n < 3; n++) send_and_drain(session, n, n + 1);
    const apns_session_metrics_t metrics = metrics_of(session);
    size_t resumed = 0;
    for (size_t n = 0; n < 3; n++) resumed += gateway_heard(gateway, n)->was_resumed;
    assert_int_equal(resumed, 2);
    const char *bytes = (const char *)&metrics;
    assert_int_equal(*(const uint64_t *)(bytes + versions[index].full), 1);
    assert_int_equal(*(const uint64_t *)(bytes + versions[index].resumed), 2);
    assert_int_equal(handshakes(&metrics), 3);
  }
}

TEST(a_connection_that_fails_counts_by_its_status) {
  gateway_t *gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_for(gateway);
  gateway_stop(gateway);
  owned(credentials) credentials = provider_credentials();
  owned(session) session = session_with(&options, credentials);
  assert_status(APNS_ERR_NETWORK, apns_session_connect(session, &error));
  const apns_session_metrics_t metrics = metrics_of(session);
  assert_in_range(metrics.connect_failures[-APNS_ERR_NETWORK], 1, 100);
  assert_int_equal(sum(metrics.connect_failures, APNS_METRICS_FAILURES),
                   metrics.connect_failures[-APNS_ERR_NETWORK]);
  assert_int_equal(handshakes(&metrics), 0);
  assert_int_equal(metrics.open + metrics.connecting, 0);
  /* The next connection has to wait, 25 to 50 ms after the first. */
  assert_in_range(metrics.backoff_ms, 0, 50);
}

/* One connection works, and one more is made ready. */
TEST(a_standby_connection_shows) {
  static const gateway_step_t first[] = {TAKE_FRAMES(2), NAME_NTH(8, 0), END};
  static const gateway_step_t second[] = {TAKE_FRAMES(1), AWAIT(1), TAKE_SENTINEL, NAME_LAST(2),
                                          END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first, second));
  owned(session) session = session_where(gateway, binary->no_standby = 0);
  apns_event_t event = APNS_EVENT_INIT;
  send_range(session, 0, 2);
  assert_ok(apns_session_next_event(session, &event, AMPLE_MS, &error));
  await_connects(session, 3);
  const apns_session_metrics_t metrics = metrics_of(session);
  assert_int_equal(metrics.open, 1);
  assert_int_equal(metrics.standby, 1);
  assert_int_equal(metrics.connecting + metrics.draining, 0);
  assert_int_equal(handshakes(&metrics), 3);
  gateway_signal(gateway);
}
