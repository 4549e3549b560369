/* How long an HTTP/2 session trusts a connection, a name and a promise to do better later. */
#include <dlfcn.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "clock.h"
#include "pushing.h"

/* ---- PING ---------------------------------------------------------------------- */

TEST(an_hour_of_silence_is_asked_about) {
  owned(service) service = service_start(NULL);
  apns_session_t *session = push_session(service, NULL);
  for (size_t n = 0; n < 4; n++) {
    send_and_drain(session, n, n + 1);
    clock_forward(n < 2 ? 3500 * 1000 : 3601 * 1000);
  }
  assert_counts(session, 4, 4, 0, 0, 0);
  push_stop(session, service);
  assert_int_equal(service_pings(service), 1);
  assert_int_equal(service_connections(service), 1);
}

TEST(a_wait_asks_too) {
  owned(service) service = service_start(NULL);
  apns_session_t *session = push_session_where(service, tuning->ping_after_ms = 50);
  apns_event_t event = APNS_EVENT_INIT;
  send_and_drain(session, 0, 1);
  one_event(session);
  /* Nothing is in flight, so this look sends a PING, and the next look reads its answer. */
  clock_forward(100);
  assert_ok(apns_session_flush(session, NULL));
  clock_forward(100);
  assert_int_equal(apns_session_next_event(session, &event, 0, NULL), APNS_DONE);
  send_and_drain(session, 1, 2);
  assert_counts(session, 2, 2, 0, 0, 0);
  push_stop(session, service);
  assert_in_range(service_pings(service), 1, 2);
  assert_int_equal(service_connections(service), 1);
}

/* Nothing was sent on the connection that ended: so nothing is in doubt. */
TEST(a_connection_that_does_not_answer_is_replaced) {
  owned(service) service = service_start(&(service_options_t){.ignores_pings = true});
  /* For an answer to PING; longer than a handshake takes on a busy machine. */
  apns_session_t *session =
      push_session_where(service, options.delivery = APNS_DELIVERY_AT_MOST_ONCE,
                         options.peer.connect_timeout_ms = (uint32_t)as_many_as(5000, 15000));
  for (size_t n = 0; n < 3; n++) {
    send_and_drain(session, 10 * n, 10 * n + 10);
    clock_forward(3601 * 1000);
  }
  assert_counts(session, 30, 30, 0, 0, 0);
  assert_int_equal(stats_of(session).resent, 0);
  assert_int_equal(stats_of(session).connects, 3);
  push_stop(session, service);
  assert_int_equal(service_pings(service), 2);
  assert_int_equal(service_count(service), 30);
  for (size_t n = 10; n < 30; n++)
    assert_true(service_push(service, n)->connection > service_push(service, n - 10)->connection);
}

TEST(nobody_is_asked_where_the_option_says_so) {
  owned(service) service = service_start(&(service_options_t){.ignores_pings = true});
  apns_session_t *session = push_session_where(service, tuning->ping_after_ms = -1);
  for (size_t n = 0; n < 3; n++) {
    send_and_drain(session, n, n + 1);
    clock_forward(7200 * 1000);
  }
  push_stop(session, service);
  assert_int_equal(service_pings(service), 0);
  assert_int_equal(service_connections(service), 1);
}

/* ---- Names ----------------------------------------------------------------------- */

static _Atomic size_t lookups;

/* Linked before libc's. */
int getaddrinfo(const char *node, const char *port, const struct addrinfo *hints,
                struct addrinfo **found) {
  int (*system)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
  *(void **)&system = dlsym(RTLD_NEXT, "getaddrinfo");
  lookups++;
  return system(node, port, hints, found);
}

static service_reply_t leave_every_tenth(void *context, const service_push_t *push) {
  (void)context;
  const service_reply_t goodbye = {.action = SERVE_GOODBYE_AND_DROP}, fine = {0};
  return push->number % 10 == 9 ? goodbye : fine;
}

