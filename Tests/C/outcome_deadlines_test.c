/* Nothing waits for ever: by its deadline each notification has its outcome, no matter how the
   network and the peer behave. Deadlines are short, and other timeouts are long. */
#include <netinet/in.h>
#include <semaphore.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "looping.h"
#include "pushing.h"

enum { SOON_MS = 300, LONG_MS = 60000 };

static uint32_t send_within(apns_session_t *session, size_t n, int32_t deadline_ms,
                            uint32_t flags) {
  apns_notification_t given = *notification(n);
  uint32_t identifier = 0;
  given.deadline_ms = deadline_ms;
  assert_ok(apns_session_send(session, &given, flags, &identifier, &error));
  return identifier;
}

/* The next event, after any wait; no event ends the test. */
static apns_event_t next_end(apns_session_t *session) {
  apns_event_t event = next_event(session);
  return event;
}

/* ---- HTTP/2 ------------------------------------------------------------------------- */

/* Accepts the first and leaves the next `count` without a response; then accepts again. */
typedef struct silence {
  size_t count;
} silence_t;

static service_reply_t stay_silent(void *context, const service_push_t *push) {
  const silence_t *silence = context;
  const bool is_silent = push->number > 0 && push->number <= silence->count;
  return (service_reply_t){.action = is_silent ? SERVE_SILENCE : SERVE_ANSWER};
}

static apns_session_t *session_behind_first(service_t *service,
                                            const apns_session_options_t *options) {
  apns_session_t *session = push_session(service, options);
  send_range(session, 0, 1);
  assert_int_equal(next_end(session).kind, APNS_EVENT_ACCEPTED);
  return session;
}

TEST(what_is_in_flight_ends_and_the_connection_goes_on) {
  silence_t silence = {2};
  owned(service) service = service_judging(stay_silent, &silence);
  apns_session_options_t options = push_options(service);
  tuning_of(&options)->ping_after_ms = -1;
  apns_session_t *session = session_behind_first(service, &options);
  send_within(session, 1, SOON_MS, APNS_SEND_MORE);
  send_within(session, 2, -1, 0);
  const apns_event_t event = next_end(session);
  assert_int_equal(event.kind, APNS_EVENT_UNKNOWN);
  assert_int_equal(event.identifier, 2);
  assert_contains(event.reason_text, "deadline");
  /* The other one waits, and later ones have their responses. */
  send_range(session, 3, 6);
  for (size_t n = 3; n < 6; n++) assert_int_equal(next_end(session).kind, APNS_EVENT_ACCEPTED);
  assert_int_equal(stats_of(session).unresolved, 1);
  assert_int_equal(stats_of(session).connects, 1);
  apns_session_free(session);
}

/* One stream is all that the service allows, and it is never answered. */
TEST(what_waits_for_a_stream_expires) {
  silence_t silence = {1};
  owned(service) service =
      service_start(&(service_options_t){.judge = stay_silent, .context = &silence, .streams = 1});
  apns_session_options_t options = push_options(service);
  options.device_order = 1;
  options.delivery = APNS_DELIVERY_AT_MOST_ONCE;
  apns_session_t *session = session_behind_first(service, &options);
  send_within(session, 1, 4 * SOON_MS, 0);
  /* To the same device. */
  send_within(session, 1, SOON_MS, 0);
  apns_event_t event = next_end(session);
  assert_int_equal(event.kind, APNS_EVENT_EXPIRED);
  assert_int_equal(event.identifier, 3);
  event = next_end(session);
  assert_int_equal(event.kind, APNS_EVENT_UNKNOWN);
  assert_int_equal(event.identifier, 2);
  assert_int_equal(stats_of(session).expired, 1);
  send_range(session, 1, 2);
  assert_int_equal(next_end(session).kind, APNS_EVENT_ACCEPTED);
  push_stop(session, service);
  assert_int_equal(service_count(service), 3);
}