TEST(each_connection_looks_the_name_up) {
  owned(service) service = service_judging(leave_every_tenth, NULL);
  owned(session) session = push_session(service, NULL);
  lookups = 0;
  for (size_t n = 0; n < 50; n += 10) send_and_drain(session, n, n + 10);
  assert_counts(session, 50, 50, 0, 0, 0);
  const size_t connects = stats_of(session).connects;
  assert_in_range(connects, 5, 6);
  assert_int_equal(lookups, connects);
}

static void check_authority(const char *server_name, uint16_t port, const char *expected) {
  owned(service) service = service_start(NULL);
  apns_credentials_options_t trusting = APNS_CREDENTIALS_OPTIONS_INIT;
  trusting.dangerously_accept_any_peer = 1;
  owned(credentials) credentials = credentials_of(&trusting);
  apns_session_options_t options = push_options(service);
  options.peer.server_name = server_name;
  apns_session_t *session = session_with(&options, credentials);
  send_and_drain(session, 0, 1);
  push_stop(session, service);
  char text[64];
  snprintf(text, sizeof text, expected, port ? port : service_port(service));
  assert_string_equal(service_push(service, 0)->authority, text);
}

TEST(an_address_of_ipv6_is_in_brackets) {
  check_authority("::1", 0, "[::1]:%d");
  check_authority("fe80::1%eth0", 0, "[fe80::1]:%d");
  check_authority("127.0.0.1", 0, "127.0.0.1:%d");
  check_authority("localhost", 0, "localhost:%d");
}

/* ---- Retries ----------------------------------------------------------------------- */

/* How often a notification is sent that the service always defers. */
static size_t tries(int status, const char *body, int32_t retry_timeout_ms, int64_t expires_in) {
  owned(service) service = service_replying(.status = status, .body = body);
  apns_session_t *session =
      push_session_where(service, tuning->retry_timeout_ms = retry_timeout_ms);
  apns_notification_t push = *notification(0);
  if (expires_in) push.expiry = time(NULL) + expires_in;
  assert_ok(apns_session_send(session, &push, 0, NULL, &error));
  drain(session);
  apns_event_t event = one_event(session);
  assert_int_equal(event.kind, APNS_EVENT_REJECTED);
  assert_int_equal(event.http_status, status);
  push_stop(session, service);
  return service_count(service);
}

TEST(trying_again_has_its_time) {
  assert_int_equal(tries(429, "{\"reason\":\"TooManyRequests\"}", -1, 0), 1);
  assert_int_equal(tries(429, "{\"reason\":\"TooManyRequests\"}", 500, 0), 1);
  assert_int_equal(tries(429, "{\"reason\":\"TooManyRequests\"}", 2000, 0), 2);
  assert_int_equal(tries(500, "{\"reason\":\"InternalServerError\"}", 2000, 0), 1);
  assert_int_equal(tries(503, "{\"reason\":\"ServiceUnavailable\"}", 6000, 0), 2);
}

TEST(what_has_expired_is_not_tried_again) {
  assert_int_equal(tries(429, "{\"reason\":\"TooManyRequests\"}", 0, -10), 1);
  /* The pauses are 1 s and 2. */
  assert_in_range(tries(503, "{\"reason\":\"Shutdown\"}", 0, 2), 1, 2);
}

/* A notification that is unresolved when the session is closed, after the service's `reply`. */
static apns_event_t unknown_after(service_reply_t reply) {
  owned(service) service = service_start(&(service_options_t){.reply = reply});
  owned(session) session = push_session(service, NULL);
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  assert_ok(apns_session_send(session, notification(0), 0, NULL, &error));
  /* Until the response arrived, if there is one; then it waits for its retry. */
  do {
    assert_int_equal(apns_session_drain(session, 20, NULL, &error), APNS_ERR_TIMEOUT);
    assert_ok(apns_session_stats(session, &stats, &error));
  } while (stats.in_flight > 0 && reply.action == SERVE_ANSWER);
  apns_session_close(session, 0, NULL);
  apns_event_t event = one_event(session);
  assert_int_equal(event.kind, APNS_EVENT_UNKNOWN);
  assert_int_equal(event.reject, APNS_REJECT_NONE);
  return event;
}