TEST(a_retry_ends_with_its_last_answer) {
  const service_reply_t busy = {
      .status = 429, .body = "{\"reason\":\"TooManyRequests\"}", .retry_after = "1000"};
  owned(service) service = service_judging(judge_first, (void *)&busy);
  apns_session_t *session = push_session_where(service, tuning->retry_timeout_ms = 3600 * 1000,
                                               options.deadline_ms = SOON_MS);
  send_range(session, 0, 1);
  const apns_event_t event = next_end(session);
  assert_int_equal(event.kind, APNS_EVENT_REJECTED);
  assert_int_equal(event.http_status, 429);
  assert_int_equal(event.reason, APNS_REASON_TOO_MANY_REQUESTS);
  assert_string_equal(event.reason_text, "TooManyRequests");
  assert_int_equal(event.retry_after_s, 1000);
  assert_int_equal(event.retry_asked, 1);
  apns_session_metrics_t metrics = metrics_of(session);
  assert_int_equal(metrics.retries_asked, 1);
  assert_int_equal(metrics.rejected_reasons[APNS_REASON_TOO_MANY_REQUESTS], 1);
  assert_counts(session, 1, 0, 1, 0, 0);
  push_stop(session, service);
  assert_int_equal(service_count(service), 1);
}

TEST(a_push_ends_by_its_deadline_too) {
  silence_t silence = {1};
  owned(service) service = service_judging(stay_silent, &silence);
  owned(session) session = session_behind_first(service, NULL);
  apns_notification_t given = *notification(1);
  given.deadline_ms = SOON_MS;
  apns_event_t event = APNS_EVENT_INIT;
  assert_ok(apns_session_push(session, &given, AMPLE_MS, &event, &error));
  assert_int_equal(event.kind, APNS_EVENT_UNKNOWN);
  assert_contains(event.reason_text, "deadline");
  assert_counts(session, 2, 1, 0, 1, 0);
  assert_no_event(session);
}

/* A service that accepts connections and requests, and sends nothing. */
static void swallowed(int32_t is_nonblocking) {
  owned(service) service = service_start(&(service_options_t){
      .reply = {.action = SERVE_SILENCE}, .streams = 2, .ignores_pings = true});
  apns_session_t *session = push_session_where(service, options.peer.nonblocking = is_nonblocking,
                                               options.deadline_ms = SOON_MS);
  enum { COUNT = 20 };
  send_range(session, 0, COUNT);
  size_t expired = 0, unknown = 0;
  while (expired + unknown < COUNT) {
    apns_event_t event = APNS_EVENT_INIT;
    if (is_nonblocking) {
      const apns_status_t status = apns_session_next_event(session, &event, 0, &error);
      if (status == APNS_DONE) {
        strict_turn(session);
        continue;
      }
      assert_ok(status);
    } else {
      event = next_end(session);
    }
    if (event.kind == APNS_EVENT_EXPIRED) expired++;
    if (event.kind == APNS_EVENT_UNKNOWN) unknown++;
  }
  assert_int_equal(stats_of(session).unresolved, 0);
  assert_int_equal(stats_of(session).expired, expired);
  assert_true(unknown > 0 && expired > 0);
  push_stop(session, service);
  /* The service received nothing that expired. */
  assert_true(service_count(service) <= unknown);
}

TEST(a_service_that_swallows_all) { swallowed(0); }
TEST(a_service_that_swallows_all_and_an_event_loop) { swallowed(1); }

/* Nothing listens there: each connection is refused. */
static int closed_port(uint16_t *port) {
  const int holder = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof address;
  assert_int_equal(bind(holder, (struct sockaddr *)&address, length), 0);
  assert_int_equal(getsockname(holder, (struct sockaddr *)&address, &length), 0);
  *port = ntohs(address.sin_port);
  return holder;
}

/* The process is suspended for `suspended_ms` before its deadline. */
static void expires_without_a_network(apns_protocol_t protocol, int64_t suspended_ms) {
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  const int holder = closed_port(&options.peer.port);
  options.peer.host = "127.0.0.1";
  options.protocol = protocol;
  options.topic = "com.example.app";
  options.peer.nonblocking = 1;
  options.deadline_ms = suspended_ms ? LONG_MS : SOON_MS;
  owned(credentials) credentials = provider_credentials();
  owned(session) session = session_with(&options, credentials);
  send_range(session, 0, 5);
  send_within(session, 5, -1, 0);
  if (suspended_ms) clock_forward(suspended_ms);
  for (size_t n = 0; n < 5; n++) {
    apns_event_t event = APNS_EVENT_INIT;
    while (apns_session_next_event(session, &event, 0, &error) == APNS_DONE) strict_turn(session);
    assert_int_equal(event.kind, APNS_EVENT_EXPIRED);
    assert_ptr_equal(event.user_data, notification(n)->user_data);
    assert_contains(event.reason_text, "127.0.0.1");
    char line[160];
    apns_event_describe(&event, line, sizeof line);
    assert_contains(line, "expired: ");
  }
  /* A notification without a deadline continues to wait. */
  assert_int_equal(stats_of(session).unresolved, 1);
  assert_int_equal(stats_of(session).expired, 5);
  close(holder);
}

TEST(without_a_network) { expires_without_a_network(APNS_PROTOCOL_HTTP2, 0); }
TEST(without_a_network_over_the_binary_interface) {
  expires_without_a_network(APNS_PROTOCOL_BINARY, 0);
}

/* Each keeps its deadline in 32 bits of milliseconds, half of which are 24 days. */
TEST(weeks_after_the_deadline) {
  const int64_t days[] = {20, 25, 40, 49, 60};
  for (size_t n = 0; n < sizeof days / sizeof *days; n++)
    for (int protocol = 0; protocol < 2; protocol++)
      expires_without_a_network((apns_protocol_t)protocol, days[n] * 24 * 3600 * 1000);
}

/* ---- A process that is suspended --------------------------------------------------- */

enum { MANY = 600 };

static service_reply_t wait_behind_first(void *context, const service_push_t *push) {
  if (push->number == 1) sem_wait(context);
  return (service_reply_t){.action = SERVE_ANSWER};
}

/* Each line takes longer than a call of such a session may, as on a machine with other work. */
static void dawdle(const apns_log_record_t *record, void *context) {
  (void)record, (void)context;
  clock_forward(2);
}

static apns_event_t next_end_in_loop(apns_session_t *session) {
  apns_event_t event = APNS_EVENT_INIT;
  while (apns_session_next_event(session, &event, 0, &error) == APNS_DONE) strict_turn(session);
  return event;
}

/* All answers came while it was suspended, and are more than one call reads. */
TEST(what_has_been_answered_meanwhile_is_accepted) {
  sem_t begins;
  sem_init(&begins, 0, 0);
  service_t *service = service_judging(wait_behind_first, &begins);
  apns_session_options_t options = push_options(service);
  options.peer.nonblocking = 1;
  options.deadline_ms = LONG_MS;
  options.log = dawdle, options.log_level = APNS_LOG_TRACE;
  apns_session_t *session = push_session(service, &options);
  /* Behind its answer as many streams may be open as SETTINGS allow. */
  assert_ok(send_turning(session, notification(0), 0));
  assert_int_equal(next_end_in_loop(session).kind, APNS_EVENT_ACCEPTED);
  for (size_t n = 1; n < MANY; n++)
    assert_ok(send_turning(session, notification(n), APNS_SEND_MORE));
  while (apns_session_flush(session, &error) == APNS_ERR_AGAIN) strict_turn(session);
  sem_post(&begins);
  while (service_count(service) < MANY) usleep(1000);
  /* The service answers one connection after the other, so after this all the others are written.
   */
  apns_session_t *other = push_session(service, NULL);
  send_range(other, MANY, MANY + 1);
  assert_int_equal(next_end(other).kind, APNS_EVENT_ACCEPTED);
  apns_session_free(other);
  clock_forward(LONG_MS + 1);
  for (size_t n = 1; n < MANY; n++)
    assert_int_equal(next_end_in_loop(session).kind, APNS_EVENT_ACCEPTED);
  push_end(session, service);
  sem_destroy(&begins);
}

/* Suspends the process after the sentinel, until that is answered and the deadline is over. */
static void put_aside(const apns_log_record_t *record, void *context) {
  if (!strstr(record->line, "without a token is sent")) return;
  gateway_await_step(context, 0, 2);
  clock_forward(LONG_MS + 1);
}