TEST(what_was_put_off_to_the_end_tells_why) {
  apns_event_t event = unknown_after(
      (service_reply_t){.status = 429, .body = "{\"reason\":\"TooManyProviderTokenUpdates\"}"});
  assert_int_equal(event.reason, APNS_REASON_TOO_MANY_PROVIDER_TOKEN_UPDATES);
  assert_int_equal(event.http_status, 429);
  assert_string_equal(event.reason_text, "TooManyProviderTokenUpdates");

  event = unknown_after((service_reply_t){.status = 502, .body = "<html>a proxy's</html>"});
  assert_int_equal(event.reason, APNS_REASON_OTHER);
  assert_int_equal(event.http_status, 502);
  assert_string_equal(event.reason_text, "");

  event = unknown_after((service_reply_t){.action = SERVE_SILENCE});
  assert_int_equal(event.reason, APNS_REASON_NONE);
  assert_int_equal(event.http_status, 0);
  assert_string_equal(event.reason_text, "the session was closed before an answer came");
}

/* One notification, with `first` as the response to its first request. */
static void check_same_id(service_reply_t first, const char *given, const char *expected) {
  owned(service) service = service_judging(judge_first, &first);
  apns_session_t *session = push_session(service, NULL);
  apns_notification_t push = *notification(0);
  push.apns_id = given;
  assert_ok(apns_session_send(session, &push, 0, NULL, &error));
  drain(session);
  apns_event_t event = one_event(session);
  assert_int_equal(event.kind, APNS_EVENT_ACCEPTED);
  assert_string_equal(event.apns_id, expected);
  push_stop(session, service);
  assert_int_equal(service_count(service), 2);
  assert_string_equal(service_push(service, 0)->id, given ? given : "");
  assert_string_equal(service_push(service, 1)->id, expected);
}

TEST(the_apns_id_is_the_same_when_sent_again) {
  static const char given[] = "123e4567-e89b-12d3-a456-426614174000";
  const service_reply_t reset = {.action = SERVE_RESET, .error = 2};
  const service_reply_t refused = {.action = SERVE_RESET, .error = 7};
  const service_reply_t drop = {.action = SERVE_DROP};
  const service_reply_t busy = {.status = 503, .body = "{\"reason\":\"ServiceUnavailable\"}"};
  check_same_id(reset, given, given);
  check_same_id(refused, given, given);
  check_same_id(drop, given, given);
  check_same_id(busy, given, given);
  /* If APNs made one and returns it in the response that defers the notification. */
  check_same_id(busy, NULL, "5e2a60c0-0000-4000-8000-000000000000");
}

/* ---- Reconnecting --------------------------------------------------------------- */

TEST(a_pause_before_the_next_connection_says_why) {
  owned(service) service = service_replying(.action = SERVE_SILENCE);
  owned(session) session = push_session(service, NULL);
  char expected[96];
  send_range(session, 0, 1);
  service_stop(service);
  clock_stop();
  clock_forward(1);
  for (int fruitless = 1; fruitless < 4; fruitless++) {
    /* The backoff after the first is 50 ms at the most, and each may be twice as long. */
    if (fruitless > 1) {
      clock_forward(50 << fruitless);
      assert_status(APNS_ERR_NETWORK, apns_session_drain(session, 0, NULL, &error));
    }
    assert_status(APNS_ERR_TIMEOUT, apns_session_drain(session, 0, NULL, &error));
    snprintf(expected, sizeof expected,
             "waiting to reconnect to localhost:%d after %d connections that achieved nothing",
             service_port(service), fruitless);
    /* The reason may follow it. */
    assert_contains(error.message, expected);
  }
  clock_go();
}