static void is_proven_meanwhile(int32_t is_nonblocking) {
  const gateway_step_t script[] = {TAKE_SENTINEL, NAME_LAST(2), STALL};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  apns_session_options_t options = options_for(gateway);
  tuning_of(&options)->answer_timeout_ms = 10 * LONG_MS;
  options.peer.nonblocking = is_nonblocking;
  options.outcomes = APNS_OUTCOMES_EACH;
  options.deadline_ms = LONG_MS;
  options.log = put_aside, options.log_level = APNS_LOG_DEBUG, options.log_context = gateway;
  owned(session) session = session_to(gateway, &options);
  if (is_nonblocking) connect_strictly(session);
  send_range(session, 0, 3);
  while (apns_session_drain(session, AMPLE_MS, NULL, &error) == APNS_ERR_AGAIN)
    strict_turn(session);
  for (size_t n = 0; n < 3; n++) assert_event(session, APNS_EVENT_ACCEPTED, 0, n);
}

TEST(what_has_been_proven_meanwhile_is_accepted) { is_proven_meanwhile(0); }
TEST(what_has_been_proven_meanwhile_is_accepted_in_an_event_loop) { is_proven_meanwhile(1); }

/* ---- The binary interface ----------------------------------------------------------- */

/* A gateway that takes all and proves nothing. */
TEST(what_is_not_proven_in_time_is_unknown) {
  const gateway_step_t script[] = {TAKE_FRAMES(3), STALL};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  owned(session) session =
      session_where(gateway, tuning->answer_timeout_ms = AMPLE_MS, options.deadline_ms = SOON_MS);
  send_range(session, 0, 3);
  assert_ok(apns_session_drain(session, AMPLE_MS, NULL, &error));
  for (size_t n = 0; n < 3; n++) assert_event(session, APNS_EVENT_UNKNOWN, 0, n);
  assert_counts(session, 3, 0, 0, 3, 0);
}

/* Notifications after the sentinel are not written. */
TEST(what_waits_for_a_proof_expires) {
  const gateway_step_t script[] = {TAKE_FRAMES(2), STALL};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  apns_session_t *session = session_where(gateway, tuning->answer_timeout_ms = AMPLE_MS);
  send_within(session, 0, -1, APNS_SEND_MORE);
  send_within(session, 1, 3 * SOON_MS, 0);
  assert_status(APNS_ERR_TIMEOUT, apns_session_drain(session, 1, NULL, &error));
  send_within(session, 2, SOON_MS, 0);
  apns_event_t event = next_end(session);
  assert_int_equal(event.kind, APNS_EVENT_EXPIRED);
  assert_int_equal(event.identifier, 4); /* the third was the question */
  /* In flight, and not the first. */
  event = next_end(session);
  assert_int_equal(event.kind, APNS_EVENT_UNKNOWN);
  assert_int_equal(event.identifier, 2);
  assert_counts(session, 3, 0, 0, 1, 1);
  assert_int_equal(stats_of(session).first_unresolved, 1);
  apns_session_free(session);
}

/* The sentinel is sent early enough that the deadline does not matter. */
TEST(what_is_in_flight_is_proven_before_its_deadline) {
  const gateway_step_t script[] = {TAKE_SENTINEL, NAME_LAST(2), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  apns_session_t *session =
      session_where(gateway, binary->prove_after_ms = -1, options.outcomes = APNS_OUTCOMES_EACH,
                    options.deadline_ms = AMPLE_MS / 4);
  send_within(session, 0, 0, 0);
  send_within(session, 1, 5500, 0);
  assert_int_equal(next_end(session).kind, APNS_EVENT_ACCEPTED);
  assert_int_equal(next_end(session).kind, APNS_EVENT_ACCEPTED);
  apns_session_free(session);
}

/* ---- Options ------------------------------------------------------------------------ */

TEST(a_deadline_that_is_no_time) {
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  options.deadline_ms = -2;
  apns_session_t *session = NULL;
  owned(credentials) credentials = provider_credentials();
  assert_status(APNS_ERR_ARGUMENT, apns_session_new(&options, credentials, &session, &error));
  assert_contains(error.message, "deadline_ms");
}
